import type { ExpiryMeaning } from './names.ts';

/** The time in a number or a text: a length, or a moment by the service's clock, in (epoch) milliseconds. */
export interface ReadTime {
  /** NaN: it cannot be read. */
  readonly ms: number;
  readonly isMoment: boolean;
  /** A moment without a time zone, read as UTC. */
  readonly isLocal?: boolean;
}

const lengthOf = (ms: number): ReadTime => ({ ms, isMoment: false });
const momentOf = (ms: number): ReadTime => ({ ms, isMoment: true });
const UNREADABLE = momentOf(Number.NaN);

/** Reads numbers, also as text, dates and `D:HH:MM`. Returns `undefined` for `null`, `false`, `""`. */
export function readTime(value: unknown, meaning: ExpiryMeaning): ReadTime | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  if (typeof value === 'number') return readNumber(value, meaning);
  if (typeof value !== 'string' || value.length > MAX_TEXT_LENGTH) return UNREADABLE;
  const text = value.trim();
  if (text === '') return undefined;
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return readNumber(Number(text), meaning);
  // Two digits of days could be hours, minutes and seconds.
  const [isLength, days, hours, minutes] = /^(\d):([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (isLength === undefined) return readDate(text);
  return lengthOf(((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 * SECOND_MS);
}

const MAX_TEXT_LENGTH = 64;

/** Reads a number that is too large for a length as a moment. As a length, 10⁹ seconds are 31 years. */
function readNumber(number: number, { isMoment, unitMs }: ExpiryMeaning): ReadTime {
  if (!Number.isFinite(number)) return UNREADABLE;
  if (number >= FIRST_EPOCH_MILLISECONDS) return momentOf(number);
  const isEpoch = number >= FIRST_EPOCH_SECONDS && (isMoment || unitMs >= SECOND_MS);
  return isEpoch ? momentOf(number * SECOND_MS) : lengthOf(number * unitMs);
}

const SECOND_MS = 1_000;
const FIRST_EPOCH_SECONDS = 1e9;
/** The year 33 658 in seconds, and the year 2001 in milliseconds. */
export const FIRST_EPOCH_MILLISECONDS = 1e12;

/** Reads dates as services write them: ISO 8601 and RFC 1123. A date without a time is its first moment. */
function readDate(text: string): ReadTime {
  const { date, day, month, year, time = '00:00', zone } = (ISO_8601.exec(text) ?? RFC_1123.exec(text))?.groups ?? {};
  const monthNumber = MONTHS.indexOf(month?.toLowerCase() ?? '') + 1;
  const isoDate = date ?? (day && `${year}-${String(monthNumber).padStart(2, '0')}-${day.padStart(2, '0')}`);
  const offset = zone?.replace(/^[a-z]+$/i, 'Z').replace(/^([+-]\d\d)$/, '$1:00') ?? 'Z';
  const ms = isoDate ? Date.parse(`${isoDate}T${time}${offset}`) : Number.NaN;
  return { ...momentOf(ms), isLocal: zone === undefined && !Number.isNaN(ms) };
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const ZONE = String.raw`(?: ?(?<zone>z|utc?|gmt|[+-]\d\d(?::?\d\d)?))?`;
const ISO_8601 = new RegExp(
  String.raw`^(?<date>\d{4}-\d\d-\d\d)(?:[t ](?<time>\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)${ZONE})?$`,
  'i',
);
const RFC_1123 = new RegExp(
  String.raw`^(?:[a-z]{3}, ?)?(?<day>\d{1,2})[ -](?<month>${MONTHS.join('|')})[ -](?<year>\d{4}) (?<time>\d\d:\d\d(?::\d\d)?)${ZONE}$`,
  'i',
);

/** Returns the epoch milliseconds of an HTTP date (RFC 9110 §5.6.7, not its obsolete forms), else NaN. */
export function parseHttpDate(text = ''): number {
  // Date.parse itself accepts nearly any text, and reads some texts in the machine's own time zone.
  return /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(text) ? Date.parse(text) : Number.NaN;
}
