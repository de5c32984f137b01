import type { ExpiryMeaning } from './names.ts';

/** The time in a number or a text. NaN: it cannot be read. */
export type ToldTime =
  /** A length counts from the start of the request, because the service may have issued the token at any time since. */
  | { readonly lengthMs: number }
  /** A moment in epoch milliseconds, by the service's clock. */
  | { readonly moment: number };

/** Reads numbers, also as text, ISO 8601 and `D:HH:MM`. Returns `undefined` for `null`, `false`, `""`. */
export function readTime(value: unknown, meaning: ExpiryMeaning): ToldTime | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  if (typeof value === 'number') return readNumber(value, meaning);
  if (typeof value !== 'string' || value.length > MAX_TEXT_LENGTH) return { moment: Number.NaN };
  const text = value.trim();
  if (text === '') return undefined;
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return readNumber(Number(text), meaning);
  // Two digits of days could be hours, minutes and seconds.
  const [isLength, days, hours, minutes] = /^(\d):([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (isLength === undefined) return { moment: readDateTime(text) };
  return { lengthMs: ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 * SECOND_MS };
}

const MAX_TEXT_LENGTH = 64;

/** Reads a number that is too large for a length as a moment. As a length, 10⁹ seconds are 31 years. */
function readNumber(number: number, { isMoment, unitMs }: ExpiryMeaning): ToldTime {
  if (!Number.isFinite(number)) return { moment: Number.NaN };
  if (number >= FIRST_EPOCH_MILLISECONDS) return { moment: number };
  const isEpoch = number >= FIRST_EPOCH_SECONDS && (isMoment || unitMs >= SECOND_MS);
  return isEpoch ? { moment: number * SECOND_MS } : { lengthMs: number * unitMs };
}

const SECOND_MS = 1_000;
const FIRST_EPOCH_SECONDS = 1e9;
/** The year 33 658 in seconds, and the year 2001 in milliseconds. */
export const FIRST_EPOCH_MILLISECONDS = 1e12;

/** Reads ISO 8601 as services write it. A time without a zone is UTC. A date without a time is its first moment. */
function readDateTime(text: string): number {
  const [, date, time = '00:00', zone = 'Z'] = ISO_8601.exec(text.toUpperCase()) ?? [];
  const offset = zone.length === '+01'.length ? `${zone}00` : zone;
  return date === undefined ? Number.NaN : Date.parse(`${date}T${time}${offset}`);
}

const ISO_8601 = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/;

/** Returns the epoch milliseconds of an HTTP date (RFC 9110 §5.6.7, not its obsolete forms), else NaN. */
export function parseHttpDate(text = ''): number {
  // Date.parse itself accepts nearly any text, and reads some texts in the machine's own time zone.
  return /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(text) ? Date.parse(text) : Number.NaN;
}
