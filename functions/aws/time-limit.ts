/**
 * Gives what the call gives, or throws `OutOfTime` once this process has run for `timeoutMs` without it. The signal then
 * tells the call to stop; whatever becomes of it is no longer of interest.
 */
export async function withTimeLimit<Result>(
  timeoutMs: number,
  call: (abortSignal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const abort = new AbortController();
  const countdown = startCountdown(timeoutMs);
  try {
    // A race, because an SDK heeds the signal while it sends and waits, but not while it looks for credentials.
    return await Promise.race([call(abort.signal), countdown.end]);
  } catch (error) {
    abort.abort();
    throw error;
  } finally {
    countdown.stop();
  }
}

export class OutOfTime extends Error {
  override readonly name = 'OutOfTime';
}

/**
 * Counts in parts: however long the process had no processor, or was frozen, that counts as one part. Before each part
 * the process has looked for what arrived meanwhile, and the last part is as short as can be, so an answer that is there
 * already is not taken for too late.
 */
function startCountdown(timeoutMs: number) {
  const end = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  let leftMs = timeoutMs;

  const next = () => {
    if (leftMs <= 0) return end.reject(new OutOfTime());
    const partMs = leftMs > LAST_PART_MS ? Math.min(PART_MS, leftMs - LAST_PART_MS) : leftMs;
    leftMs -= partMs;
    timer = setTimeout(next, partMs);
  };
  next();
  return { end: end.promise, stop: () => clearTimeout(timer) };
}

const PART_MS = 25;
const LAST_PART_MS = 1;
