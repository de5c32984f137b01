import { stat } from 'node:fs/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { inTime, withTimeLimit } from '../../../functions/aws/time-limit.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('a time limit', () => {
  it('ends a call to the millisecond, and tells it so', async () => {
    vi.useFakeTimers();
    let signal: AbortSignal | undefined;
    const ended = vi.fn();
    withTimeLimit(150, (given) => {
      signal = given;
      return new Promise(() => undefined);
    }).catch(ended);
    await vi.advanceTimersByTimeAsync(149);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toHaveBeenCalledWith(expect.objectContaining({ name: 'OutOfTime' }));
    expect(signal?.aborted).toBe(true);
  });

  it.each(['answer', 'failure'])('passes on an %s, and leaves no timer behind', async (outcome) => {
    vi.useFakeTimers();
    const call = async () => {
      if (outcome === 'failure') throw new TypeError(outcome);
      return outcome;
    };
    expect(await withTimeLimit(150, call).catch((error: Error) => error.message)).toBe(outcome);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('tells what is left of the call to stop after an answer too', async () => {
    let signal: AbortSignal | undefined;
    await withTimeLimit(150, async (given) => {
      signal = given;
    });
    expect(signal?.aborted).toBe(true);
  });

  it('ends earlier on the clock, and says how long the call has', async () => {
    vi.useFakeTimers();
    const call = vi.fn(() => new Promise<never>(() => undefined));
    const ended = vi.fn();
    withTimeLimit(150, call, 100).catch(ended);
    expect(call).toHaveBeenCalledWith(expect.any(AbortSignal), expect.objectContaining({ timeoutMs: 100 }));
    await vi.advanceTimersByTimeAsync(99);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toHaveBeenCalledWith(expect.objectContaining({ name: 'OutOfTime' }));
  });

  it.each([0, -1])('makes no call when %d ms are left on the clock', async (clockMs) => {
    const call = vi.fn(async () => 'answer');
    await expect(withTimeLimit(150, call, clockMs)).rejects.toMatchObject({ name: 'OutOfTime' });
    expect(call).not.toHaveBeenCalled();
  });

  it('counts on the clock what the process could not use', async () => {
    const never = withTimeLimit(60_000, () => new Promise(() => undefined), 200).catch(({ name }: Error) => name);
    standStill(300);
    const later = new Promise((resolve) => setTimeout(resolve, 100, 'later'));
    expect(await Promise.race([never, later])).toBe('OutOfTime');
  });

  it('does not count what the process could not use: an answer that came while it stood still is in time', async () => {
    const answer = withTimeLimit(200, () => stat(import.meta.filename));
    standStill(300);
    expect((await answer).isFile()).toBe(true);
  });

  it('goes on afterwards nearly where it was', async () => {
    const answer = withTimeLimit(500, async () => {
      await stat(import.meta.filename);
      return new Promise((resolve) => setTimeout(() => resolve('answer'), 50));
    });
    standStill(600);
    expect(await answer).toBe('answer');
  });

  it('counts a process that stands still again and again, a little each time', async () => {
    const never = withTimeLimit(20, () => new Promise(() => undefined));
    const busy = setInterval(() => standStill(10), 1);
    await expect(never).rejects.toMatchObject({ name: 'OutOfTime' });
    clearInterval(busy);
  });
});

describe('waiting in time', () => {
  it('gives what comes in time, also when it fails, and leaves no timer behind', async () => {
    vi.useFakeTimers();
    expect(await inTime(100, Promise.resolve('answer'))).toBe('answer');
    await expect(inTime(100, Promise.reject(new TypeError('no')))).rejects.toThrow(TypeError);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([100, -1])('gives nothing after %d ms', async (clockMs) => {
    vi.useFakeTimers();
    const waited = inTime(clockMs, new Promise(() => undefined));
    await vi.advanceTimersByTimeAsync(Math.max(1, clockMs));
    expect(await waited).toBeUndefined();
  });
});

/** The whole process, as without a processor. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
