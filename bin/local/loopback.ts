import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { HttpAnswer } from './function-url/answer.ts';
import type { ReceivedRequest } from './function-url/sigv4-canonical.ts';

/** Reads to the end even when the body is too large, so that the client gets to read the answer; keeps only the limit. */
export async function receive(incoming: IncomingMessage, maxBodyBytes: number): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    if (bytes <= maxBodyBytes) chunks.push(chunk);
    bytes += chunk.length;
  }
  const { method = '', url = '', rawHeaders } = incoming;
  const [path = '', ...query] = url.split('?');
  return {
    method,
    path,
    query: query.join('?'),
    headers: Array.from({ length: rawHeaders.length / 2 }, (_, index) => [
      rawHeaders[2 * index] ?? '',
      rawHeaders[2 * index + 1] ?? '',
    ]),
    body: Buffer.concat(chunks),
  };
}

/** Writes the answer; Node adds its length. */
export function send(response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(body);
}

/** Listens on 127.0.0.1 alone and tells on which port; a taken one is a clear error that names the variable to set. */
export async function listen(server: Server, port: number, variable = 'PORT'): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const inUse = error.code === 'EADDRINUSE';
      reject(inUse ? new Error(`port ${port} is in use; set ${variable} to another one`, { cause: error }) : error);
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server has no port');
  return address.port;
}
