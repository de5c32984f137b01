import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTimeBudgets, type TimeBudget } from '../../../functions/aws/circuit-breaker.ts';
import type { CallLimits } from '../../../functions/aws/time-limit.ts';
import { StoreUnavailable } from '../../../functions/broker/pair/store.ts';

let withinBudget: TimeBudget;
let patiently: TimeBudget;
beforeEach(() => {
  vi.useFakeTimers();
  const budgets = createTimeBudgets({ now: Date.now });
  withinBudget = budgets.brief;
  patiently = budgets.patient;
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the time that a call to the store may take', () => {
  it('is one second for the first call of an environment, and for all that begin before it has ended', async () => {
    const calls = [withinBudget(never), withinBudget(never)].map(outcome);
    await vi.advanceTimersByTimeAsync(999);
    expect(calls.map((call) => call.cause)).toEqual([undefined, undefined]);
    await vi.advanceTimersByTimeAsync(1);
    expect(calls.map((call) => call.cause)).toEqual(['OutOfTime', 'OutOfTime']);
  });

  it.each([
    ['has succeeded', async () => 'answer'],
    ['has failed', failing],
  ])('is 150 ms once a call %s', async (_how, first) => {
    await withinBudget(first).catch(() => undefined);
    const call = outcome(withinBudget(never));
    await vi.advanceTimersByTimeAsync(149);
    expect(call.cause).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(call.cause).toBe('OutOfTime');
  });

  it('ends for the call as well', async () => {
    const limits: CallLimits[] = [];
    const call = outcome(
      withinBudget((given) => {
        limits.push(given);
        return never();
      }),
    );
    expect(limits[0]?.timeoutMs).toBe(1_000);
    expect(limits[0]?.abortSignal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(limits[0]?.abortSignal.aborted).toBe(true);
    expect(call.cause).toBe('OutOfTime');
  });

  it('leaves no timer behind', async () => {
    await withinBudget(async () => 'answer');
    await expect(withinBudget(failing)).rejects.toThrow(StoreUnavailable);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('passes an answer on', async () => {
    expect(await withinBudget(async () => 'answer')).toBe('answer');
  });
});

describe('a store that keeps failing', () => {
  it('is left alone for ten seconds after three failures in a row', async () => {
    await fail(3);
    await vi.advanceTimersByTimeAsync(9_999);
    const call = vi.fn(async () => 'answer');
    await expect(withinBudget(call)).rejects.toMatchObject({ cause: 'left-alone' });
    expect(call).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await withinBudget(call)).toBe('answer');
  });

  it('is not left alone after three failures with a success among them', async () => {
    await fail(2);
    await withinBudget(async () => 'answer');
    await fail(1);
    expect(await withinBudget(async () => 'answer')).toBe('answer');
  });

  it('is asked by one call alone after that, which has time to connect', async () => {
    await fail(3);
    await vi.advanceTimersByTimeAsync(10_000);
    const probe = outcome(withinBudget(never));
    const other = outcome(withinBudget(never));
    await vi.advanceTimersByTimeAsync(999);
    expect([probe.cause, other.cause]).toEqual([undefined, 'left-alone']);
    await vi.advanceTimersByTimeAsync(1);
    expect(probe.cause).toBe('OutOfTime');
  });

  it('is left alone again when that call fails, and is back when it succeeds', async () => {
    await fail(3);
    await vi.advanceTimersByTimeAsync(10_000);
    await fail(1);
    await expect(withinBudget(async () => 'answer')).rejects.toMatchObject({ cause: 'left-alone' });
    await vi.advanceTimersByTimeAsync(10_000);
    await withinBudget(async () => 'answer');
    await fail(2);
    expect(await withinBudget(async () => 'answer')).toBe('answer');
  });

  it('is asked again at once when the clock was set back', async () => {
    await fail(3);
    vi.setSystemTime(Date.now() - 600_000);
    expect(await withinBudget(async () => 'answer')).toBe('answer');
  });
});

describe('a call of somebody whom the store has answered', () => {
  it('has one second, however long the environment has lived', async () => {
    await withinBudget(async () => 'answer');
    const call = outcome(patiently(never));
    await vi.advanceTimersByTimeAsync(999);
    expect(call.cause).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(call.cause).toBe('OutOfTime');
  });

  it('is made although the store is left alone, and ends that when it is answered', async () => {
    await fail(3);
    await expect(withinBudget(async () => 'answer')).rejects.toMatchObject({ cause: 'left-alone' });
    expect(await patiently(async () => 'answer')).toBe('answer');
    expect(await withinBudget(async () => 'answer')).toBe('answer');
  });

  it('is known to be connected, other calls are not', async () => {
    const known = ({ isConnected }: CallLimits) => Promise.resolve(isConnected);
    expect([await withinBudget(known), await patiently(known), await withinBudget(known)]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('counts when it fails', async () => {
    await fail(2);
    await expect(patiently(failing)).rejects.toMatchObject({ cause: 'TypeError' });
    await expect(withinBudget(async () => 'answer')).rejects.toMatchObject({ cause: 'left-alone' });
  });
});

describe('a failure', () => {
  it.each([
    [Object.assign(new Error('garbage'), { name: 'ThrottlingException' }), 'ThrottlingException'],
    [Object.assign(new Error('garbage'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [Object.assign(new Error('garbage'), { name: 'a name with garbage' }), 'unknown'],
    ['garbage', 'unknown'],
  ])('is told in one word', async (thrown, cause) => {
    const failure = outcome(withinBudget(() => Promise.reject(thrown)));
    await vi.advanceTimersByTimeAsync(0);
    expect(failure.cause).toBe(cause);
    expect(`${failure.error?.message}${JSON.stringify(failure.error)}`).not.toContain('garbage');
  });
});

function never(): Promise<never> {
  return new Promise(() => undefined);
}

function failing(): Promise<never> {
  return Promise.reject(new TypeError('no'));
}

async function fail(times: number): Promise<void> {
  for (let n = 0; n < times; n++) await expect(withinBudget(failing)).rejects.toMatchObject({ cause: 'TypeError' });
}

/** What has become of a call so far. */
function outcome(call: Promise<unknown>): { error?: Error; cause?: unknown } {
  const found: { error?: Error; cause?: unknown } = {};
  call.catch((error: unknown) => {
    if (!(error instanceof StoreUnavailable)) throw error;
    found.error = error;
    found.cause = error.cause;
  });
  return found;
}
