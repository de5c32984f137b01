import { StoreUnavailable } from '../broker/pair-store.ts';
import { causeWord } from './cause-word.ts';
import { withTimeLimit } from './time-limit.ts';

/**
 * Runs a call to the store within the time that the store is worth: without it the broker still works, so waiting for
 * it must never cost more than doing without it.
 *
 * @throws StoreUnavailable for every failure of the call, at once while the store is left alone
 */
export type TimeBudget = <Answer>(call: (limits: CallLimits) => Promise<Answer>) => Promise<Answer>;

/** What the SDK takes beside a command. */
export interface CallLimits {
  readonly abortSignal: AbortSignal;
  /** For one attempt, in milliseconds: a connection that died unnoticed leaves time for a second one. */
  readonly requestTimeout: number;
}

interface Options {
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly firstCallMs?: number;
  readonly callMs?: number;
}

/**
 * 150 ms for a call, 1 s for the first one and for the one that tries again after ten seconds of peace, which follow
 * three failures in a row. One budget for all calls of an environment.
 */
export function createTimeBudget({ now, firstCallMs = FIRST_CALL_MS, callMs = CALL_MS }: Options): TimeBudget {
  let isCold = true;
  let isProbing = false;
  let failures = 0;
  let failedAt = 0;

  /** A clock that was set back must not make the peace longer. */
  const isLeftAlone = () => isProbing || (now() >= failedAt && now() < failedAt + PEACE_MS);

  return async (call) => {
    // After the peace one call finds out, and has the time to connect: the store that comes back is not missed.
    const isProbe = failures >= MAX_FAILURES;
    if (isProbe && isLeftAlone()) throw unavailable('left-alone');
    if (isProbe) isProbing = true;

    const timeoutMs = isCold || isProbe ? firstCallMs : callMs;
    const requestTimeout = timeoutMs * ATTEMPT_SHARE;
    try {
      const answer = await withTimeLimit(timeoutMs, (abortSignal) => call({ abortSignal, requestTimeout }));
      failures = 0;
      return answer;
    } catch (error) {
      failures += 1;
      failedAt = now();
      throw unavailable(causeWord(error));
    } finally {
      isCold = false;
      if (isProbe) isProbing = false;
    }
  };
}

/** For whoever finds out otherwise that the store is of no use; `cause` is one word. */
export function unavailable(cause: string): StoreUnavailable {
  return new StoreUnavailable('The shared cache is not available', { cause });
}

const FIRST_CALL_MS = 1_000;
const CALL_MS = 150;
const ATTEMPT_SHARE = 0.6;
const MAX_FAILURES = 3;
const PEACE_MS = 10_000;
