import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CircuitBreaker, createCircuitBreaker } from '../../../functions/aws/calls.ts';
import { StoreUnavailable } from '../../../functions/broker/pair/record.ts';

/** No deadline of a caller, unless that is what a test is about. */
const CALL = { deadline: Infinity };
const LAST_WRITE = { ...CALL, endsLease: true };

let breaker: CircuitBreaker;
beforeEach(() => {
  // Not the turns of the event loop, of which a call that is given up gets one.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  breaker = createCircuitBreaker(Date.now);
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the time that a call to the store may take', () => {
  it('is one second for the first call of an environment, and for all that begin before it must have ended', async () => {
    expect(await timeOf(CALL)).toBe(1_000);
    await breaker(CALL, answering);
    await vi.advanceTimersByTimeAsync(13_999);
    expect(await timeOf(CALL)).toBe(1_000);
  });

  it('is 150 ms after that, for 30 s from the last answer', async () => {
    await connect();
    expect(await timeOf(CALL)).toBe(150);
    await vi.advanceTimersByTimeAsync(29_849);
    expect(await timeOf(CALL)).toBe(150);
  });

  it('is one second when the last answer is 30 s old: the connection is not used again', async () => {
    await connect();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await timeOf(CALL)).toBe(1_000);
    await breaker(CALL, answering);
    expect(await timeOf(CALL)).toBe(150);
  });

  it('is one second as long as no call was answered', async () => {
    await fail(1);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await timeOf(CALL)).toBe(1_000);
  });

  it('is one second for a write that ends a lease', async () => {
    await connect();
    expect(await timeOf(LAST_WRITE)).toBe(1_000);
  });

  it('is one second when the clock was set back', async () => {
    await connect();
    vi.setSystemTime(Date.now() - 600_000);
    expect(await timeOf(CALL)).toBe(1_000);
  });

  it.each([CALL, LAST_WRITE])(
    'never goes beyond the deadline, and what that cuts off does not count',
    async (terms) => {
      await connect();
      for (let times = 0; times < 5; times += 1) {
        expect(await timeOf({ ...terms, deadline: Date.now() + 100 })).toBe(100);
      }
      await expect(breaker({ ...terms, deadline: Date.now() }, answering)).rejects.toMatchObject({
        cause: 'OutOfTime',
      });
      expect(await breaker(CALL, answering)).toBe('answer');
    },
  );
});

describe('the circuit', () => {
  it('is open for ten seconds after three failures in a row', async () => {
    await fail(3);
    await vi.advanceTimersByTimeAsync(9_999);
    const call = vi.fn(answering);
    await expect(breaker(CALL, call)).rejects.toMatchObject({ cause: 'circuit-open' });
    expect(call).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await breaker(CALL, call)).toBe('answer');
  });

  it('stays closed after three failures with an answer among them', async () => {
    await fail(2);
    await breaker(CALL, answering);
    await fail(1);
    expect(await breaker(CALL, answering)).toBe('answer');
  });

  it('is tried by a single call after that, which has time to connect', async () => {
    await connect();
    await fail(3);
    await vi.advanceTimersByTimeAsync(10_000);
    const probe = outcome(breaker(CALL, never));
    const other = outcome(breaker(CALL, never));
    await vi.advanceTimersByTimeAsync(999);
    expect([probe.cause, other.cause]).toEqual([undefined, 'circuit-open']);
    await vi.advanceTimersByTimeAsync(1);
    expect(probe.cause).toBe('OutOfTime');
  });

  it('is open again when that call fails, and closed when it is answered', async () => {
    await fail(3);
    await vi.advanceTimersByTimeAsync(10_000);
    await fail(1);
    await expect(breaker(CALL, answering)).rejects.toMatchObject({ cause: 'circuit-open' });
    await vi.advanceTimersByTimeAsync(10_000);
    await breaker(CALL, answering);
    await fail(2);
    expect(await breaker(CALL, answering)).toBe('answer');
  });

  it('is tried at once when the clock was set back', async () => {
    await fail(3);
    vi.setSystemTime(Date.now() - 600_000);
    expect(await breaker(CALL, answering)).toBe('answer');
  });

  it('lets a write through that ends a lease, and is closed by its answer', async () => {
    await fail(3);
    await expect(breaker(CALL, answering)).rejects.toMatchObject({ cause: 'circuit-open' });
    expect(await breaker(LAST_WRITE, answering)).toBe('answer');
    expect(await breaker(CALL, answering)).toBe('answer');
  });

  it('is opened by such a write, too', async () => {
    await fail(2);
    await expect(breaker(LAST_WRITE, failing)).rejects.toMatchObject({ cause: 'TypeError' });
    await expect(breaker(CALL, answering)).rejects.toMatchObject({ cause: 'circuit-open' });
  });
});

function never(): Promise<never> {
  return new Promise(() => undefined);
}

async function answering(): Promise<string> {
  return 'answer';
}

function failing(): Promise<never> {
  return Promise.reject(new TypeError('no'));
}

async function fail(times: number): Promise<void> {
  for (let n = 0; n < times; n++) await expect(breaker(CALL, failing)).rejects.toMatchObject({ cause: 'TypeError' });
}

/** The environment's first call is over, and the store has just answered. */
async function connect(): Promise<void> {
  await breaker(CALL, answering);
  await vi.advanceTimersByTimeAsync(15_000);
  await breaker(CALL, answering);
}

/** After how long a call is given up. */
async function timeOf(terms: Parameters<CircuitBreaker>[0]): Promise<number> {
  const startedAt = Date.now();
  const call = outcome(breaker(terms, never));
  while (call.cause === undefined && Date.now() < startedAt + 5_000) await vi.advanceTimersByTimeAsync(1);
  expect(call.cause).toBe('OutOfTime');
  return Date.now() - startedAt;
}

/** What has become of a call so far. */
function outcome(call: Promise<unknown>): { cause?: unknown } {
  const found: { cause?: unknown } = {};
  call.catch((error: unknown) => {
    if (!(error instanceof StoreUnavailable)) throw error;
    found.cause = error.cause;
  });
  return found;
}
