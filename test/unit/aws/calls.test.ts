import { stat } from 'node:fs/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { inTime, withRetry, withTimeLimit } from '../../../functions/aws/calls.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('a time limit', () => {
  it.each([
    ['that is given', 150, Infinity],
    ['that a deadline leaves', 200, 150],
  ])('%s ends a call to the millisecond, and tells it so', async (_what, timeoutMs, clockMs) => {
    stopTime();
    let signal: AbortSignal | undefined;
    const ended = vi.fn();
    const call = (given: AbortSignal) => {
      signal = given;
      return new Promise(() => undefined);
    };
    withTimeLimit(timeoutMs, call, clockMs).catch(ended);
    await vi.advanceTimersByTimeAsync(149);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toHaveBeenCalledWith(expect.objectContaining({ name: 'OutOfTime' }));
    expect(signal?.aborted).toBe(true);
  });

  it.each(['answer', 'failure'])('passes on an %s, and leaves no timer behind', async (outcome) => {
    stopTime();
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

  it.each([0, -1])('makes no call when %d ms are left on the clock', async (clockMs) => {
    const call = vi.fn(async () => 'answer');
    await expect(withTimeLimit(150, call, clockMs)).rejects.toMatchObject({ name: 'OutOfTime' });
    expect(call).not.toHaveBeenCalled();
  });

  it('takes an answer that came while the process stood still, although its time was over by then', async () => {
    const answer = withTimeLimit(100, () => stat(import.meta.filename));
    standStill(150);
    expect((await answer).isFile()).toBe(true);
  });

  it('counts the time in which the process stood still', async () => {
    const never = withTimeLimit(20, () => new Promise(() => undefined)).catch(({ name }: Error) => name);
    standStill(30);
    const later = new Promise((resolve) => setTimeout(resolve, 100, 'later'));
    expect(await Promise.race([never, later])).toBe('OutOfTime');
  });
});

describe('a call that can be repeated', () => {
  const { signal } = new AbortController();

  it('is not made again after an answer', async () => {
    const call = vi.fn(async () => 'answer');
    expect(await withRetry(signal, call)).toBe('answer');
    expect(call).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['an answer that is definitive', answered(400)],
    ['a denial', answered(403)],
    ['an answer that there is nothing', answered(404)],
    ['missing credentials, for which nothing was sent', new Error('no'), 'CredentialsProviderError'],
  ])('is not made again after %s', async (_what, failure, name = failure.name) => {
    const call = vi.fn(() => Promise.reject(Object.assign(failure, { name })));
    await expect(withRetry(signal, call)).rejects.toBe(failure);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['a broken connection', Object.assign(new Error('no'), { code: 'ECONNRESET' })],
    ['an error of the service', answered(500)],
    ['too many requests', answered(429)],
    ['throttling', answered(400, 'ThrottlingException')],
    ['throttling of a table', answered(400, 'ProvisionedThroughputExceededException')],
    ['a clock that was wrong', answered(403, 'InvalidSignatureException')],
    ['an answer that cannot be read', Object.assign(new SyntaxError('no'), { $metadata: { httpStatusCode: 400 } })],
  ])('is made once more after %s', async (_what, failure) => {
    const call = vi.fn<() => Promise<string>>().mockRejectedValueOnce(failure).mockResolvedValueOnce('answer');
    expect(await withRetry(signal, call)).toBe('answer');
    const failing = vi.fn(() => Promise.reject(failure));
    await expect(withRetry(signal, failing)).rejects.toBe(failure);
    expect(failing).toHaveBeenCalledTimes(2);
  });

  it('is not made again once its time has ended, even if it ends during the pause before the repetition', async () => {
    stopTime();
    const failure = Object.assign(new Error('no'), { code: 'ECONNRESET' });
    const [before, between] = [new AbortController(), new AbortController()];
    const call = vi.fn(() => Promise.reject(failure));
    before.abort();
    await expect(withRetry(before.signal, call)).rejects.toMatchObject({ name: 'AbortError' });
    const waiting = expect(withRetry(between.signal, call)).rejects.toMatchObject({ name: 'AbortError' });
    await vi.advanceTimersByTimeAsync(0);
    between.abort();
    await waiting;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(call).toHaveBeenCalledTimes(2);
  });
});

describe('waiting in time', () => {
  it('gives what comes in time, also when it fails, and leaves no timer behind', async () => {
    stopTime();
    expect(await inTime(100, Promise.resolve('answer'))).toBe('answer');
    await expect(inTime(100, Promise.reject(new TypeError('no')))).rejects.toThrow(TypeError);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([100, -1])('gives nothing after %d ms', async (clockMs) => {
    stopTime();
    const waited = inTime(clockMs, new Promise(() => undefined));
    await vi.advanceTimersByTimeAsync(Math.max(1, clockMs));
    expect(await waited).toBeUndefined();
  });
});

/** All but the turns of the event loop, of which a call that is given up gets one. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
}

/** The whole process, as without a processor. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function answered(status: number, name = 'SomeException'): Error {
  return Object.assign(new Error('no'), { name, $fault: 'client', $metadata: { httpStatusCode: status } });
}
