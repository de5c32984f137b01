import { syncBuiltinESMExports } from 'node:module';
import promises from 'node:timers/promises';
import type { TokenFunction } from '../../../functions/token-function.ts';
import { functionUrlEvent } from '../aws/function-url-events.ts';
import type { InstanceAnswer, Order, ProcessSettings } from './instance-fleet.ts';
import { answerOrders } from './program.ts';

// The program of `startInstanceProcess`: makes instances and asks them.
const { code, slowMotion, ...options }: ProcessSettings = JSON.parse(process.argv[2] ?? '');
const { createTokenFunction }: typeof import('../../../functions/token-function.ts') = await import(code);
const instances = new Map<number, TokenFunction['handler']>();

const machine = { now: Date.now, sleep: promises.setTimeout };
slowDown(slowMotion.factor, slowMotion.since);

answerOrders(async ({ instances: numbers, body, at }: Order): Promise<readonly InstanceAnswer[]> => {
  const handlers: TokenFunction['handler'][] = [];
  // One after the other: in Lambda each of them has a processor of its own while it starts.
  for (const number of numbers) handlers.push(await instanceOf(number));
  if (at !== undefined) await machine.sleep(at - machine.now());
  return body === undefined ? [] : Promise.all(handlers.map((handler) => ask(handler, body)));
});

/** Like Lambda, which starts an instance before it passes on the first event. */
async function instanceOf(number: number): Promise<TokenFunction['handler']> {
  const known = instances.get(number);
  if (known !== undefined) return known;
  const { handler, readFirst } = createTokenFunction({ ...options, write: () => undefined });
  instances.set(number, handler);
  await readFirst();
  return handler;
}

async function ask(handler: TokenFunction['handler'], body: object): Promise<InstanceAnswer> {
  const startedAt = performance.now();
  const passedMs = () => (performance.now() - startedAt) / slowMotion.factor;
  const answer = await handler(functionUrlEvent(body), { getRemainingTimeInMillis: () => TIMEOUT_MS - passedMs() });
  return { status: answer.statusCode, body: JSON.parse(answer.body), waitMs: passedMs() };
}

/**
 * From now on a second of this process takes as many seconds of the machine as `factor` says: Date and
 * timers run slower, while computing and the network are as fast as ever. Hundreds of instances, of
 * which each has a machine of its own in Lambda, have on a few processors the time that they would have there.
 *
 * @param since when all processes began to be slow, epoch milliseconds
 */
function slowDown(factor: number, since: number): void {
  const { now } = Date;
  const { setTimeout } = globalThis;
  const { setTimeout: sleep } = promises;
  Date.now = () => since + (now() - since) / factor;
  globalThis.setTimeout = Object.assign(
    (call: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => setTimeout(call, ms * factor, ...given),
    setTimeout,
  );
  promises.setTimeout = (ms, ...rest) => sleep((ms ?? 0) * factor, ...rest);
  syncBuiltinESMExports();
}

/** The time-out of the token function. */
const TIMEOUT_MS = 15_000;
