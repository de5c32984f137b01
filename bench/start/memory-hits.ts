// A program that answers a request from memory as often as it is told, and prints how long each answer took. It has the token
// function's code as the stack bundles it; AWS and the service are in the process, and no line is written.

import { countCalls } from './counted-calls.ts';
import { EVENT } from './exchange.ts';
import type { MemoryHits } from './measure.ts';

const count = Number(process.argv[2]);
const { startInstance, calls } = countCalls();
const { handler } = startInstance();
const hit = () => handler(EVENT, { getRemainingTimeInMillis: () => 15_000 });

await hit();
calls();
// First without a look at the clock: until then Node is busy compiling code that runs often.
for (let n = 0; n < count; n += 1) await hit();

/** Twice the cache of a core: between two calls of a function, other programs have used the processor. */
const others = new Uint8Array(4 * 1024 * 1024);
const LINE_BYTES = 64;
const LINES = 4_096;
const LINE = LINE_BYTES / Uint32Array.BYTES_PER_ELEMENT;
/** Each line holds the place of the next one, in an order that goes through all of them and that a processor cannot guess. */
const chain = new Uint32Array(LINES * LINE);
for (let n = 0; n < LINES; n += 1) chain[n * LINE] = ((1_229 * n + 2_531) % LINES) * LINE;

const hits: MemoryHits = { evicted: [], warm: [], lineNanoseconds: [] };
for (let n = 0; n < count; n += 1) {
  fillCaches(n);
  hits.evicted.push(await microseconds(hit));
  hits.warm.push(await microseconds(hit));
  fillCaches(n);
  hits.lineNanoseconds.push((1_000 * (await microseconds(readChain))) / LINES);
}
if (calls().length > 0) throw new Error('An answer did not come from memory.');
process.stdout.write(JSON.stringify(hits));

function fillCaches(value: number): void {
  for (let byte = 0; byte < others.length; byte += LINE_BYTES) others[byte] = value;
}

function readChain(): void {
  let place = 0;
  do place = chain[place] ?? 0;
  while (place !== 0);
}

async function microseconds(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return 1_000 * (performance.now() - startedAt);
}
