// A program that answers a request from memory as often as it is told, and prints how many microseconds each answer took.
// It has the token function's code as the stack bundles it; AWS and the service are in the process, and no line is written.

import { countCalls } from './counted-calls.ts';
import { EVENT } from './exchange.ts';
import type { MemoryHits } from './measure.ts';

const count = Number(process.argv[2]);
const { startEnvironment, calls } = countCalls();
const { handler } = startEnvironment();
const CACHE_LINE = 64;
const context = { getRemainingTimeInMillis: () => 15_000 };

await handler(EVENT, context);
calls();
// First without a look at the clock: until then Node is busy compiling code that runs often.
for (let n = 0; n < count; n += 1) await handler(EVENT, context);

// Between two calls of a function, others have used the processor: twice what a core has for itself, or far more.
const hits = { afterCore: await hitsAfter(4), afterMachine: await hitsAfter(64) } satisfies MemoryHits;
if (calls().length > 0) throw new Error('An answer did not come from memory.');
process.stdout.write(JSON.stringify(hits));

async function hitsAfter(megabytes: number): Promise<readonly number[]> {
  const others = new Uint8Array(megabytes * 1024 * 1024);
  const microseconds: number[] = [];
  for (let n = 0; n < count; n += 1) {
    for (let byte = 0; byte < others.length; byte += CACHE_LINE) others[byte] = n;
    const startedAt = performance.now();
    await handler(EVENT, context);
    microseconds.push(1_000 * (performance.now() - startedAt));
  }
  return microseconds;
}
