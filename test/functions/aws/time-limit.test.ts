import { stat } from 'node:fs/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { withTimeLimit } from '../../../functions/aws/time-limit.ts';

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

/** The whole process, as without a processor. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
