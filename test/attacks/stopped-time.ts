import { syncBuiltinESMExports } from 'node:module';
import promises from 'node:timers/promises';
import { vi } from 'vitest';

/** From now on time passes only in `run`: for Date, `hrtime`, timers, and sleeping by promise. */
export function stopTime(start: number): void {
  // A turn of the event loop takes no time.
  vi.useFakeTimers({ now: start, toNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask'] });
  // Vitest leaves `node:timers/promises` alone, of which the adapters hold a function by name.
  promises.setTimeout = async (ms = 0, value, { signal } = {}) => {
    await delay(ms, signal);
    return value as never;
  };
  syncBuiltinESMExports();
}

export function letTimeGoOn(): void {
  vi.useRealTimers();
  promises.setTimeout = sleep;
  syncBuiltinESMExports();
}

/** Lets everything run that needs no time: a file is read, although that ends when the machine has done it. */
export async function turn(): Promise<void> {
  for (let n = 0; n < 3; n = isReadingFiles() ? 0 : n + 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The SDK looks for its configuration before its first call. */
function isReadingFiles(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
}

/** Lets time pass until the work is done, and no further. */
export async function run<Result>(work: Promise<Result>): Promise<Result> {
  let isDone = false;
  const done = () => {
    isDone = true;
  };
  work.then(done, done);
  for (;;) {
    await turn();
    if (isDone) return work;
    if (vi.getTimerCount() === 0) throw new Error('the work waits for something that will never happen');
    await vi.advanceTimersToNextTimerAsync();
  }
}

/** `Infinity` never ends by itself. */
export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(resolve, ms);
    const stop = () => {
      clearTimeout(timer);
      reject(Object.assign(new Error('aborted'), { name: 'AbortError' }));
    };
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
  });
}

const { setImmediate } = globalThis;
const { setTimeout: sleep } = promises;
