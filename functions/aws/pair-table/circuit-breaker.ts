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
  let last = { at: 0, message: '', cause: '' };
  let isProbing = false;

  return async (terms, call) => {
    const isProbe = mustProbe(terms);
    isProbing ||= isProbe;
    const leftMs = terms.deadline - now();
    try {
      const answer = await limitTime(timeoutMs, call, leftMs);
      failures = 0;
      return answer;
    } catch (error) {
      const isCutOff = leftMs < timeoutMs && error instanceof OutOfTime;
      throw failureOf(error, isCutOff);
    } finally {
      if (isProbe) isProbing = false;
    }
  };

  /** Returns whether the call is the single probe of an open circuit. @throws StoreUnavailable in place of the call */
  function mustProbe({ settles }: CallTerms): boolean {
    if (failures < MAX_FAILURES || settles) return false;
    if (!isProbing && !isWithin(OPEN_MS, last.at, now())) return true;
    const { at, message, cause } = last;
    throw new StoreUnavailable('lasting', message, { retryMs: at + OPEN_MS - now(), cause });
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
const OPEN_MS = 10_000;
