import { isRecord } from '../json.ts';
import { plainName } from './body.ts';

/**
 * The moment of expiry that a member or header tells, in epoch milliseconds; undefined when it tells nothing (`null`,
 * `false`, an empty text), NaN when it cannot be read. Numbers, as such or as text:
 *
 * - from 10¹² on: the moment in epoch milliseconds, under any name
 * - from 10⁹ on: the moment in epoch seconds; but a length when the unit is milliseconds and the name tells no moment
 * - below: a length in `unitMs`. (As lengths, 10⁹ seconds are 31 years.)
 *
 * Other texts: a date and time in ISO 8601, or `D:HH:MM`.
 */
export function readExpiryValue(value: unknown, meaning: ExpiryMeaning, clock: Clock): number | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  if (typeof value === 'number') return readNumber(value, meaning, clock);
  if (typeof value !== 'string' || value.length > MAX_TEXT_LENGTH) return Number.NaN;
  const text = value.trim();
  if (text === '') return undefined;
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return readNumber(Number(text), meaning, clock);
  const lengthMs = readDaysHoursMinutes(text);
  return Number.isNaN(lengthMs) ? readDateTime(text) + clock.offsetMs : clock.requestStartedAt + lengthMs;
}

/** By which moments an answer is read, in epoch milliseconds. */
export interface Clock {
  readonly requestStartedAt: number;
  /** What turns a moment by the service's clock into one by this clock. */
  readonly offsetMs: number;
}

/** How the number of a member that tells an expiry is meant. */
export interface ExpiryMeaning {
  /** Whether it is a moment (`expires_at`) rather than a length of time (`expires_in`). */
  readonly isMoment: boolean;
  readonly unitMs: number;
}

const MAX_TEXT_LENGTH = 64;

function readNumber(number: number, { isMoment, unitMs }: ExpiryMeaning, clock: Clock): number {
  if (!Number.isFinite(number)) return Number.NaN;
  if (number >= FIRST_EPOCH_MILLISECONDS) return number + clock.offsetMs;
  const isEpoch = number >= FIRST_EPOCH_SECONDS && (isMoment || unitMs >= SECOND_MS);
  return isEpoch ? number * SECOND_MS + clock.offsetMs : clock.requestStartedAt + number * unitMs;
}

const FIRST_EPOCH_SECONDS = 1e9;
/** As seconds this lies in the year 33 658, as milliseconds in 2001. */
const FIRST_EPOCH_MILLISECONDS = 1e12;

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `D:HH:MM`, with one digit of days: with two it could be hours, minutes and seconds. */
function readDaysHoursMinutes(text: string): number {
  const [, days, hours, minutes] = /^(\d):([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  return Number(days) * DAY_MS + Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS;
}

/**
 * ISO 8601 as services write it: a date, or a date and time with a `T` or a space between, with or without seconds and
 * with any fraction. A time without a zone is taken as UTC, a date without a time as its first moment.
 */
function readDateTime(text: string): number {
  const [, date, time = '00:00', zone = 'Z'] = ISO_8601.exec(text.toUpperCase()) ?? [];
  const offset = zone.length === '+01'.length ? `${zone}00` : zone;
  return date === undefined ? Number.NaN : Date.parse(`${date}T${time.replace(',', '.')}${offset}`);
}

const ISO_8601 = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/;

/**
 * What a member's name says of a token's expiry, undefined when it says nothing: `expires_in`, `ttl`, `validFor`,
 * `expires_at`, `validUntil`, `exp` …, in all spellings, also with the token's name before (`accessTokenExpiresAt`) or a
 * unit behind (`expiresInMs`). `refresh_expires_in` and `ext_expires_in` are of other tokens and other times.
 */
export function expiryNameOf(name: string): ExpiryMeaning | undefined {
  const bare = plainName(name).replace(TOKEN_PREFIX, '');
  const [, stem = bare, unit = ''] = UNIT_SUFFIX.exec(bare) ?? [];
  const isMoment = MOMENTS.has(stem);
  return isMoment || LENGTHS.has(stem) ? { isMoment, unitMs: UNITS_MS[unit] ?? SECOND_MS } : undefined;
}

/**
 * The same for a response header: `expires-in`, `x-expires-at`, and what names the token (`x-token-expiry`,
 * `x-auth-token-ttl`). `expires` and `cache-control` are of the answer, not of the token (RFC 9111 §5).
 */
export function expiryHeaderOf(header: string): ExpiryMeaning | undefined {
  const name = plainName(header).replace(/^x/, '');
  return name === 'expiresin' || name === 'expiresat' || TOKEN_PREFIX.test(name) ? expiryNameOf(name) : undefined;
}

const TOKEN_PREFIX = /^(?:(?:access|api|auth|bearer|security|session)?token|access|auth|jwt|session)/;
const UNIT_SUFFIX = /^(.+?)(?:in)?(ms|millis|milliseconds|secs?|seconds|mins?|minutes|hours|days)$/;

const UNITS_MS: Readonly<Record<string, number>> = {
  ...{ ms: 1, millis: 1, milliseconds: 1 },
  ...{ min: MINUTE_MS, mins: MINUTE_MS, minutes: MINUTE_MS },
  ...{ hours: HOUR_MS, days: DAY_MS },
};

/** What a name that says nothing of an expiry means. */
export const SECONDS: ExpiryMeaning = { isMoment: false, unitMs: SECOND_MS };

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

/**
 * Reads a signed JWT, undefined when the text is none; `expiresAt` is its `exp` in epoch milliseconds. The signature is
 * not verified: the token came straight from its service, and its `exp` only shortens what the broker does with it.
 *
 * @see RFC 7519 §4.1.4, RFC 7515 §7.1
 */
export function readJwt(text: string): { readonly expiresAt: number | undefined } | undefined {
  const parts = text.split('.', 4);
  if (parts.length !== 3) return undefined;
  const [header, claims] = parts.slice(0, 2).map(decodeMembers);
  if (typeof header?.alg !== 'string' || claims === undefined) return undefined;
  const { exp } = claims;
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return { expiresAt: undefined };
  // Issuers that write milliseconds exist, and as seconds those would never expire.
  return { expiresAt: exp >= FIRST_EPOCH_MILLISECONDS ? exp : exp * SECOND_MS };
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

/** The epoch milliseconds of an HTTP date in any of its three forms (RFC 9110 §5.6.7), NaN for everything else. */
export function parseHttpDate(text = ''): number {
  // Date.parse alone would accept nearly any text, and read some of it in the machine's own time zone.
  if (ASCTIME_DATE.test(text)) return Date.parse(`${text} GMT`);
  return IMF_FIXDATE.test(text) || RFC_850_DATE.test(text) ? Date.parse(text) : Number.NaN;
}

const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const RFC_850_DATE = /^[A-Z][a-z]{2,5}day, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;
