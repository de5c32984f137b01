import { failure } from './error.ts';

/** The limits of a caller that waits. */
export interface Waiting {
  readonly signal?: AbortSignal | undefined;
  /** Epoch milliseconds. */
  readonly deadline: number;
}

/** The limits of work that callers wait for. */
export interface WorkLimits {
  readonly signal: AbortSignal;
  /** Epoch milliseconds. Moves later when a caller with a later deadline joins. */
  readonly deadline: () => number;
}

interface Flight<Value> {
  readonly outcome: Promise<Value>;
  readonly waiting: Set<Waiting>;
  readonly controller: AbortController;
}

/** Runs work once per key at a time, until the latest deadline of its callers or until no caller waits. */
export function createSingleFlight<Value>(now: () => number) {
  const flights = new Map<string, Flight<Value>>();

  function start(key: string, work: (limits: WorkLimits) => Promise<Value>, first: Waiting): Flight<Value> {
    const controller = new AbortController();
    const waiting = new Set([first]);
    const deadline = () => Math.max(...[...waiting].map((caller) => caller.deadline));
    const outcome = work({ signal: controller.signal, deadline }).finally(() => remove(key, flight));
    const flight = { outcome, waiting, controller };
    flights.set(key, flight);
    return flight;
  }

  function remove(key: string, flight: Flight<Value>): void {
    if (flights.get(key) === flight) flights.delete(key);
  }

  return {
    /** Returns the outcome of the work that runs under the key. */
    running: (key: string) => flights.get(key)?.outcome,
    /** Joins the work under the key, or starts it. @throws TokenBrokerError `aborted`, `timeout`, or the work's own */
    join: (key: string, caller: Waiting, work: (limits: WorkLimits) => Promise<Value>) =>
      within(now, caller, async ({ signal }) => {
        const flight = flights.get(key) ?? start(key, work, caller);
        flight.waiting.add(caller);
        const leave = () => {
          flight.waiting.delete(caller);
          if (flight.waiting.size > 0) return;
          // This work is ending, so a new caller must start anew.
          remove(key, flight);
          flight.controller.abort();
        };
        signal.addEventListener('abort', leave, { once: true });
        return flight.outcome;
      }),
  };
}

/**
 * Runs work until its caller stops waiting. A signal then asks the work to stop. Work that ignores the signal is
 * abandoned, without a timer or a listener.
 *
 * @throws TokenBrokerError `aborted` or `signal-timeout`, with the signal's reason as the cause, or `timeout`
 */
export async function within<T>(
  now: () => number,
  { signal, deadline }: Waiting,
  work: (limits: WorkLimits) => Promise<T>,
): Promise<T> {
  const timeoutMs = deadline - now();
  if (signal?.aborted) throw abortOf(signal.reason);
  if (timeoutMs <= 0) throw failure('timeout', 'the deadline has passed');

  const stop = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    stop.signal.addEventListener('abort', () => reject(stop.signal.reason));
  });
  const abort = () => stop.abort(abortOf(signal?.reason));
  signal?.addEventListener('abort', abort);
  const timer = setTimeout(() => stop.abort(failure('timeout', `${timeoutMs} ms`)), Math.min(timeoutMs, MAX_TIMER_MS));
  try {
    return await Promise.race([stopped, work({ signal: stop.signal, deadline: () => deadline })]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Only the reason of `AbortSignal.timeout` has this name. */
function abortOf(cause: unknown): Error {
  return failure(Object(cause).name === 'TimeoutError' ? 'signal-timeout' : 'aborted', '', { cause });
}

/** Node's timers fire at once beyond this limit. */
const MAX_TIMER_MS = 2 ** 31 - 1;
