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

export interface CallLimits {
  readonly abortSignal: AbortSignal;
  readonly timeoutMs: number;
  /** The store has just answered, so its connection is alive: a second call beside this one would only be a burden. */
  readonly isConnected: boolean;
}

interface TimeBudgets {
  /** For a call of which nobody knows yet whether the store answers. */
  readonly brief: TimeBudget;
  /** For what follows an answer of the store: the one token request of all depends on it. */
  readonly patient: TimeBudget;
}

interface Options {
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly briefMs?: number;
  readonly patientMs?: number;
}

/**
 * The budgets of one environment. Patient is 1 s; brief is 150 ms, and 1 s until the environment's first call has ended,
 * which may have to connect and comes when the fleet needs the store most. After three failures in a row brief calls
 * leave the store alone for ten seconds; then a single one finds out, and has 1 s as well.
 */
export function createTimeBudgets({ now, briefMs = BRIEF_MS, patientMs = PATIENT_MS }: Options): TimeBudgets {
  let isCold = true;
  let isProbing = false;
  let failures = 0;
  let failedAt = 0;

  /** A clock that was set back must not make the peace longer. */
  const isLeftAlone = () => isProbing || (now() >= failedAt && now() < failedAt + PEACE_MS);

  const patient: TimeBudget = (call) => run(patientMs, true, call);

  const brief: TimeBudget = async (call) => {
    // After the peace one call finds out, and has the time to connect: the store that comes back is not missed.
    const isProbe = failures >= MAX_FAILURES;
    if (isProbe && isLeftAlone()) throw unavailable('left-alone');
    if (isProbe) isProbing = true;
    try {
      return await run(isCold || isProbe ? patientMs : briefMs, false, call);
    } finally {
      if (isProbe) isProbing = false;
    }
  };

  return { brief, patient };

  async function run<Answer>(
    timeoutMs: number,
    isConnected: boolean,
    call: (limits: CallLimits) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      const answer = await withTimeLimit(timeoutMs, (abortSignal) => call({ abortSignal, timeoutMs, isConnected }));
      failures = 0;
      return answer;
    } catch (error) {
      failures += 1;
      failedAt = now();
      throw unavailable(causeWord(error));
    } finally {
      isCold = false;
    }
  }
}

/** For whoever finds out otherwise that the store is of no use; `cause` is one word. */
export function unavailable(cause: string): StoreUnavailable {
  return new StoreUnavailable('The shared cache is not available', { cause });
}

const BRIEF_MS = 150;
const PATIENT_MS = 1_000;
const MAX_FAILURES = 3;
const PEACE_MS = 10_000;
