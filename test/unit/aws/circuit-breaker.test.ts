import { describe, expect, it, vi } from 'vitest';
import { type CircuitBreaker, createCircuitBreaker, type StoreCall, withRetry } from '../../../functions/aws/calls.ts';
import { StoreBusy, StoreUnavailable } from '../../../functions/broker/pair/store.ts';
import { stopTime } from './https/https-sending.ts';

/** Without a caller's deadline, unless a test is about deadlines. */
const CALL = { deadline: Infinity };
const LAST_WRITE = { ...CALL, endsLease: true };

describe('the time that a call to the store may take', () => {
  it('is one second for the first call of an instance, and for all that begin before it must have ended', async () => {
    const { breaker, timeOf, pass } = start();
    expect(await timeOf(CALL)).toBe(1_000);
    await breaker(CALL, answering);
    await pass(13_999);
    expect(await timeOf(CALL)).toBe(1_000);
  });

  it('is 150 ms after that, for 30 s from the last answer', async () => {
    const { timeOf, connect, pass } = start();
    await connect();
    expect(await timeOf(CALL)).toBe(150);
    await pass(29_849);
    expect(await timeOf(CALL)).toBe(150);
    expect(await timeOf(CALL)).toBe(1_000);
  });

  it('is one second as long as no call was answered, when the clock was set back, and for a write that ends a lease', async () => {
    const { timeOf, connect, fail, pass } = start();
    await fail(1);
    await pass(15_000);
    expect(await timeOf(CALL)).toBe(1_000);
    await connect();
    expect(await timeOf(LAST_WRITE)).toBe(1_000);
    vi.setSystemTime(Date.now() - 600_000);
    expect(await timeOf(CALL)).toBe(1_000);
  });

  it('never goes beyond the deadline, and a call that the deadline ends does not count', async () => {
    const { breaker, timeOf, connect } = start();
    await connect();
    for (let times = 0; times < 5; times += 1) expect(await timeOf({ deadline: Date.now() + 100 })).toBe(100);
    const late = breaker({ deadline: Date.now() }, answering);
    await expect(late).rejects.toMatchObject({ cause: 'OutOfTime' });
    expect(await breaker(CALL, answering)).toBe('answer');
  });
});

