import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { parseApi } from '../../../../client/commands/serve.ts';
import type { TokenBroker } from '../../../../client/index.ts';
import type { Forwarding } from '../../../../client/serve/forward.ts';
import { startServer } from '../../../../client/serve/server.ts';
import { createFakeBroker } from '../../../../client/testing.ts';

export const KEY = 'a-key-of-at-least-thirty-two-characters';
export const PREFIX = '/api/acme/customer-insights';

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

interface Options extends Pick<Serving, 'broker'> {
  readonly base?: string;
  readonly api?: Handler;
}

/** A server that forwards to an API on loopback, with the tokens of a broker in memory. */
export async function startForwarding({ base = '', api = ok, ...serving }: Options = {}) {
  const received: IncomingMessage[] = [];
  const service = createServer((request, response) => {
    received.push(request);
    // A caller that leaves fails the reading of its body.
    (async () => api(request, response))().catch(() => response.destroy());
  });
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  onTestFinished(() => void service.close().closeAllConnections());
  const apiUrl = `http://127.0.0.1:${Object(service.address()).port}`;
  return { ...(await startServing({ key: KEY, api: apiUrl + base, ...serving })), service, apiUrl, received };
}

interface Serving {
  /** Default: a key of its own. */
  readonly key?: string | undefined;
  readonly broker?: Partial<TokenBroker>;
  /** The API that calls are forwarded to. */
  readonly api?: string | undefined;
}

/** A server on a free port in front of a broker in memory. */
export async function startServing({ key, broker, api }: Serving = {}) {
  const fake = createFakeBroker();
  const notes: string[] = [];
  const calls: Parameters<Forwarding['log']>[0][] = [];
  const log: Forwarding['log'] = (call) => void calls.push(call);
  const server = await startServer({
    broker: { ...fake.broker, ...broker },
    key,
    port: 0,
    note: (line) => void notes.push(line),
    forwarding: api === undefined ? undefined : { apis: parseApi(`customer-insights=${api}`), silenceMs: 60_000, log },
  });
  onTestFinished(() => server.close(0));
  return { ...server, fake, notes, calls };
}

/** An API that reads the body and answers with it. */
function ok(request: IncomingMessage, response: ServerResponse): void {
  request.pipe(response);
}

/** Returns the beginning of what a server answers to a text, as far as `end`, or less if it closes the connection. */
export async function beginningOf(port: number, sent: string, end = ''): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(sent);
  let answer = '';
  for await (const data of socket) {
    answer += data;
    if (answer.includes(end)) return answer;
  }
  return answer;
}
