import { isRecord, plainName } from './members.ts';

/** An expiry as an answer tells it: a length of time, a moment, nothing at all, or something that cannot be read. */
export type ExpiryValue =
  | { readonly kind: 'length'; readonly milliseconds: number }
  | { readonly kind: 'moment'; readonly time: number }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'unreadable' };

/**
 * Reads the value of a member or header that tells an expiry. Numbers, as such or as text:
 *
 * - from 10¹² on: the moment in epoch milliseconds, whatever the name
 * - from 10⁹ on: the moment in epoch seconds; but a length when the unit is milliseconds and the name tells no moment
 * - below: a length in `unitMs`. (As lengths, 10⁹ seconds are 31 years.)
 *
 * Other texts: a date and time in ISO 8601, or `D:HH:MM`. `null`, `false` and the empty text tell nothing.
 */
export function readExpiryValue(value: unknown, isMoment: boolean, unitMs: number): ExpiryValue {
  if (value === undefined || value === null || value === false) return { kind: 'nothing' };
  if (typeof value === 'number') return readNumber(value, isMoment, unitMs);
  if (typeof value !== 'string' || value.length > MAX_TEXT_LENGTH) return { kind: 'unreadable' };
  const text = value.trim();
  if (text === '') return { kind: 'nothing' };
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return readNumber(Number(text), isMoment, unitMs);
  return readDateTime(text) ?? readDaysHoursMinutes(text) ?? { kind: 'unreadable' };
}

const MAX_TEXT_LENGTH = 64;
const FIRST_EPOCH_SECONDS = 1e9;
/** As seconds this lies in the year 33 658, as milliseconds in 2001. */
const FIRST_EPOCH_MILLISECONDS = 1e12;

function readNumber(number: number, isMoment: boolean, unitMs: number): ExpiryValue {
  if (!Number.isFinite(number)) return { kind: 'unreadable' };
  if (number >= FIRST_EPOCH_MILLISECONDS) return { kind: 'moment', time: number };
  if (number >= FIRST_EPOCH_SECONDS && (isMoment || unitMs >= 1_000)) return { kind: 'moment', time: number * 1_000 };
  return { kind: 'length', milliseconds: number * unitMs };
}

/**
 * ISO 8601 as services write it: a date, or a date and time with a `T` or a space between, with or without seconds and
 * with any fraction. A time without a zone is taken as UTC, a date without a time as its first moment.
 */
function readDateTime(text: string): ExpiryValue | undefined {
  const iso = ISO_8601.exec(text);
  if (iso === null) return undefined;
  const [, date, minutes = '00:00', seconds = ':00', fraction = '', zone] = iso;
  const time = parseDate(`${date}T${minutes}${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}${offsetOf(zone)}`);
  return time === undefined ? undefined : { kind: 'moment', time };
}

