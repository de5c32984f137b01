import { describe, expect, it, vi } from 'vitest';
import { AwsRefusal, withRetry } from '../../../../functions/aws/calls.ts';
import { createCircuitBreaker } from '../../../../functions/aws/pair-table/circuit-breaker.ts';
import { type CallTerms, StoreUnavailable } from '../../../../functions/broker/pair/store.ts';
import { stopTime } from '../https/https-sending.ts';

/** Without a caller's deadline, unless a test is about deadlines. */
const CALL = { deadline: Infinity };
const LIMIT_MS = 500;
const PROBE_WAIT_MS = 200;
const LASTING = { kind: 'lasting', cause: 'TypeError' };

describe('the time that a call to the store may take', () => {
  it('is the same for the first call, a later call and a call that settles, and shorter for the caller of a probe', async () => {
    const { breaker, timeOf, fail, pass } = start();
    expect(await timeOf(CALL)).toBe(LIMIT_MS);
    await breaker(CALL, answering);
    await pass(60_000);
    expect([await timeOf(CALL), await timeOf({ ...CALL, settles: true })]).toEqual([LIMIT_MS, LIMIT_MS]);
    await fail(1);
    await pass(10_000);
    expect(await timeOf(CALL)).toBe(PROBE_WAIT_MS);
  });

  it('never goes beyond the deadline, and a call that the deadline ends does not count', async () => {
    const { breaker, timeOf } = start();
    for (let times = 0; times < 5; times += 1) expect(await timeOf({ deadline: Date.now() + 100 })).toBe(100);
    const late = breaker({ deadline: Date.now() }, answering);
    await expect(late).rejects.toMatchObject({ kind: 'silent', cause: 'OutOfTime' });
    expect(await breaker(CALL, answering)).toBe('answer');
  });
});

describe('the circuit', () => {
  it('is open for ten seconds after three failures in a row, again after the next one, and closed by an answer', async () => {
    const { breaker, fail, pass } = start();
    const call = vi.fn(answering);
    for (const failures of [3, 1]) {
      await fail(failures);
      await pass(1_001);
      await expect(breaker(CALL, call)).rejects.toMatchObject({ ...LASTING, retryAfterSeconds: 9 });
      await pass(8_998);
      await expect(breaker(CALL, call)).rejects.toMatchObject(LASTING);
      await pass(1);
    }
    expect(call).not.toHaveBeenCalled();
    await breaker(CALL, call);
    await fail(2);
    expect(await breaker(CALL, call)).toBe('answer');
  });

  it.each([
    ['no answer within the time of a call', never, Infinity],
    ['an error shortly before the deadline of a caller', failing, 100],
  ])('is open after three failures in a row that are %s', async (_what, call, leftMs) => {
    const { breaker, pass } = start();
    for (let n = 0; n < 3; n++) {
      outcome(breaker({ deadline: Date.now() + leftMs }, call));
      await pass(LIMIT_MS);
    }
    await expect(breaker(CALL, answering)).rejects.toMatchObject({ kind: 'lasting' });
  });

  it.each([
    ['closed by an answer', answering, 'answer'],
    ['open after no answer', never, 'OutOfTime'],
  ])('is tried by a single call after that, and %s that comes when the caller is gone', async (_what, end, result) => {
    const { breaker, fail, pass } = start();
    await fail(3);
    await pass(10_000);
    const slow = async () => {
      await new Promise((wake) => setTimeout(wake, LIMIT_MS - 1));
      return end();
    };
    const probe = outcome(breaker(CALL, slow));
    const other = outcome(breaker(CALL, never));
    await pass(PROBE_WAIT_MS);
    expect([probe, other]).toEqual([{ kind: 'silent', cause: 'OutOfTime' }, LASTING]);
    await pass(LIMIT_MS - PROBE_WAIT_MS);
    expect(await breaker(CALL, answering).catch(({ cause }) => cause)).toBe(result);
    await pass(10_000 - LIMIT_MS);
    expect(await breaker(CALL, answering)).toBe('answer');
  });

  it('is neither closed nor kept open by a call that its deadline ends, whether it began before or after', async () => {
    const { breaker, fail, pass } = start();
    const hurried = () => outcome(breaker({ deadline: Date.now() + 10 }, never));
    const early = hurried();
    await fail(3);
    await pass(10);
    await expect(breaker(CALL, answering)).rejects.toMatchObject(LASTING);
    await pass(10_000);
    const late = hurried();
    await pass(10);
    // A call without the time for an answer does not probe.
    expect([early.cause, late.cause]).toEqual(['OutOfTime', 'TypeError']);
    expect(await breaker(CALL, answering)).toBe('answer');
  });

  it('is closed by throttling, which is an answer, also by that of a probe', async () => {
    const { breaker, fail, pass } = start();
    const busy = { kind: 'busy', cause: 'RequestLimitExceeded' };
    await fail(2);
    await expect(breaker(CALL, attempts('throttled'))).rejects.toMatchObject(busy);
    await fail(2);
    expect(await breaker(CALL, answering)).toBe('answer');
    await fail(3);
    await expect(breaker(CALL, attempts('throttled'))).rejects.toMatchObject(LASTING);
    await pass(10_000);
    await expect(breaker(CALL, attempts('throttled'))).rejects.toMatchObject(busy);
    await fail(2);
    expect(await breaker(CALL, answering)).toBe('answer');
  });

  it('is opened by calls that are throttled and then hang', async () => {
    const { breaker, pass } = start();
    for (let n = 0; n < 3; n++) {
      const call = outcome(breaker(CALL, attempts('throttled', 'hung')));
      await vi.waitUntil(() => vi.getTimerCount() === 1, { interval: 1 });
      await pass(LIMIT_MS);
      expect(call).toMatchObject({ kind: 'silent', cause: 'OutOfTime' });
    }
    await expect(breaker(CALL, answering)).rejects.toMatchObject({ kind: 'lasting', cause: 'OutOfTime' });
  });

  it('is opened by refusals, each of which lasts, and names the right that is missing', async () => {
    const { breaker } = start();
    const reason = 'DynamoDB refuses dynamodb:UpdateItem (AccessDeniedException)';
    const refused = { kind: 'lasting', reason, cause: 'UpdateItem AccessDeniedException' };
    for (let n = 0; n < 3; n++) await expect(breaker(CALL, attempts('refused'))).rejects.toMatchObject(refused);
    await expect(breaker(CALL, answering)).rejects.toMatchObject(refused);
  });

  it('lets a call through that settles an outcome, and is closed by its answer and opened by its failure', async () => {
    const { breaker, fail } = start();
    const settling = { ...CALL, settles: true };
    await fail(3);
    await expect(breaker(CALL, answering)).rejects.toMatchObject(LASTING);
    expect(await breaker(settling, answering)).toBe('answer');
    expect(await breaker(CALL, answering)).toBe('answer');
    await fail(2);
    await expect(breaker(settling, failing)).rejects.toMatchObject({ kind: 'silent', cause: 'TypeError' });
    await expect(breaker(CALL, answering)).rejects.toMatchObject(LASTING);
  });
});

