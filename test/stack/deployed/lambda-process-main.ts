import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { answerOrders } from '../../support/processes/program.ts';
import type { LambdaOrder } from './lambda-process.ts';

// The program of `startLambda`: loads a handler from the working directory, as Lambda's runtime does, and calls it.
const [file = '', name = ''] = (process.env._HANDLER ?? '').split('.');
const loading = import(pathToFileURL(path.resolve(`${file}.mjs`)).href);
// The first order tells why: Node's own output would begin with the whole line of the bundle.
loading.catch(() => undefined);
let calls = 0;

answerOrders(async ({ event, timeoutMs = 0 }: LambdaOrder) => {
  const module = await loading;
  if (event === undefined) return Object(process).moduleLoadList;
  const end = performance.now() + timeoutMs;
  calls += 1;
  return module[name](event, { awsRequestId: `${calls}`, getRemainingTimeInMillis: () => end - performance.now() });
});
