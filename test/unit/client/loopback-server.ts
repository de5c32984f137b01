import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';

interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface LoopbackServer {
  readonly url: string;
  /** Everything that was received, in its order. */
  readonly requests: readonly ReceivedRequest[];
  readonly close: () => Promise<void>;
}

/** A real HTTP server on a free port; `answer` plays the broker, or AWS in front of it. */
export async function startLoopbackServer(answer: Answer): Promise<LoopbackServer> {
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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export type Answer = (response: ServerResponse, request: ReceivedRequest) => void;

/** Answers with a status, a body and its content type. */
export function answerWith(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}