const never = () => new Promise<never>(() => undefined);
const answering = async () => 'answer';
const failing = () => Promise.reject(new TypeError('no'));
const ATTEMPTS = {
  failed: failing,
  hung: never,
  throttled: () => Promise.reject(Object.assign(new Error(), { name: 'RequestLimitExceeded' })),
  refused: () => Promise.reject(new AwsRefusal('AccessDeniedException', 400)),
};

/** A call whose attempts end like this, the last one again and again. */
function attempts(...kinds: readonly (keyof typeof ATTEMPTS)[]) {
  const left = [...kinds];
  return (signal: AbortSignal) =>
    withRetry(signal, () => ATTEMPTS[(left.length > 1 && left.shift()) || left[0] || 'failed']());
}

function start() {
  stopTime();
  const breaker = createCircuitBreaker('UpdateItem', Date.now);
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  return {
    breaker,
    pass,
    async fail(times: number) {
      for (let n = 0; n < times; n++)
        await expect(breaker(CALL, failing)).rejects.toMatchObject({ kind: 'silent', cause: 'TypeError' });
    },
    /** After how long a call is given up. */
    async timeOf(terms: CallTerms) {
      const startedAt = Date.now();
      const call = outcome(breaker(terms, never));
      while (call.cause === undefined && Date.now() < startedAt + 5_000) await pass(1);
      expect(call.cause).toBe('OutOfTime');
      return Date.now() - startedAt;
    },
  };
}

/** The outcome of a call so far. */
function outcome(call: Promise<unknown>): { kind?: unknown; cause?: unknown } {
  const found: { kind?: unknown; cause?: unknown } = {};
  call.catch((error: unknown) => {
    if (error instanceof StoreUnavailable) Object.assign(found, { kind: error.kind, cause: error.cause });
  });
  return found;
}
