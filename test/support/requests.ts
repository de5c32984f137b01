import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
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

/** Requests that signers and verifiers like to disagree about; the same ones for the same seed. */
export function oddRequests(origin: string, count: number, seed: number): readonly RequestToSign[] {
  return fc.sample(oddRequest(origin), { numRuns: count, seed });
}

/** Odd, but legal on the wire, so all signers must agree on its meaning. */
function oddRequest(origin: string): fc.Arbitrary<RequestToSign> {
  const part = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }).map(encode),
    fc.constantFrom("!'()*", 'a:b@c;d=e', '%25', '%2F', '%2B', 'caf%C3%A9', '%F0%9F%94%91', '~-._', '%20x%20y'),
  );
  const path = fc
    .array(fc.tuple(fc.constantFrom('/', '//', '/x'), part), { maxLength: 4 })
    .map((segments) => `/path${segments.flat().join('')}`);
  const parameter = fc.tuple(
    fc.constantFrom('q', 'Q', 'a', 'a-b', 'ab', '%C3%A9', '%20'),
    fc.constantFrom('=', ''),
    part,
  );
  const query = fc
    .array(parameter, { maxLength: 5 })
    .map((parameters) => ['query=1', ...parameters.map(([name, is, value]) => name + is + (is && queryEncode(value)))]);
  const headerText = fc.string({ unit: fc.constantFrom(...'aZ09 ,;="\'()/\t'), maxLength: 20 });
  return fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
    url: fc.tuple(path, query).map(([path, query]) => `${origin}${path}?${query.join('&')}`),
    headers: fc
      .tuple(headerText, headerText)
      .map(([one, other]) => ({ 'X-Custom': `v${one}`, 'x-amz-meta-odd': other, 'content-type': 'text/plain' })),
    body: fc.oneof(fc.constant(''), fc.string({ unit: 'grapheme' }), fc.uint8Array({ maxLength: 64 })),
  });
}

/** RFC 3986: all but the unreserved characters. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** In a query, characters that may stand bare are encoded as well: botocore signs them as they are. */
function queryEncode(part: string): string {
  return part.replace(/[^A-Za-z0-9._~%-]/g, encode);
}