const ISO_8601 = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?:(:\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

function offsetOf(zone = 'Z'): string {
  return /^[+-]/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}` : 'Z';
}

function parseDate(text: string): number | undefined {
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** `D:HH:MM`, with one digit of days: with two it could be hours, minutes and seconds. */
function readDaysHoursMinutes(text: string): ExpiryValue | undefined {
  const [, days, hours, minutes] = /^(\d):([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (days === undefined) return undefined;
  return { kind: 'length', milliseconds: ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * MINUTE_MS };
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** How the number of a member that tells an expiry is meant. */
export interface ExpiryName {
  /** Whether it is a moment (`expires_at`) rather than a length of time (`expires_in`). */
  readonly isMoment: boolean;
  /** The unit that the name itself tells: `expiresInMs`. */
  readonly unitMs: number | undefined;
}

/**
 * What a member's name says of a token's expiry, undefined when it says nothing: `expires_in`, `ttl`, `validFor`,
 * `expires_at`, `validUntil`, `exp` …, in all spellings, also with the token's name before (`accessTokenExpiresAt`) or a
 * unit behind (`expiresInMs`). `refresh_expires_in` and `ext_expires_in` are of other tokens and other times.
 */
export function expiryNameOf(name: string): ExpiryName | undefined {
  const bare = plainName(name).replace(TOKEN_PREFIX, '');
  if (LENGTHS.has(bare)) return { isMoment: false, unitMs: undefined };
  if (MOMENTS.has(bare)) return { isMoment: true, unitMs: undefined };
  const [, stem = '', unit = ''] = UNIT_SUFFIX.exec(bare) ?? [];
  return LENGTHS.has(stem) || MOMENTS.has(stem) ? { isMoment: MOMENTS.has(stem), unitMs: UNITS_MS[unit] } : undefined;
}

/**
 * The same for a response header: `expires-in`, `x-expires-at`, and what names the token (`x-token-expiry`,
 * `x-auth-token-ttl`). `expires` and `cache-control` say how long a cache may keep the answer (RFC 9111 §5), not how
 * long the token lives.
 */
export function expiryHeaderOf(header: string): ExpiryName | undefined {
  const name = plainName(header).replace(/^x/, '');
  return name === 'expiresin' || name === 'expiresat' || TOKEN_PREFIX.test(name) ? expiryNameOf(name) : undefined;
}

const TOKEN_PREFIX = /^(?:(?:access|api|auth|bearer|security|session)?token|access|auth|jwt|session)/;
const UNIT_SUFFIX = /^(.+?)(?:in)?(ms|millis|milliseconds|secs?|seconds|mins?|minutes|hours|days)$/;

const UNITS_MS: Readonly<Record<string, number>> = {
  ...{ ms: 1, millis: 1, milliseconds: 1 },
  ...{ sec: SECOND_MS, secs: SECOND_MS, seconds: SECOND_MS },
  ...{ min: MINUTE_MS, mins: MINUTE_MS, minutes: MINUTE_MS },
  ...{ hours: HOUR_MS, days: DAY_MS },
};

const LENGTHS: ReadonlySet<string> = new Set([
  ...['expiresin', 'expirein', 'expiryin', 'expirationin', 'expiresafter', 'expireafter', 'expires', 'expire'],
  ...['expiry', 'expiration', 'ttl', 'timetolive', 'validfor', 'validityperiod', 'lifetime', 'lifespan', 'maxage'],
  ...['timetoexpire', 'secondstoexpire', 'secondstoexpiry', 'secondsuntilexpiry'],
]);

const MOMENTS: ReadonlySet<string> = new Set([
  ...['expiresat', 'expireat', 'expiryat', 'expireson', 'expireon', 'expirydate', 'expirationdate', 'expiredate'],
  ...['expiresdate', 'expirationtime', 'expirytime', 'expiretime', 'expirydatetime', 'expirationdatetime'],
  ...['expirytimestamp', 'expirationtimestamp', 'expiresutc', 'expirationutc', 'validuntil', 'validtill', 'validto'],
  ...['notafter', 'exp'],
]);

/** What a JWT says of itself. */
export interface Jwt {
  /** Its `exp`, in epoch milliseconds. */
  readonly expiresAt: number | undefined;
}

/**
 * Reads a signed JWT, undefined when the text is none. The signature is not verified: the token came straight from its
 * service, and its `exp` only ever shortens what the broker does with it.
 *
 * @see RFC 7519 §4.1.4, RFC 7515 §7.1
 */
export function readJwt(text: string): Jwt | undefined {
  const parts = text.split('.', 4);
  if (parts.length !== 3) return undefined;
  const [header, claims] = parts.slice(0, 2).map(decodeMembers);
  if (typeof header?.alg !== 'string' || claims === undefined) return undefined;
  return { expiresAt: numericDateMs(claims.exp) };
}

function decodeMembers(base64url: string): Readonly<Record<string, unknown>> | undefined {
  try {
    // One character per byte instead of UTF-8: the numbers and names that are looked for are the same.
    const decoded: unknown = JSON.parse(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')));
    return isRecord(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 7519 says seconds; issuers that write milliseconds exist, and as seconds those would never expire. */
function numericDateMs(claim: unknown): number | undefined {
  if (typeof claim !== 'number' || !Number.isFinite(claim)) return undefined;
  return claim >= FIRST_EPOCH_MILLISECONDS ? claim : claim * 1_000;
}

/**
 * The epoch milliseconds of an HTTP date in any of its three forms, undefined for everything else.
 *
 * @see RFC 9110 §5.6.7
 */
export function parseHttpDate(text: string): number | undefined {
  if (IMF_FIXDATE.test(text) || RFC_850_DATE.test(text)) return parseDate(text);
  return ASCTIME_DATE.test(text) ? parseDate(`${text} GMT`) : undefined;
}

// Date.parse alone would accept nearly any text, and read some of it in the machine's own time zone.
const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const RFC_850_DATE = /^[A-Z][a-z]{2,5}day, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;
