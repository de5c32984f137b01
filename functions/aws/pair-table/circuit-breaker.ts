import { type CallTerms, StoreUnavailable } from '../../broker/pair/store.ts';
import { isWithin } from '../../broker/time.ts';
import { causeWord, isDefinitive, isThrottled, OutOfTime, type SignalledCall, withTimeLimit } from '../calls.ts';

/** Runs a call of the table. @throws StoreUnavailable after every failure */
export type CircuitBreaker = <Answer>(terms: CallTerms, call: SignalledCall<Answer>) => Promise<Answer>;

export interface StoreLimits {
  readonly timeoutMs?: number;
  readonly limitTime?: typeof withTimeLimit;
}

/**
 * The circuit breaker of an instance for one operation of DynamoDB: the waiting for a table that is away must end.
 * Three failures in a row open the circuit for ten seconds, then a single call probes the table. A throttled call
 * closes it.
 */
export function createCircuitBreaker(
  operation: 'GetItem' | 'UpdateItem',
  now: () => number,
  { timeoutMs = TIMEOUT_MS, limitTime = withTimeLimit }: StoreLimits = {},
): CircuitBreaker {
  let failures = 0;
  let last = { at: 0, reason: '', cause: '' as unknown };

  return async (terms, call) => {
    const leftMs = terms.deadline - now();
    if (failures < MAX_FAILURES || terms.settles) return attempt(leftMs, call);
    const { at, reason, cause } = last;
    // The circuit stays open for all other calls. A call without the time for an answer would find out nothing.
    if (isWithin(OPEN_MS, at, now()) || leftMs < timeoutMs) {
      throw new StoreUnavailable('lasting', reason, cause, at + OPEN_MS - now());
    }
    last = { at: now(), reason, cause };
    // An outage opens the circuits of all instances at once. If each probe kept its caller, calls would pile up.
    return limitTime(PROBE_WAIT_MS, () => attempt(leftMs, call)).catch((error: unknown) => {
      throw failureOf(error);
    });
  };

  async function attempt<Answer>(leftMs: number, call: SignalledCall<Answer>): Promise<Answer> {
    const startedAt = now();
    try {
      const answer = await limitTime(Math.min(timeoutMs, leftMs), call);
      failures = 0;
      return answer;
    } catch (error) {
      const failure = failureOf(error);
      const isCutOff = leftMs < timeoutMs && error instanceof OutOfTime;
      if (failure.kind === 'busy') failures = 0;
      else if (!isCutOff) {
        failures += 1;
        last = { at: startedAt, reason: failure.reason, cause: failure.cause };
      }
      throw failure;
    }
  }

  function failureOf(error: unknown): StoreUnavailable {
    if (error instanceof StoreUnavailable) return error;
    const cause = causeWord(error);
    if (isThrottled(error)) return new StoreUnavailable('busy', 'DynamoDB throttles the table', cause);
    if (!isDefinitive(error)) return new StoreUnavailable('silent', 'DynamoDB does not answer', cause);
    const reason = `DynamoDB refuses dynamodb:${operation} (${cause})`;
    return new StoreUnavailable('lasting', reason, `${operation} ${cause}`);
  }
}

const TIMEOUT_MS = 500;
/** A table that answers at all does so in this time, also over a new connection. */
export const PROBE_WAIT_MS = 200;
const MAX_FAILURES = 3;
const OPEN_MS = 10_000;
