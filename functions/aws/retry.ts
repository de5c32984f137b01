import { setTimeout as sleep } from 'node:timers/promises';
import { isRefusal } from './definitive.ts';
import { type CallLimits, OutOfTime, withTimeLimit } from './time-limit.ts';

/**
 * Makes a call that can be repeated, and a second time after a failure that says nothing about it. Unless it is known to
 * be connected, a second call also begins beside the first when that has no answer after 60 % of the time: a kept-alive
 * connection can die unnoticed while the environment is frozen. The first answer counts. Nothing begins any more once
 * the signal has come.
 */
export async function withSecondTry<Answer>(
  { timeoutMs, abortSignal, isConnected = false }: CallLimits,
  call: () => Promise<Answer>,
): Promise<Answer> {
  const first = call();
  try {
    return await (isConnected ? first : withTimeLimit(timeoutMs * FIRST_SHARE, () => first));
  } catch (error) {
    if (isRefusal(error) || isWithoutCredentials(error)) throw error;
    abortSignal.throwIfAborted();
    if (error instanceof OutOfTime) return firstAnswer([first, call()]);
  }
  await sleep(Math.random() * MAX_BREATH_MS, undefined, { signal: abortSignal });
  return call();
}

/** Nothing was sent, and nothing would be: a process has its credentials from its start or never. */
function isWithoutCredentials(error: unknown): boolean {
  return error instanceof Error && error.name === 'CredentialsProviderError';
}

async function firstAnswer<Answer>(calls: readonly Promise<Answer>[]): Promise<Answer> {
  try {
    return await Promise.any(calls);
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  }
}

const FIRST_SHARE = 0.6;
const MAX_BREATH_MS = 50;
