import { setImmediate } from 'node:timers/promises';
import { createTokenFunction } from '../../../functions/token-function.ts';
import { functionUrlEvent } from '../../support/aws/function-url-events.ts';
import { exampleSettings } from '../../support/example.ts';

// Answers one request, within the time that is left and with the AWS of its variables, and tells what it left
// behind. The process ends when nothing keeps it alive: anything that the request left running would.
const [authUrl = '', path = '', remaining = '', client = ''] = process.argv.slice(2);
const { handler, readFirst } = createTokenFunction({
  environment: 'test',
  tableName: 'pairs',
  settings: exampleSettings({ clients: 'all', operations: ['token', 'check'] }, { authUrl }),
  write: () => undefined,
});
await readFirst();

const events: string[] = [];
const event = functionUrlEvent({ client, service: 'customer-insights' }, { rawPath: path });
const start = performance.now();
// Timers fire in the order of their times, however late a busy machine lets them.
const limit = setTimeout(() => events.push('limit'), Number(remaining));
const getRemainingTimeInMillis = () => Number(remaining) - (performance.now() - start);
const { statusCode, body } = await handler(event, { getRemainingTimeInMillis });
events.push('answer');
clearTimeout(limit);

// A connection that was given up is closed a turn later.
await setImmediate();
await setImmediate();
const left = process.getActiveResourcesInfo().filter((kind) => kind !== 'PipeWrap');
process.send?.({ events, status: statusCode, type: JSON.parse(body).type, left });
process.disconnect();