describe('the circuit', () => {
  it('is open for ten seconds after three failures in a row, again after the next one, and closed by an answer', async () => {
    const { breaker, fail, pass } = start();
    const call = vi.fn(answering);
    for (const failures of [3, 1]) {
      await fail(failures);
      await pass(9_999);
      await expect(breaker(CALL, call)).rejects.toMatchObject({ cause: 'circuit-open' });
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
      await pass(1_000);
    }
    await expect(breaker(CALL, answering)).rejects.toMatchObject({ cause: 'circuit-open' });
  });

  it('is tried by a single call after that, which has time to connect', async () => {
    const { breaker, connect, fail, pass } = start();
    await connect();
    await fail(3);
    await pass(10_000);
    const probe = outcome(breaker(CALL, never));
    const other = outcome(breaker(CALL, never));
    await pass(999);
    expect([probe.cause, other.cause]).toEqual([undefined, 'circuit-open']);
    await pass(1);
    expect(probe.cause).toBe('OutOfTime');
  });

  it('is neither closed nor kept open by a call that its deadline ends, whether it began before or tries it', async () => {
    const { breaker, fail, pass } = start();
    const hurried = () => outcome(breaker({ deadline: Date.now() + 10 }, never));
    const early = hurried();
    await fail(3);
    await pass(10);
    await expect(breaker(CALL, answering)).rejects.toMatchObject({ cause: 'circuit-open' });
    await pass(10_000);
    const probe = hurried();
    await pass(10);
    expect([early.cause, probe.cause]).toEqual(['OutOfTime', 'OutOfTime']);
    expect(await breaker(CALL, answering)).toBe('answer');
  });

  it('is closed by throttling, which is an answer, also by that of a probe', async () => {
    const { breaker, fail, pass } = start();
    await fail(2);
    await expect(breaker(CALL, throttled)).rejects.toThrow(StoreBusy);
    await fail(2);
    expect(await breaker(CALL, answering)).toBe('answer');
    await fail(3);
    await expect(breaker(CALL, throttled)).rejects.toMatchObject({ cause: 'circuit-open' });
    await pass(10_000);
    await expect(breaker(CALL, throttled)).rejects.toThrow(StoreBusy);
    await fail(2);
    expect(await breaker(CALL, answering)).toBe('answer');
  });

  it.each<[string, object, Attempt[], typeof StoreBusy | typeof StoreUnavailable]>([
    ['a read with one throttled attempt is busy', CALL, ['throttled', 'failed'], StoreBusy],
    ['a read whose second attempt was throttled is busy', CALL, ['failed', 'throttled'], StoreBusy],
    ['a read that was throttled and then hung is busy', CALL, ['throttled', 'hung'], StoreBusy],
    ['a write is busy if every attempt was throttled', { isWrite: true }, ['throttled', 'throttled'], StoreBusy],
    ['a write unanswered first may have happened', { isWrite: true }, ['failed', 'throttled'], StoreUnavailable],
    ['a write throttled, then hung, may have happened', { isWrite: true }, ['throttled', 'hung'], StoreUnavailable],
  ])('%s', async (_, terms, attempts, error) => {
    const { breaker, pass } = start();
    const left = [...attempts];
    const attempt = () => ATTEMPTS[left.shift() ?? 'failed']();
    const call = breaker({ ...CALL, ...terms }, (signal, counted) => withRetry(signal, attempt, counted));
    const ended = expect(call).rejects.toThrow(error);
    await vi.waitUntil(() => left.length === 0, { interval: 1 });
    await pass(1_000);
    await ended;
  });

  it('is closed by a throttled attempt of a write, although its repetition hung and it may have happened', async () => {
    const { breaker, fail, pass } = start();
    const left: Attempt[] = ['throttled', 'hung'];
    const attempt = () => ATTEMPTS[left.shift() ?? 'failed']();
    await fail(2);
    const call = outcome(breaker({ ...CALL, isWrite: true }, (signal, made) => withRetry(signal, attempt, made)));
    await vi.waitUntil(() => left.length === 0, { interval: 1 });
    await pass(1_000);
    expect(call.cause).toBe('OutOfTime');
    await fail(2);
    expect(await breaker(CALL, answering)).toBe('answer');
  });

  it('does not take a write without any time for busy, because it was never made', async () => {
    const { breaker } = start();
    const late = { deadline: Date.now(), endsLease: true, isWrite: true };
    await expect(breaker(late, answering)).rejects.toThrow(StoreUnavailable);
  });

  it('lets a write through that ends a lease, and is closed by its answer and opened by its failure', async () => {
    const { breaker, fail } = start();
    await fail(3);
    await expect(breaker(CALL, answering)).rejects.toMatchObject({ cause: 'circuit-open' });
    expect(await breaker(LAST_WRITE, answering)).toBe('answer');
    expect(await breaker(CALL, answering)).toBe('answer');
    await fail(2);
    await expect(breaker(LAST_WRITE, failing)).rejects.toMatchObject({ cause: 'TypeError' });
    await expect(breaker(CALL, answering)).rejects.toMatchObject({ cause: 'circuit-open' });
  });
});

const never = () => new Promise<never>(() => undefined);
const answering = async () => 'answer';
const failing = () => Promise.reject(new TypeError('no'));
const throttled: StoreCall<never> = (signal, attempts) => withRetry(signal, ATTEMPTS.throttled, attempts);

type Attempt = keyof typeof ATTEMPTS;
const ATTEMPTS = {
  failed: failing,
  hung: never,
  throttled: () => Promise.reject(Object.assign(new Error(), { name: 'RequestLimitExceeded' })),
};

function start() {
  stopTime();
  const breaker = createCircuitBreaker(Date.now);
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  return {
    breaker,
    pass,
    async fail(times: number) {
      for (let n = 0; n < times; n++)
        await expect(breaker(CALL, failing)).rejects.toMatchObject({ cause: 'TypeError' });
    },
    /** The instance's first call is over, and the store has just answered. */
    async connect() {
      await breaker(CALL, answering);
      await pass(15_000);
      await breaker(CALL, answering);
    },
    /** After how long a call is given up. */
    async timeOf(terms: Parameters<CircuitBreaker>[0]) {
      const startedAt = Date.now();
      const call = outcome(breaker(terms, never));
      while (call.cause === undefined && Date.now() < startedAt + 5_000) await pass(1);
      expect(call.cause).toBe('OutOfTime');
      return Date.now() - startedAt;
    },
  };
}

/** The outcome of a call so far. */
function outcome(call: Promise<unknown>): { cause?: unknown } {
  const found: { cause?: unknown } = {};
  call.catch((error: unknown) => {
    found.cause = error instanceof StoreUnavailable ? error.cause : error;
  });
  return found;
}
