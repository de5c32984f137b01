/**
 * Gives what the call gives, or throws `OutOfTime` after `timeoutMs`. The signal then tells the call to stop; whatever
 * becomes of it is no longer of interest.
 */
export async function withTimeLimit<Result>(
  timeoutMs: number,
  call: (abortSignal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new OutOfTime()), timeoutMs);
  });
  try {
    // A race, because an SDK heeds the signal while it sends and waits, but not while it looks for credentials.
    return await Promise.race([call(abort.signal), limit]);
  } catch (error) {
    abort.abort();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

class OutOfTime extends Error {
  override readonly name = 'OutOfTime';
}
