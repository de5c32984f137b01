import { createServer, type Server, type ServerResponse } from 'node:http';
import { causeWord } from '../functions/aws/calls.ts';

/** A request exactly as received: nothing decoded, every header in its order, a character per byte. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  /** Excludes the question mark. */
  readonly query: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

/** An answer exactly as sent. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array | undefined;
}

export interface LoopbackServer {
  /** Has no trailing slash. */
  readonly url: string;
  /** Stops listening and ends open connections. */
  readonly close: () => Promise<void>;
}

/** Returns the answer to a request, or `undefined` when it writes to the response itself. */
export type Respond = (request: ReceivedRequest, response: ServerResponse) => Promise<HttpAnswer | undefined>;

interface Options {
  /** Defaults to any free port. */
  readonly port?: number | undefined;
  /** Allows any free port when the port is taken. */
  readonly mayMove?: boolean;
  /** Refuses requests that a browser sends for another site. Servers that verify no signature need this. */
  readonly refusesForeign?: boolean;
  /** A longer body is read to its end, but cut shortly after this limit. */
  readonly maxBodyBytes?: number;
}

/** Serves only on 127.0.0.1. Closes the connection when `respond` fails or the client disconnects early. */
export async function serve(respond: Respond, options: Options = {}): Promise<LoopbackServer> {
  const { port: wanted = 0, mayMove = true, refusesForeign = false, maxBodyBytes = 1_048_576 } = options;
  const server = createServer(async (incoming, response) => {
    try {
      const chunks: Buffer[] = [];
      let bytes = 0;
      // Reads even a body that is too large to its end. Otherwise the client could not read the answer.
      for await (const chunk of incoming) {
        if (bytes <= maxBodyBytes) chunks.push(chunk);
        bytes += chunk.length;
      }
      const { method = '', url = '', rawHeaders } = incoming;
      const [path = '', ...query] = url.split('?');
      const headers = rawHeaders.flatMap((name, at) =>
        at % 2 === 0 ? ([[name, rawHeaders[at + 1] ?? '']] as const) : [],
      );
      const request = { method, path, query: query.join('?'), headers, body: Buffer.concat(chunks) };
      const answer = (refusesForeign ? refuseForeign(request, port) : undefined) ?? (await respond(request, response));
      if (answer === undefined) return;
      for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
      response.statusCode = answer.status;
      response.end(answer.body);
    } catch {
      response.destroy();
    }
  });
  const port = await listen(server, wanted).catch((error: unknown) => {
    // Windows answers EACCES for a port that Hyper-V reserves.
    if (!['EACCES', 'EADDRINUSE', 'ERR_SOCKET_BAD_PORT'].includes(causeWord(error))) throw error;
    if (!mayMove) throw new Error(`port ${wanted} is not free (${causeWord(error)}); set PORT to another port`);
    return listen(server, 0);
  });
  return { url: `http://127.0.0.1:${port}`, close: () => stop(server) };
}

/** Listens only on 127.0.0.1 and returns the port. */
export async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server has no port');
  return address.port;
}

/** Stops listening and ends open connections. */
export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/**
 * Refuses a browser's requests for another site, because every site in a browser on this machine can reach loopback.
 * A host other than 127.0.0.1, localhost or [::1] with the server's port means DNS rebinding.
 * Another origin means another site's page (CSRF). Only browsers send an origin.
 */
function refuseForeign(request: ReceivedRequest, port: number): HttpAnswer | undefined {
  const host = headerValue(request, 'host') ?? '';
  // The URL parser removes the port 80, as browsers do.
  const own = ['127.0.0.1', 'localhost', '[::1]'].map((name) => new URL(`http://${name}:${port}`).host);
  if (!own.includes(host.toLowerCase()))
    return json(421, { message: `This server only answers to ${own.join(', ')}.` });
  const [origin, site, mode, dest] = ['origin', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest'].map((name) =>
    headerValue(request, name),
  );
  // Browsers send the site that a request comes from. A link to this server may be on any site.
  const isFromHere = [undefined, 'none', 'same-origin'].includes(site) || (mode === 'navigate' && dest === 'document');
  if (isFromHere && (origin ?? `http://${host}`) === `http://${host}`) return undefined;
  return json(403, { message: 'A request of another site is refused.' });
}

/** Returns the values of a header, trimmed and joined by commas. */
export function headerValue({ headers }: ReceivedRequest, name: string): string | undefined {
  const values = headers.filter(([header]) => header.toLowerCase() === name).map(([, value]) => value);
  return values.length === 0 ? undefined : values.map((value) => value.replace(/^[ \t]+|[ \t]+$/g, '')).join(',');
}

export function json(status: number, body: unknown, headers: HttpAnswer['headers'] = {}): HttpAnswer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}
