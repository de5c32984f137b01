import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { startRawServer } from '../support/raw-server.ts';
import { endless, type Reply, write } from './hostile-answers.ts';

const MAX_GROWTH_BYTES = 8 * 1_024 * 1_024;
const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNK = `1000\r\n${'x'.repeat(4_096)}\r\n`;

it.each<[string, Reply, RegExp]>([
  ['a body without an end', endless(`${OK}\r\n`), /too-large/],
  ['chunks without an end', endless(`${OK}transfer-encoding: chunked\r\n\r\n`, CHUNK), /too-large/],
  ['headers without an end', endless(OK, `x: ${'y'.repeat(1_000)}\r\n`), /too-large/],
  ['one header without an end', endless(`${OK}x: `), /too-large/],
  ['interim answers without an end', endless('', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)), /too-large/],
  ['a gzip bomb', compressed('content-encoding: gzip\r\n'), /encoded/],
  ['a gzip bomb that does not say so', compressed(''), /bytes/],
])('%s costs less than 8 MB of memory', async (_, reply, expected) => {
  const { grownBytes, outcome } = await measure(reply, 256 * 1_024);
  expect(outcome).toMatch(expected);
  expect(grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
});

it('sees it when no limit ends the reading', async () => {
  const { grownBytes, outcome } = await measure(endless(`${OK}\r\n`), 48_000_000);
  expect(outcome).toMatch(/too-large/);
  expect(grownBytes).toBeGreaterThan(MAX_GROWTH_BYTES);
});

async function measure(reply: Reply, maxBodyBytes: number): Promise<{ grownBytes: number; outcome: string }> {
  const calm = await serve(write(`${OK}content-length: 2\r\n\r\n{}`));
  const attacker = await serve(reply);
  const ports = [calm, attacker].map(({ port }) => String(port));
  const child = fork(fileURLToPath(new URL('memory-process.ts', import.meta.url)), [...ports, String(maxBodyBytes)]);
  const [message] = await once(child, 'message');
  await once(child, 'exit');
  return message;
}

async function serve(onRequest: Reply) {
  const server = await startRawServer({ onRequest });
  onTestFinished(server.close);
  return server;
}

/** A hundred megabytes of nothing, in a hundred kilobytes. */
function compressed(header: string): Reply {
  const bomb = gzipSync(Buffer.alloc(100_000_000));
  return (socket) => {
    socket.write(`${OK}${header}content-length: ${bomb.length}\r\n\r\n`);
    socket.write(bomb);
  };
}
