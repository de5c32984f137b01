import { parseHttpDate } from './date-time.ts';

/**
 * The whole seconds that a `retry-after` header asks to wait, at most 300. Both forms are read, seconds and HTTP date;
 * zero, a date that has passed and nonsense ask for nothing.
 *
 * @see RFC 9110 §10.2.3
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : secondsUntil(parseHttpDate(header), now);
  return seconds !== undefined && seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) : undefined;
}

/** A service that asks for hours would stop a pair for hours after a short incident. */
const MAX_RETRY_AFTER_SECONDS = 300;

function secondsUntil(time: number | undefined, now: number): number | undefined {
  return time === undefined ? undefined : Math.ceil((time - now) / 1_000);
}
