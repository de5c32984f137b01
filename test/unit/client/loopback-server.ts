import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { listen, stop } from '../../../bin/local/loopback.ts';

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
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return; // The client has given up before it had sent everything.
    }
    const { method = '', url = '', headers } = request;
    const received = { method, url, headers, body: Buffer.concat(chunks).toString() };
    requests.push(received);
    answer(response, received);
  });
  const url = `http://127.0.0.1:${await listen(server, 0)}`;
  return { url, requests, close: () => stop(server) };
}

export type Answer = (response: ServerResponse, request: ReceivedRequest) => void;

/** Answers with a status, a body and its content type. */
export function answerWith(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}
