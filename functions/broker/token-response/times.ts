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

/** Reads numbers, also as text, lengths such as `1h30m`, and dates. Returns `undefined` for no time: `null`, `""`. */
export function readTime(value: unknown, meaning: ExpiryMeaning): ReadTime | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  if (typeof value === 'number') return readNumber(value, meaning);
  if (typeof value !== 'string' || value.length > MAX_TEXT_LENGTH) return UNREADABLE;
  // .NET writes such a date, and like Go an unset time as the first day of the year 1. MySQL's is the year 0.
  const text = value.trim().replace(/^\/Date\((\d+)(?:[+-]\d{4})?\)\/$/, '$1');
  if (text === '' || /^000[01]-/.test(text)) return undefined;
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return readNumber(Number(text), meaning);
  // Days, hours and minutes. Two digits of days could be hours, minutes and seconds.
  const units = text.replace(/^(\d):([01]\d|2[0-3]):([0-5]\d)$/, '$1d$2h$3m');
  const [isLength, days = 0, hours = 0, minutes = 0, seconds = 0] = LENGTH.exec(units) ?? [];
  if (isLength === undefined) return readDate(text);
  return lengthOf((((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)) * SECOND_MS);
}

/** `3600 seconds`, `1h30m0.5s` as Go writes it, `PT1H` of ISO 8601. */
const LENGTH =
  /^p?(?=[t ]?\d)(?:(\d+) ?d(?:ays?)?)?[ t]?(?:(\d+) ?h(?:ours?)?)? ?(?:(\d+) ?m(?:in(?:ute)?s?)?)? ?(?:(\d+(?:\.\d+)?) ?s(?:ec(?:ond)?s?)?)?$/i;

const MAX_TEXT_LENGTH = 64;

/** Returns the epoch milliseconds of a moment that cannot be a length, or `undefined` for any other value. */
export function readMoment(value: unknown): number | undefined {
  if (typeof value === 'number' && value < FIRST_EPOCH_SECONDS) return value * SECOND_MS;
  const { ms, isMoment, isLocal } = readTime(value, { isMoment: true, unitMs: SECOND_MS }) ?? UNREADABLE;
  return isMoment && !isLocal && !Number.isNaN(ms) ? ms : undefined;
}

/** Reads a number that is too large for a length as a moment. As a length, 10⁹ seconds are 31 years. */
function readNumber(number: number, { isMoment, unitMs }: ExpiryMeaning): ReadTime {
  if (!Number.isFinite(number)) return UNREADABLE;
  const compact = readCompact(number);
  if (!Number.isNaN(compact.ms)) return compact;
  if (number >= FIRST_EPOCH_NANOSECONDS) return momentOf(number / 1e6);
  if (number >= FIRST_EPOCH_MICROSECONDS) return momentOf(number / 1e3);
  if (number >= FIRST_EPOCH_MILLISECONDS) return momentOf(number);
  const isEpoch = number >= FIRST_EPOCH_SECONDS && (isMoment || unitMs >= SECOND_MS);
  return isEpoch ? momentOf(number * SECOND_MS) : lengthOf(number * unitMs);
}

/** Reads the digits of a date, such as 20260101 or 20260101003000, as a moment without a time zone. */
function readCompact(number: number): ReadTime {
  const [isCompact, year, month, day, hours = '00', minutes = '00', seconds = '00'] = COMPACT.exec(`${number}`) ?? [];
  return isCompact ? readDate(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}`) : UNREADABLE;
}

const SECOND_MS = 1_000;
const FIRST_EPOCH_SECONDS = 1e9;
/** The year 33 658 in seconds, and the year 2001 in milliseconds. */
const FIRST_EPOCH_MILLISECONDS = 1e12;
/** The year 2001, too. */
const FIRST_EPOCH_MICROSECONDS = 1e15;
const FIRST_EPOCH_NANOSECONDS = 1e18;
const COMPACT = /^((?:19|20)\d\d)(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?$/;

/** Reads dates as services write them: ISO 8601 and those of HTTP. A date without a time is its first moment. */
function readDate(text: string): ReadTime {
  if (AMBIGUOUS.test(text)) return { ...UNREADABLE, isLocal: true };
  const { groups = {} } = DATES.map((form) => form.exec(text)).find((match) => match !== null) ?? {};
  const { date, day, month, year, time = '00:00', zone } = groups;
  const monthNumber = MONTHS.indexOf(month?.toLowerCase() ?? '') + 1;
  // RFC 850 writes two digits of the year. From 80 on they are of the last century.
  const fullYear = year?.padStart(4, Number(year) < 80 ? '20' : '19');
  const isoDate = date ?? (day && `${fullYear}-${String(monthNumber).padStart(2, '0')}-${day.padStart(2, '0')}`);
  const offset = zone?.replace(/^[a-z]+$/i, 'Z').replace(/^([+-]\d\d)$/, '$1:00') ?? 'Z';
  const ms = isoDate ? Date.parse(`${isoDate}T${time}${offset}`) : Number.NaN;
  return { ...momentOf(ms), isLocal: zone === undefined && !Number.isNaN(ms) };
}

/** A date in the style of a country, whose order of day and month is unknown, and which names no zone. */
const AMBIGUOUS =
  /^(?:\d\d?[/.-]\d\d?[/.-]\d{4}|\d{4}\/\d\d?\/\d\d?|[a-z]{3,9} \d\d?, \d{4})(?:,? \d\d?:[\d:.]+(?:\s[ap]m)?)?$/i;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** The name of a zone may follow its offset (RFC 9557, Go). */
const ZONE = String.raw`(?: ?(?<zone>z|utc?|gmt|[+-]\d\d(?::?\d\d)?)(?: [a-z]{3,5}|\[[\w/+-]+\])?)?`;
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = String.raw`(?<time>\d\d:\d\d(?::\d\d)?)`;
/** ISO 8601, RFC 1123 and RFC 850, and the form of `asctime`, in which Java also names a zone. */
const DATES = [
  String.raw`^(?<date>\d{4}-\d\d-\d\d)(?:[t ](?<time>\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)${ZONE})?$`,
  String.raw`^(?:[a-z]{3,9}, ?)?(?<day>\d{1,2})[ -]${MONTH}[ -](?<year>\d{4}|\d\d) ${TIME}${ZONE}$`,
  String.raw`^[a-z]{3} ${MONTH} {1,2}(?<day>\d{1,2}) ${TIME}${ZONE} (?<year>\d{4})$`,
].map((form) => new RegExp(form, 'i'));
