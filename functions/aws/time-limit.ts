/** How a call that has a time limit learns of it. */
export interface CallLimits {
  /** Tells the call to stop whatever is still under way of it. */
  readonly abortSignal: AbortSignal;
  readonly timeoutMs: number;
  /** Its connection has just answered, so it is alive: a second call beside this one would only be a burden. */
  readonly isConnected?: boolean;
}

/**
 * Gives what the call gives, or throws `OutOfTime` once this process has run for `timeoutMs` without it, or `clockMs` have
 * passed on the clock, however little of them the process could use; without any time the call is not made. The signal
 * ends what is left of the call, also after an answer; whatever becomes of it is no longer of interest.
 */
export async function withTimeLimit<Result>(
  timeoutMs: number,
  call: (abortSignal: AbortSignal, limits: CallLimits) => Promise<Result>,
  clockMs = Infinity,
): Promise<Result> {
  const restMs = Math.min(timeoutMs, clockMs);
  if (restMs <= 0) throw new OutOfTime();
  const abort = new AbortController();
  const countdown = startCountdown(restMs, monotonicMs() + clockMs);
  try {
    // A race, because an SDK heeds the signal while it sends and waits, but not while it looks for credentials.
    return await Promise.race([call(abort.signal, { abortSignal: abort.signal, timeoutMs: restMs }), countdown.end]);
  } finally {
    countdown.stop();
    abort.abort(OVER);
  }
}

/** Waits for the work as long as the clock says; what comes later is lost, and `undefined` is what there is. */
export async function inTime<Result>(clockMs: number, work: Promise<Result>): Promise<Result | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(late.resolve, Math.max(0, clockMs), undefined);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

export class OutOfTime extends Error {
  override readonly name = 'OutOfTime';
}

/** Made once: what a signal that is given no reason makes by itself takes a stack each time, and every call ends one. */
const OVER = new OutOfTime();

/**
 * Counts in parts: however long the process had no processor, or was frozen, that counts as one part. Before each part
 * the process has looked for what arrived meanwhile, and the last part is as short as can be, so an answer that is there
 * already is not taken for too late. The end on the clock holds whatever the process could do.
 */
function startCountdown(timeoutMs: number, clockEnd: number) {
  const end = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  let leftMs = timeoutMs;

  const next = () => {
    leftMs = Math.min(leftMs, clockEnd - monotonicMs());
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

/** A clock that nobody sets. That of `performance` would do, but costs a start the loading of another module of Node. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}
