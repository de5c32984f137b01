import { type CallTerms, StoreUnavailable } from '../../broker/pair/store.ts';
import { isWithin } from '../../broker/time.ts';
import { causeWord, isDefinitive, isThrottled, OutOfTime, type SignalledCall, withTimeLimit } from '../calls.ts';

/** Runs a call of the table. @throws StoreUnavailable after every failure */
export type CircuitBreaker = <Answer>(terms: CallTerms, call: SignalledCall<Answer>) => Promise<Answer>;

export interface StoreLimits {
  readonly timeoutMs?: number;
  readonly limitTime?: typeof withTimeLimit;
  /** How long an open circuit waits before a probe. */
  readonly openMs?: number;
}

/**
 * The circuit breaker of an instance for one operation of DynamoDB: the waiting for a table that is away must end.
 * Three failures in a row open the circuit for ten seconds at most, then a single call probes the table. A throttled
 * call closes it.
 */
export function createCircuitBreaker(
  operation: 'GetItem' | 'UpdateItem',
  now: () => number,
  { timeoutMs = TIMEOUT_MS, limitTime = withTimeLimit, openMs = randomOpenMs() }: StoreLimits = {},
): CircuitBreaker {
  let failures = 0;
  let last = { at: 0, message: '', cause: '' };

  return async (terms, call) => {
    const leftMs = terms.deadline - now();
    if (failures >= MAX_FAILURES && !terms.settles) probe(leftMs);
    try {
      const answer = await limitTime(Math.min(timeoutMs, leftMs), call);
      failures = 0;
      return answer;
    } catch (error) {
      const isCutOff = leftMs < timeoutMs && error instanceof OutOfTime;
      throw failureOf(error, isCutOff);
    }
  };

  /** Lets a call probe the table. The circuit stays open for all others. @throws StoreUnavailable in place of it */
  function probe(leftMs: number): void {
    const { at, message, cause } = last;
    const startedAt = now();
    // A call without the time for an answer would find out nothing.
    if (isWithin(openMs, at, startedAt) || leftMs < timeoutMs) {
      throw new StoreUnavailable('lasting', message, { retryMs: at + openMs - startedAt, cause });
    }
    last = { at: startedAt, message, cause };
  }

  function failureOf(error: unknown, isCutOff: boolean): StoreUnavailable {
    const word = causeWord(error);
    if (isThrottled(error)) {
      failures = 0;
      return new StoreUnavailable('busy', 'DynamoDB throttles the table', { cause: word });
    }
    const isRefused = isDefinitive(error);
    const message = isRefused ? `DynamoDB refuses dynamodb:${operation} (${word})` : 'DynamoDB does not answer';
    const cause = isRefused ? `${operation} ${word}` : word;
    if (!isCutOff) {
      failures += 1;
      last = { at: now(), message, cause };
    }
    return new StoreUnavailable(isRefused ? 'lasting' : 'silent', message, { cause });
  }
}

const TIMEOUT_MS = 500;
const MAX_FAILURES = 3;
const MAX_OPEN_MS = 10_000;

/** Keeps the probes of instances apart, whose circuits an outage opens at the same moment. */
const randomOpenMs = () => MAX_OPEN_MS * (1 - Math.random() * OPEN_SPREAD);
const OPEN_SPREAD = 0.2;
