// A program that answers a request from memory as often as its argument says, and prints the microseconds per answer.
// It contains the token function as the stack bundles it. AWS and the service are in the process. Logs are discarded.

import { countCalls } from './counted-calls.ts';
import { EVENT } from './exchange.ts';

const count = Number(process.argv[2]);
const { startInstance, calls } = countCalls();
const { handler } = startInstance();
const hit = () => handler(EVENT, { getRemainingTimeInMillis: () => 15_000 });

await hit();
calls();
// Warms up without measuring, while Node compiles the code that runs often.
for (let n = 0; n < count; n += 1) await hit();

const microseconds: number[] = [];
for (let n = 0; n < count; n += 1) {
  const startedAt = performance.now();
  await hit();
  microseconds.push(1_000 * (performance.now() - startedAt));
}
if (calls().length > 0) throw new Error('An answer did not come from memory.');
process.stdout.write(JSON.stringify(microseconds));
