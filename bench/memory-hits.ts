// Prints how much longer the token function takes to answer from memory than a reference without its rules, which parses the
// same event, looks into a map, writes the same line, and answers the same. The argument says how often.

import { CONTEXT } from '../test/support/aws/function-url-events.ts';
import { countCalls } from '../test/support/cold-start/counted-calls.ts';
import { EVENT } from '../test/support/cold-start/exchange.ts';
import { PAIR } from '../test/support/example.ts';
import { median } from './figures.ts';

const count = Number(process.argv[2]);
let line = '';
const write = (text: string) => {
  line = text;
};
const { startInstance, calls } = countCalls(write);
const { handler } = startInstance();
const hit = () => handler(EVENT, CONTEXT);

const { headers, body } = await hit();
calls();
const auditLine = JSON.parse(line);
const tokens = new Map([[`${PAIR.client}/${PAIR.service}`, JSON.parse(body)]]);

const broker: number[] = [];
const reference: number[] = [];
for (let n = 0; n < 2 * count; n += 1) {
  broker.push(await timed(hit));
  reference.push(await timed(lookUp));
}
if (calls().length > 0) throw new Error('An answer did not come from memory.');
// The first half warms up, while Node compiles the code that runs often.
process.stdout.write(`${median(broker.slice(count)) / median(reference.slice(count))}`);

async function lookUp() {
  const { client, service } = JSON.parse(EVENT.body);
  const token = tokens.get(`${client}/${service}`);
  write(JSON.stringify(auditLine));
  return { statusCode: 200, headers, body: JSON.stringify(token) };
}

async function timed(answer: () => Promise<object>): Promise<number> {
  const startedAt = performance.now();
  await answer();
  return performance.now() - startedAt;
}
