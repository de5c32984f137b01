import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startRawServer } from '../../support/services/raw-server.ts';
import { bomb, brotliBomb, CHUNK, CHUNKED, endless, head, http, type Reply, write } from '../hostile-answers.ts';

const MIB = 1_024 * 1_024;
const MAX_GROWTH_BYTES = 8 * MIB;
const OK = head(200);
const ANSWERS = new URL('memory-process.ts', import.meta.url);
const CACHES = new URL('cache-memory-process.ts', import.meta.url);
const BOMB = bomb();

it.each<[string, Reply, RegExp]>([
  ['a body without an end', endless(`${OK}\r\n`), /too-large/],
  ['chunks without an end', endless(CHUNKED, CHUNK), /too-large/],
  ['headers without an end', endless(OK, `x: ${'y'.repeat(1_000)}\r\n`), /too-large/],
  ['one header without an end', endless(`${OK}x: `), /too-large/],
  ['interim answers without an end', endless('', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)), /too-large/],
  ['a gzip bomb', write(http(200, BOMB, 'content-encoding: gzip')), /too-large/],
  ['a gzip bomb that does not say so', write(http(200, BOMB)), /too-large/],
  ['a brotli bomb', write(http(200, brotliBomb(), 'content-encoding: br')), /too-large/],
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

it('1 500 pairs with the largest tokens and secrets stay far below the 512 MB of the token function', async () => {
  // A heap in which 1 000 of each have no room.
  const { issued, heapBytes, maxBytes } = await run(CACHES, [], ['--expose-gc', '--max-old-space-size=112']);
  expect(issued).toBe(1_500);
  expect(heapBytes).toBeLessThan(80 * MIB);
  expect(maxBytes).toBeLessThan(0.85 * 512 * MIB);
});

async function measure(reply: Reply, maxBodyBytes: number): Promise<{ grownBytes: number; outcome: string }> {
  const calm = await startRawServer({ onRequest: write(http(200, '{}')) });
  const attacker = await startRawServer({ onRequest: reply });
  return run(ANSWERS, [calm.port, attacker.port, maxBodyBytes].map(String));
}

/** Runs a program and gives what it tells, or its exit code when it crashes. */
async function run(program: URL, args: readonly string[], execArgv: string[] = []) {
  const child = fork(fileURLToPath(program), args, { execArgv });
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  return message;
}
