import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RequestToSign } from './aws/signers.ts';

export interface ReceivedAnswer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** A header with several values is sent several times. */
export interface RequestToSend extends Omit<RequestToSign, 'headers'> {
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** Sends exactly the path, query and headers that it is given; `fetch` would normalise them. */
export function send({ method, url, headers, body }: RequestToSend): Promise<ReceivedAnswer> {
  const { hostname, port, origin } = new URL(url);
  // Without it, Node sends no length with a GET or DELETE.
  const sent = { ...headers, 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    // A connection of its own: the server may be closing one that was idle.
    const options = { hostname, port, method, path: url.slice(origin.length), headers: sent, agent: false };
    const request = httpRequest(options, (response) => {
      const { statusCode: status, headers } = response;
      text(response).then((body) => resolve({ status, headers, body }), reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}
