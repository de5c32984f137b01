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
  let last = { at: 0, message: '', cause: '' as unknown };

  return async (terms, call) => {
    const leftMs = terms.deadline - now();
    if (failures < MAX_FAILURES || terms.settles) return attempt(leftMs, call);
    const probe = startProbe(leftMs, call);
    // An outage opens the circuits of all instances at once. If each probe kept its caller, calls would pile up.
    return limitTime(PROBE_WAIT_MS, () => probe).catch((error: unknown) => {
      throw failureOf(error);
    });
  };

  /** Lets a call probe the table. The circuit stays open for all others. @throws StoreUnavailable in place of it */
  function startProbe<Answer>(leftMs: number, call: SignalledCall<Answer>): Promise<Answer> {
    const { at, message, cause } = last;
    const startedAt = now();
    // A call without the time for an answer would find out nothing.
    if (isWithin(OPEN_MS, at, startedAt) || leftMs < timeoutMs) {
      throw new StoreUnavailable('lasting', message, { retryMs: at + OPEN_MS - startedAt, cause });
    }
    last = { at: startedAt, message, cause };
    return attempt(leftMs, call);
  }

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
        last = { at: startedAt, message: failure.message, cause: failure.cause };
      }
      throw failure;
    }
  }

  function failureOf(error: unknown): StoreUnavailable {
    if (error instanceof StoreUnavailable) return error;
    const cause = causeWord(error);
    if (isThrottled(error)) return new StoreUnavailable('busy', 'DynamoDB throttles the table', { cause });
    if (!isDefinitive(error)) return new StoreUnavailable('silent', 'DynamoDB does not answer', { cause });
    const message = `DynamoDB refuses dynamodb:${operation} (${cause})`;
    return new StoreUnavailable('lasting', message, { cause: `${operation} ${cause}` });
  }
}

const TIMEOUT_MS = 500;
/** A table that answers at all does so in this time, also over a new connection. */
export const PROBE_WAIT_MS = 200;
const MAX_FAILURES = 3;
const OPEN_MS = 10_000;
