import { StoreUnavailable } from '../broker/pair/store.ts';
import { causeWord } from './cause-word.ts';
import { type CallLimits, OutOfTime, withTimeLimit } from './time-limit.ts';

/**
 * Runs a call to the store within the time that the store is worth: without it the broker still works, so waiting for
 * it must never cost more than doing without it.
 *
 * @param deadline epoch milliseconds; a call that is cut off by it says nothing of the store
 * @throws StoreUnavailable for every failure of the call, at once while the store is left alone
 */
export type TimeBudget = <Answer>(call: (limits: CallLimits) => Promise<Answer>, deadline?: number) => Promise<Answer>;

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

  const patient: TimeBudget = (call, deadline) => run({ timeoutMs: patientMs, isConnected: true, deadline }, call);

  const brief: TimeBudget = async (call, deadline) => {
    // After the peace one call finds out, and has the time to connect: the store that comes back is not missed.
    const isProbe = failures >= MAX_FAILURES;
    if (isProbe && isLeftAlone()) throw unavailable('left-alone');
    if (isProbe) isProbing = true;
    try {
      return await run({ timeoutMs: isCold || isProbe ? patientMs : briefMs, isConnected: false, deadline }, call);
    } finally {
      if (isProbe) isProbing = false;
    }
  };

  return { brief, patient };

  async function run<Answer>(
    { timeoutMs, isConnected, deadline = Infinity }: Terms,
    call: (limits: CallLimits) => Promise<Answer>,
  ): Promise<Answer> {
    const clockMs = deadline - now();
    try {
      const answer = await withTimeLimit(timeoutMs, (_, limits) => call({ ...limits, isConnected }), clockMs);
      failures = 0;
      isCold = false;
      return answer;
    } catch (error) {
      if (!(clockMs < timeoutMs && error instanceof OutOfTime)) {
        failures += 1;
        failedAt = now();
        isCold = false;
      }
      throw unavailable(causeWord(error));
    }
  }
}

interface Terms {
  readonly timeoutMs: number;
  readonly isConnected: boolean;
  readonly deadline: number | undefined;
}

/** For whoever finds out otherwise that the store is of no use; `cause` is one word. */
export function unavailable(cause: string): StoreUnavailable {
  return new StoreUnavailable('The shared cache is not available', { cause });
}

const BRIEF_MS = 150;
const PATIENT_MS = 1_000;
const MAX_FAILURES = 3;
const PEACE_MS = 10_000;
