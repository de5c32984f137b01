import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { causeWord } from '../../functions/aws/calls.ts';

/** A request as it came over the wire: nothing decoded, every header in its order, one character per byte. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

/** What goes back over the wire. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Uint8Array;
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

/** As `listen`, on a free port when the wanted one is taken, absent, or no port at all. */
export async function listenNear(server: Server, wanted = 0): Promise<number> {
  if (wanted === 0 || wanted > MAX_PORT) return listen(server, 0);
  return listen(server, wanted).catch((error: unknown) => {
    if (error instanceof Error && causeWord(error.cause) === 'EADDRINUSE') return listen(server, 0);
    throw error;
  });
}

export const MAX_PORT = 65_535;

/** Stops listening and ends open connections, too. */
export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

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

/** The values of a header, trimmed and joined by commas. */
export function headerValue({ headers }: ReceivedRequest, name: string): string | undefined {
  const values = headers.filter(([other]) => other.toLowerCase() === name).map(([, value]) => value);
  return values.length === 0 ? undefined : values.map((value) => value.replace(/^[ \t]+|[ \t]+$/g, '')).join(',');
}

/** Writes the answer; Node adds its length. */
export function send(response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(body);
}

/** Writes an answer in JSON. */
export function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

export interface Refused {
  readonly status: number;
  readonly message: string;
}

/**
 * Tells why a request of a browser must not be served. Every site that a browser on this machine shows can send requests
 * to loopback: a host other than 127.0.0.1, localhost or [::1] with the server's port is a name that leads here (DNS
 * rebinding), and another origin is another site's page (CSRF). What is no browser sends no origin.
 */
export function refuseForeign({ headers, socket }: IncomingMessage): Refused | undefined {
  // As a URL writes them: without the port when it is 80.
  const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => new URL(`http://${name}:${socket.localPort}`).host);
  const { host = '', origin } = headers;
  if (!hosts.includes(host.toLowerCase())) {
    return { status: 421, message: 'This is only for 127.0.0.1, localhost and [::1] with its port.' };
  }
  return (origin ?? `http://${host}`) === `http://${host}` && !isFromElsewhere(headers) ? undefined : FOREIGN;
}

/** For a request that only the server's own page may send. */
export const FOREIGN: Refused = { status: 403, message: 'Another site may not ask for this.' };

/** Browsers say where a request comes from; a link may stand anywhere. */
function isFromElsewhere(headers: IncomingMessage['headers']): boolean {
  const { 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode, 'sec-fetch-dest': dest } = headers;
  if (site === 'same-origin' || site === 'none') return false;
  return !(mode === 'navigate' && dest === 'document');
}
