import { stat } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { AwsRefusal, isConditionFailed, withRetry, withTimeLimit } from '../../../functions/aws/calls.ts';
import { stopTime } from './https/https-sending.ts';

const never = () => new Promise<never>(() => undefined);

describe('a time limit', () => {
  it('ends a call to the millisecond, and aborts its signal', async () => {
    stopTime();
    let signal: AbortSignal | undefined;
    const call = (given: AbortSignal) => {
      signal = given;
      return never();
    };
    const ended = vi.fn();
    withTimeLimit(150, call).catch(ended);
    await vi.advanceTimersByTimeAsync(149);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toHaveBeenCalledWith(expect.objectContaining({ name: 'OutOfTime' }));
    expect(signal?.aborted).toBe(true);
  });

  it.each(['answer', 'failure'])(
    'passes on an %s, ends the rest of the call, and leaves no timer behind',
    async (outcome) => {
      stopTime();
      let signal: AbortSignal | undefined;
      const limited = withTimeLimit(150, async (given) => {
        signal = given;
        if (outcome === 'failure') throw new TypeError(outcome);
        return outcome;
      });
      expect(await limited.catch(({ message }: Error) => message)).toBe(outcome);
      expect({ timers: vi.getTimerCount(), aborted: signal?.aborted }).toEqual({ timers: 0, aborted: true });
    },
  );

  it.each([0, -1])('of %d ms makes no call', async (timeoutMs) => {
    const call = vi.fn(async () => 'answer');
    await expect(withTimeLimit(timeoutMs, call)).rejects.toMatchObject({ name: 'OutOfTime' });
    expect(call).not.toHaveBeenCalled();
  });

  it('takes an answer that came while the process stood still, although its time was over by then', async () => {
    const answer = withTimeLimit(100, () => stat(import.meta.filename));
    // The whole process, as without a processor.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
    expect((await answer).isFile()).toBe(true);
  });
});

describe('a call that can be repeated', () => {
  const { signal } = new AbortController();

  it('is not made again after an answer that is definitive', async () => {
    const failure = answered(400, 'AccessDeniedException');
    const call = vi.fn(() => Promise.reject(failure));
    await expect(withRetry(signal, call)).rejects.toBe(failure);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it.each<[string, Error]>([
    ['a broken connection', Object.assign(new Error('no'), { code: 'ECONNRESET' })],
    ['an error of the service', answered(500)],
    ['too many requests', answered(429)],
    ...['ThrottlingException', 'ProvisionedThroughputExceededException', 'LimitExceededException', 'TooManyRequests']
      .concat('RequestTimeout', 'RequestTimeTooSkewed', 'RequestExpired', 'RequestInTheFuture')
      .concat('InvalidSignatureException', 'SignatureDoesNotMatch')
      .concat('ExpiredTokenException', 'UnrecognizedClientException', 'InvalidClientTokenId')
      .map((name): [string, Error] => [name, answered(400, name)]),
    ['an answer that cannot be read', new SyntaxError('no')],
  ])('is made once more after %s', async (_what, failure) => {
    const call = vi.fn<() => Promise<string>>().mockRejectedValueOnce(failure).mockResolvedValueOnce('answer');
    expect(await withRetry(signal, call)).toBe('answer');
    expect(call).toHaveBeenCalledTimes(2);
    const failing = vi.fn(() => Promise.reject(failure));
    await expect(withRetry(signal, failing)).rejects.toBe(failure);
    expect(failing).toHaveBeenCalledTimes(2);
  });

  it('is not made again once its time has ended, even if it ends during the pause before the repetition', async () => {
    stopTime();
    const [before, between] = [new AbortController(), new AbortController()];
    const call = vi.fn(() => Promise.reject(answered(500)));
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

it('an answer of the status 400 alone says that the condition of a write failed', () => {
  const failures = [400, 413, 500].map((status) => answered(status, 'ConditionalCheckFailedException'));
  expect(failures.map(isConditionFailed)).toEqual([true, false, false]);
});

function answered(status: number, name = 'SomeException'): Error {
  return new AwsRefusal(name, status);
}
