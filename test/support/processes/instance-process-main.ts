import type { TokenFunction } from '../../../functions/token-function.ts';
import { CONTEXT, functionUrlEvent } from '../aws/function-url-events.ts';
import type { InstanceAnswer, Order, ProcessSettings } from './instance-fleet.ts';
import { answerOrders } from './program.ts';

// The program of a process that hosts instances: brokers that share the data in AWS and nothing else.
const { code, ...options }: ProcessSettings = JSON.parse(process.argv[2] ?? '');
const { createTokenFunction }: typeof import('../../../functions/token-function.ts') = await import(code);
const instances = new Map<number, Promise<TokenFunction>>();

answerOrders(async ({ instance, body }: Order): Promise<InstanceAnswer> => {
  const started = instances.get(instance) ?? start();
  instances.set(instance, started);
  const { handler } = await started;
  const startedAt = performance.now();
  const answer = await handler(functionUrlEvent(body), CONTEXT);
  return { body: JSON.parse(answer.body), waitMs: performance.now() - startedAt };
});

/** Like Lambda, which starts an instance before it passes on the first event. */
async function start(): Promise<TokenFunction> {
  const tokenFunction = createTokenFunction({ ...options, write: () => undefined });
  await tokenFunction.readFirst();
  return tokenFunction;
}
