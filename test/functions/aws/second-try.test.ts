import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withSecondTry } from '../../../functions/aws/retry.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const limits = { timeoutMs: 100, abortSignal: new AbortController().signal };

const answered = (status: number, name = 'SomeException') =>
  Object.assign(new Error('no'), { name, $fault: 'client', $metadata: { httpStatusCode: status } });

describe('a second try', () => {
  it('is not made after an answer', async () => {
    const call = vi.fn(async () => 'answer');
    expect(await withSecondTry(limits, call)).toBe('answer');
    expect(call).toHaveBeenCalledTimes(1);
  });

  it.each([answered(400), answered(403), answered(404)])('is not made after a no', async (refusal) => {
    const call = vi.fn(() => Promise.reject(refusal));
    await expect(withSecondTry(limits, call)).rejects.toBe(refusal);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it('is not made without credentials, for which nothing was sent', async () => {
    const missing = Object.assign(new Error('no'), { name: 'CredentialsProviderError' });
    const call = vi.fn(() => Promise.reject(missing));
    await expect(withSecondTry(limits, call)).rejects.toBe(missing);
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
  ])('is made once after %s', async (_what, failure) => {
    const call = vi.fn<() => Promise<string>>().mockRejectedValueOnce(failure).mockResolvedValueOnce('answer');
    expect(await withSecondTry(limits, call)).toBe('answer');
    const failing = vi.fn(() => Promise.reject(failure));
    await expect(withSecondTry(limits, failing)).rejects.toBe(failure);
    expect(failing).toHaveBeenCalledTimes(2);
  });

  it.each([0, 1])(
    'begins beside the first when that is silent; the first answer counts, here of call %d',
    async (which) => {
      const calls: PromiseWithResolvers<string>[] = [];
      const answer = withSecondTry(limits, () => {
        const call = Promise.withResolvers<string>();
        calls.push(call);
        return call.promise;
      });
      await vi.advanceTimersByTimeAsync(59);
      expect(calls).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(1);
      expect(calls).toHaveLength(2);
      calls[which]?.resolve('answer');
      calls[1 - which]?.reject(new Error('late'));
      expect(await answer).toBe('answer');
    },
  );

  it('does not begin beside the first when that is connected', async () => {
    const first = Promise.withResolvers<string>();
    const call = vi.fn(() => first.promise);
    const answer = withSecondTry({ ...limits, isConnected: true }, call);
    await vi.advanceTimersByTimeAsync(100);
    first.resolve('answer');
    expect(await answer).toBe('answer');
    expect(call).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['during the first call', 30, 1],
    ['while it takes breath', 50, 1],
    ['when the second has begun', 70, 2],
  ])('begins nothing once the time is over %s', async (_when, ms, calls) => {
    const over = new AbortController();
    const failure = Object.assign(new Error('no'), { code: 'ECONNRESET' });
    const call = vi.fn(
      () =>
        new Promise<never>((_, reject) => {
          over.signal.addEventListener('abort', () => reject(over.signal.reason));
          if (ms === 50) setTimeout(reject, 49, failure);
        }),
    );
    const ended = vi.fn();
    withSecondTry({ timeoutMs: 100, abortSignal: over.signal }, call).catch(ended);
    await vi.advanceTimersByTimeAsync(ms);
    over.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(ended).toHaveBeenCalled();
    await new Promise((resolve) => process.nextTick(resolve));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(call).toHaveBeenCalledTimes(calls);
  });

  it('is not made once the time is over, although the first call did not heed that', async () => {
    const over = new AbortController();
    const call = vi.fn(() => new Promise<never>(() => undefined));
    const answer = withSecondTry({ timeoutMs: 100, abortSignal: over.signal }, call);
    const ended = expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    over.abort();
    await vi.advanceTimersByTimeAsync(60);
    await ended;
    expect(call).toHaveBeenCalledTimes(1);
  });

  it('that fails as well as the silent first one fails as that does', async () => {
    const calls: PromiseWithResolvers<string>[] = [];
    const answer = withSecondTry(limits, () => {
      const call = Promise.withResolvers<string>();
      calls.push(call);
      return call.promise;
    });
    await vi.advanceTimersByTimeAsync(60);
    calls[1]?.reject(new Error('second'));
    calls[0]?.reject(new Error('first'));
    await expect(answer).rejects.toThrow('first');
  });
});
