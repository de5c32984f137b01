import { failure } from './error.ts';

/** How long somebody is ready to wait. */
export interface Limits {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
}

/**
 * Waits for work within limits; it gets a signal that tells it to stop. What does not stop is left behind, and neither
 * a timer nor a listener stays.
 *
 * @throws TokenBrokerError `aborted`, with the signal's reason as its cause, or `timeout`
 */
export function within<T>({ signal, timeoutMs }: Limits, work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  if (signal?.aborted) return Promise.reject(failure('aborted', '', { cause: signal.reason }));
  if (timeoutMs <= 0) return Promise.reject(failure('timeout', 'the deadline has passed'));

  const stop = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const giveUp = (error: Error) => {
      reject(error);
      stop.abort(error);
    };
    const abort = () => giveUp(failure('aborted', '', { cause: signal?.reason }));
    signal?.addEventListener('abort', abort, { once: true });
    const timer = setTimeout(() => giveUp(failure('timeout', `${timeoutMs} ms`)), Math.min(timeoutMs, MAX_TIMER_MS));

    const clear = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
    stop.signal.addEventListener('abort', clear, { once: true });
    work(stop.signal).then(resolve, reject).finally(clear);
  });
}

/** Beyond it, Node's timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
