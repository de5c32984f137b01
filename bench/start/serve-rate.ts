import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { listen, stop } from '../../local/loopback.ts';
import { PAIR, REGION, TOKEN_RESPONSE } from './exchange.ts';

const PROGRAM = fileURLToPath(new URL('../../client/commands/main.ts', import.meta.url));
const ARGS = [PROGRAM, 'serve', '--port', '0', '--json'];
const KEY = 'the-key-of-this-measurement-and-of-no-other';
const BODY = JSON.stringify(PAIR);
const HEAD = `POST /token HTTP/1.1\r\nHost: localhost\r\nX-Token-Broker-Key: ${KEY}\r\nContent-Type: application/json`;
const MESSAGE = `${HEAD}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
const [CALLERS, CALLS] = [50, 400];

/** Returns how many answers out of its cache `serve` gives 50 callers in a second. The callers run beside it. */
export async function serveRate(): Promise<number> {
  const token = { ...TOKEN_RESPONSE, expires_at: new Date(Date.now() + 86_400_000).toISOString() };
  const answer = JSON.stringify({ ...token, expiry_source: 'response', fingerprint: '0123456789abcdef' });
  const broker = createServer((_, response) => void response.end(answer));
  const url = `http://127.0.0.1:${await listen(broker, 0)}`;
  const keys = { AWS_REGION: REGION, AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'example' };
  const env = { ...keys, TOKEN_BROKER_URL: url, TOKEN_BROKER_SERVE_KEY: KEY };
  const serve = spawn(process.execPath, ARGS, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [told] = await once(serve.stdout, 'data');
    const port = Number(new URL(JSON.parse(told).url).port);
    // The first calls fill the cache, and let Node compile the code that runs often.
    await callInTurn(port);
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: CALLERS }, () => callInTurn(port)));
    return Math.round((CALLERS * CALLS * 1_000) / (performance.now() - startedAt));
  } finally {
    serve.kill('SIGKILL');
    await stop(broker);
  }
}

/** Calls over a single connection. Writes HTTP by hand, so that the caller costs less than serve. */
async function callInTurn(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1').setNoDelay();
  for (let call = 0; call < CALLS; call += 1) {
    socket.write(MESSAGE);
    const [answer] = await once(socket, 'data');
    if (!answer.includes('HTTP/1.1 200')) throw new Error(`no token: ${answer}`);
  }
  socket.destroy();
}
