// A program that answers a request from memory as often as its argument says, in turn with a reference that has no rules:
// it parses the same event, looks into a map, writes the same line, and answers the same. It prints the microseconds of each.
// It contains the token function as the stack bundles it. AWS and the service are in the process.

import { countCalls } from '../test/support/cold-start/counted-calls.ts';
import { EVENT } from '../test/support/cold-start/exchange.ts';

const count = Number(process.argv[2]);
const lines: string[] = [];
const write = (line: string) => {
  lines[0] = line;
};
const { startInstance, calls } = countCalls(write);
const { handler } = startInstance();
const hit = () => handler(EVENT, { getRemainingTimeInMillis: () => 15_000 });

const { headers, body } = await hit();
calls();
const auditLine = JSON.parse(lines[0] ?? '');
const tokens = new Map([[pairOf(EVENT.body), JSON.parse(body)]]);

const microseconds = { broker: [] as number[], reference: [] as number[] };
// The first half warms up, while Node compiles the code that runs often.
for (let n = 0; n < 2 * count; n += 1) {
  const durations = { broker: await timed(hit), reference: await timed(lookUp) };
  if (n < count) continue;
  microseconds.broker.push(durations.broker);
  microseconds.reference.push(durations.reference);
}
if (calls().length > 0) throw new Error('An answer did not come from memory.');
process.stdout.write(JSON.stringify(microseconds));

async function lookUp() {
  const token = tokens.get(pairOf(EVENT.body));
  write(JSON.stringify(auditLine));
  return { statusCode: 200, headers, body: JSON.stringify(token) };
}

function pairOf(requested = ''): string {
  const { client, service } = JSON.parse(requested);
  return `${client}/${service}`;
}

async function timed(answer: () => Promise<object>): Promise<number> {
  const startedAt = performance.now();
  await answer();
  return 1_000 * (performance.now() - startedAt);
}
