import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { answerOrders } from './program.ts';

/** Without an event, it only waits until the handler is loaded, and lists the modules of Node that are. */
export interface LambdaOrder {
  readonly event?: unknown;
  readonly timeoutMs?: number;
}

/** The result of a call, the processor times of all threads before and after it, and the memory. */
export interface LambdaAnswer {
  readonly result: unknown;
  readonly before: NodeJS.CpuUsage;
  readonly after: NodeJS.CpuUsage;
  readonly residentBytes: number;
}

// The program of a function's process: loads a handler from the working directory, as Lambda's runtime does, and calls it.
const [file = '', name = ''] = (process.env._HANDLER ?? '').split('.');
const loading = load(path.resolve(file));
// The first order tells why: Node's own output would begin with the whole line of the bundle.
loading.catch(() => undefined);
let calls = 0;

answerOrders(async ({ event, timeoutMs = 0 }: LambdaOrder): Promise<LambdaAnswer | string[]> => {
  const { [name]: handler } = await loading;
  if (event === undefined) return Object(process).moduleLoadList;
  const end = performance.now() + timeoutMs;
  calls += 1;
  const context = { awsRequestId: `${calls}`, getRemainingTimeInMillis: () => end - performance.now() };
  const before = process.cpuUsage();
  const result: unknown = await handler(event, context);
  return { result, before, after: process.cpuUsage(), residentBytes: process.memoryUsage.rss() };
});

/** Imports an ES module, which may await its first reads, and requires any other module. */
async function load(module: string) {
  if (existsSync(`${module}.mjs`)) return import(pathToFileURL(`${module}.mjs`).href);
  return createRequire(import.meta.url)(`${module}.js`);
}
