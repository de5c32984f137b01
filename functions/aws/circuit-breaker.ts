import { StoreUnavailable } from '../broker/pair/store.ts';
import { causeWord, OutOfTime, withTimeLimit } from './calls.ts';

/**
 * Runs a call to the store within the time that the store is worth: without it the broker still works, so waiting for
 * it must never cost more than doing without it.
 *
 * @throws StoreUnavailable for every failure of the call, at once while the circuit is open
 */
export type CircuitBreaker = <Answer>(
  terms: CallTerms,
  call: (abortSignal: AbortSignal) => Promise<Answer>,
) => Promise<Answer>;

export interface CallTerms {
  /** Epoch milliseconds. A call that is cut off by it says nothing of the store. */
  readonly deadline: number;
  /** Others wait for what this call writes: it has the longer time, and is made even while the circuit is open. */
  readonly endsLease?: boolean;
}

interface Options {
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly connectedMs?: number;
  readonly patientMs?: number;
}

/**
 * The circuit breaker of one environment. A call has 150 ms while the store is known to be connected: it has answered
 * within the last 30 s, and the environment's first call is over. Else it has 1 s, because it may have to connect, and a
 * fleet needs the store most when it starts. After three failures in a row the circuit is open for ten seconds; then a
 * single call finds out, and has 1 s as well.
 */
export function createCircuitBreaker({ now, connectedMs = 150, patientMs = 1_000 }: Options): CircuitBreaker {
  let firstCallAt: number | undefined;
  let answeredAt: number | undefined;
  let failures = 0;
  let failedAt: number | undefined;
  let isProbing = false;

  /** A clock that was set back must not make anything longer. */
  const isWithin = (ms: number, at: number | undefined) => at !== undefined && now() >= at && now() < at + ms;

  return async ({ deadline, endsLease = false }, call) => {
    firstCallAt ??= now();
    const isProbe = failures >= MAX_FAILURES && !endsLease;
    if (isProbe && (isProbing || isWithin(OPEN_MS, failedAt))) throw unavailable('circuit-open');
    const isConnected = isWithin(KEPT_MS, answeredAt) && !isWithin(FIRST_CALL_MS, firstCallAt);
    const timeoutMs = isConnected && !endsLease && !isProbe ? connectedMs : patientMs;
    const clockMs = deadline - now();
    if (isProbe) isProbing = true;
    try {
      const answer = await withTimeLimit(timeoutMs, call, clockMs);
      failures = 0;
      answeredAt = now();
      return answer;
    } catch (error) {
      if (!(clockMs < timeoutMs && error instanceof OutOfTime)) {
        failures += 1;
        failedAt = now();
      }
      throw unavailable(causeWord(error));
    } finally {
      if (isProbe) isProbing = false;
    }
  };
}

/** For a call that finds out otherwise that the store is of no use; `cause` is one word. */
export function unavailable(cause: string): StoreUnavailable {
  return new StoreUnavailable('The shared cache is not available', { cause });
}

const MAX_FAILURES = 3;
const OPEN_MS = 10_000;

/** As long as an idle connection is used again. */
const KEPT_MS = 30_000;

/** The time-out of the token function: by then its first call has ended. */
const FIRST_CALL_MS = 15_000;
