// A program that answers a request from memory as often as it is told, and prints how many microseconds each answer took. It
// has the token function's code as the stack bundles it; AWS and the service are in the process, and no line is written.

import { countCalls } from './counted-calls.ts';
import { EVENT } from './exchange.ts';

const count = Number(process.argv[2]);
const { startInstance, calls } = countCalls();
const { handler } = startInstance();
const hit = () => handler(EVENT, { getRemainingTimeInMillis: () => 15_000 });

await hit();
calls();
// First without a look at the clock: until then Node is busy compiling code that runs often.
for (let n = 0; n < count; n += 1) await hit();

const microseconds: number[] = [];
for (let n = 0; n < count; n += 1) {
  const startedAt = performance.now();
  await hit();
  microseconds.push(1_000 * (performance.now() - startedAt));
}
if (calls().length > 0) throw new Error('An answer did not come from memory.');
process.stdout.write(JSON.stringify(microseconds));
