import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { serve } from '../../../local/loopback.ts';

interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type LoopbackServer = Awaited<ReturnType<typeof startLoopbackServer>>;

/** A real HTTP server on a free port; `answer` plays the broker, or AWS in front of it. Keeps all `requests` in their order. */
export async function startLoopbackServer(answer: Answer) {
  const requests: ReceivedRequest[] = [];
  const server = await serve(async ({ body }, response) => {
    const { method = '', url = '', headers } = response.req;
    const received = { method, url, headers, body: Buffer.from(body).toString() };
    requests.push(received);
    answer(response, received);
    return undefined;
  });
  return { ...server, requests };
}

export type Answer = (response: ServerResponse, request: ReceivedRequest) => void;

/** Answers with a status, a body and its content type. */
export function answerWith(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}
