import type { ExpirySource } from '../../vocabulary.ts';
import { parseJsonObject } from '../json.ts';
import type { Service } from '../service.ts';
import { type FoundToken, memberAt, type PrintPath, plainName, type TokenResponse, UnusableAnswer } from './body.ts';

/**
 * Reads when a token expires. The earliest expiry counts, of the `exp` of a JWT and of `lifetimeMember`. If that is not
 * set, the members next to and around the token and the headers count instead. The settings are the fallback.
 *
 * @see RFC 6749 §5.1 (`expires_in`), RFC 7519 §4.1.4 (`exp`), RFC 9110 §6.6.1 (`date`)
 * @throws UnusableAnswer when the expiry cannot be read, or has passed
 */
export function readExpiry(answer: AnsweredToken, times: RequestTimes, service: Service): Expiry {
  const { requestStartedAt, receivedAt } = times;
  const serviceDate = parseHttpDate(answer.headers.date);
  // A length counts from the start of the request, because the service may have issued the token at any time since. A
  // moment is relative to the answer's own date, because the service's clock may be wrong.
  const clock = { requestStartedAt, offsetMs: Number.isNaN(serviceDate) ? 0 : requestStartedAt - serviceDate };
  const claims = claimsOfAnswer(answer, clock, service);
  const exp = readJwt(answer.token.value)?.expiresAt;
  if (exp !== undefined) {
    claims.push({ where: 'its own `exp` (JWT)', expiresAt: exp + clock.offsetMs, expirySource: 'jwt' });
  }
  const { tokenLifetimeSeconds, assumedLifetimeSeconds, maxLifetimeSeconds } = service;
  const bySettings: ExpiryClaim = {
    where: 'the settings',
    expiresAt: requestStartedAt + (tokenLifetimeSeconds ?? assumedLifetimeSeconds) * SECOND_MS,
    expirySource: tokenLifetimeSeconds === undefined ? 'assumed' : 'configured',
  };
  const [earliest = bySettings] = claims.sort((a, b) => a.expiresAt - b.expiresAt);
  const latest = requestStartedAt + maxLifetimeSeconds * SECOND_MS;
  const expiresAt = Math.floor(Math.min(earliest.expiresAt, latest));
  if (expiresAt > receivedAt) return { expiresAt, expirySource: earliest.expirySource };
  throw new UnusableAnswer(
    `by ${earliest.where} the token had expired when it arrived. ` +
      "If this is wrong, compare the service's clock with the broker's, and the unit with response.lifetimeUnit.",
  );
}

interface AnsweredToken {
  readonly token: FoundToken;
  readonly body: unknown;
  readonly headers: TokenResponse['headers'];
  readonly print: PrintPath;
}

/** The times when the token request was sent and when its answer was complete, in epoch milliseconds. */
export interface RequestTimes {
  readonly requestStartedAt: number;
  readonly receivedAt: number;
}

export interface Expiry {
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly expirySource: ExpirySource;
}

/** The expiry according to a member, a header or a setting. */
interface ExpiryClaim extends Expiry {
  readonly where: string;
}

/** The reference times of an answer. Adding the offset converts the service's clock to the clock of this instance. */
interface Clock {
  readonly requestStartedAt: number;
  readonly offsetMs: number;
}

/** Ignores an unreadable member only when another member is readable, or when `tokenLifetimeSeconds` is set. */
function claimsOfAnswer(answer: AnsweredToken, clock: Clock, service: Service): ExpiryClaim[] {
  const { lifetimeMember, lifetimeUnit } = service.response;
  const told = candidatesOf(answer, lifetimeMember).flatMap(({ path, value, meaning }): readonly ExpiryClaim[] => {
    if (meaning === undefined) return [];
    // The setting defines the unit. The name only suggests a unit.
    const unitMs = lifetimeUnit === 'milliseconds' ? 1 : meaning.unitMs;
    const expiresAt = readExpiryValue(value, { ...meaning, unitMs }, clock);
    return expiresAt === undefined ? [] : [{ where: `\`${answer.print(path)}\``, expiresAt, expirySource: 'response' }];
  });
  const claims = told.filter(({ expiresAt }) => !Number.isNaN(expiresAt));
  if (claims.length > 0) return claims;
  if (lifetimeMember !== undefined) {
    throw new UnusableAnswer(
      'response.lifetimeMember names a member that is missing or contains no readable life time.',
    );
  }
  const [unreadable] = told;
  if (unreadable === undefined || service.tokenLifetimeSeconds !== undefined) return [];
  const advice = 'name another in response.lifetimeMember, or set tokenLifetimeSeconds.';
  throw new UnusableAnswer(`the life time in ${unreadable.where} cannot be read; ${advice}`);
}

/** Returns members and headers with their unread values, each with the meaning of its name. */
function candidatesOf({ token, body, headers }: AnsweredToken, lifetimeMember: string | undefined) {
  if (lifetimeMember !== undefined) {
    const member = memberAt(body, lifetimeMember);
    return member === undefined ? [] : [{ ...member, meaning: expiryNameOf(member.path.at(-1) ?? '') ?? SECONDS }];
  }
  const inBody = token.around.flatMap(({ path, members }) =>
    Object.entries(members).map(([name, value]) => ({ path: [...path, name], value, meaning: expiryNameOf(name) })),
  );
  const ofHeader = ([name, value]: [string, string]) => ({ path: [name], value, meaning: expiryHeaderOf(name) });
  return [...inBody, ...Object.entries(headers).map(ofHeader)];
}

/** Whether a name means a moment (`expires_at`) or a length of time (`expires_in`), and in which unit. */
interface ExpiryMeaning {
  readonly isMoment: boolean;
  readonly unitMs: number;
}

/**
 * Returns the meaning of a member's name if it names an expiry: `expires_in`, `ttl`, `valid_until` …, in all spellings.
 * The name may begin with the token's name (`accessTokenExpiresAt`) and end with `ms` (`expiresInMs`).
 */
export function expiryNameOf(name: string): ExpiryMeaning | undefined {
  const bare = plainName(name).replace(TOKEN_PREFIX, '');
  const [, stem = bare, milliseconds] = UNIT_SUFFIX.exec(bare) ?? [];
  const isMoment = MOMENT.test(stem);
  return isMoment || LENGTH.test(stem) ? { isMoment, unitMs: milliseconds === undefined ? SECOND_MS : 1 } : undefined;
}

/** Does the same for a header. `expires` and `cache-control` are about the answer, not the token (RFC 9111 §5). */
function expiryHeaderOf(header: string): ExpiryMeaning | undefined {
  const name = plainName(header).replace(/^x/, '');
  return name === 'expiresin' || name === 'expiresat' || TOKEN_PREFIX.test(name) ? expiryNameOf(name) : undefined;
}

const SECOND_MS = 1_000;
const SECONDS: ExpiryMeaning = { isMoment: false, unitMs: SECOND_MS };

const TOKEN_PREFIX = /^(?:(?:access|api|auth|bearer|security|session)?token|access|auth|jwt|session)/;
const UNIT_SUFFIX = /^(.+?)(?:in)?(?:(ms|millis|milliseconds)|secs?|seconds)$/;

const LENGTH =
  /^(?:expir(?:es?|y|ation)(?:in|after)?|ttl|timetolive|valid(?:for|ityperiod)|life(?:time|span)|maxage|(?:time|seconds)(?:to|until)expir[ey])$/;

const MOMENT =
  /^(?:expir(?:es?|y|ation)(?:at|on|date|time|datetime|timestamp|utc)|valid(?:until|till|to)|notafter|exp)$/;

/**
 * Returns the expiry in epoch milliseconds, `undefined` for an empty value (`null`, `false`, `""`), and NaN for an
 * unreadable value. Reads numbers, also as text, ISO 8601 and `D:HH:MM`.
 */
function readExpiryValue(value: unknown, meaning: ExpiryMeaning, clock: Clock): number | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  if (typeof value === 'number') return readNumber(value, meaning, clock);
  if (typeof value !== 'string' || value.length > MAX_TEXT_LENGTH) return Number.NaN;
  const text = value.trim();
  if (text === '') return undefined;
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return readNumber(Number(text), meaning, clock);
  // Two digits of days could be hours, minutes and seconds.
  const [isLength, days, hours, minutes] = /^(\d):([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (isLength === undefined) return readDateTime(text) + clock.offsetMs;
  return clock.requestStartedAt + ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 * SECOND_MS;
}

const MAX_TEXT_LENGTH = 64;

/** Reads a number that is too large for a length as a moment. As a length, 10⁹ seconds are 31 years. */
function readNumber(number: number, { isMoment, unitMs }: ExpiryMeaning, clock: Clock): number {
  if (!Number.isFinite(number)) return Number.NaN;
  if (number >= FIRST_EPOCH_MILLISECONDS) return number + clock.offsetMs;
  const isEpoch = number >= FIRST_EPOCH_SECONDS && (isMoment || unitMs >= SECOND_MS);
  return isEpoch ? number * SECOND_MS + clock.offsetMs : clock.requestStartedAt + number * unitMs;
}

const FIRST_EPOCH_SECONDS = 1e9;
/** The year 33 658 in seconds, and the year 2001 in milliseconds. */
const FIRST_EPOCH_MILLISECONDS = 1e12;

/** Reads ISO 8601 as services write it. A time without a zone is UTC. A date without a time is its first moment. */
function readDateTime(text: string): number {
  const [, date, time = '00:00', zone = 'Z'] = ISO_8601.exec(text.toUpperCase()) ?? [];
  const offset = zone.length === '+01'.length ? `${zone}00` : zone;
  return date === undefined ? Number.NaN : Date.parse(`${date}T${time}${offset}`);
}

const ISO_8601 = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/;

/**
 * Reads a signed JWT. Returns `undefined` for any other text. `expiresAt` is its `exp` in epoch milliseconds. Does not
 * verify the signature, because the token came directly from its service (RFC 7519 §4.1.4, RFC 7515 §7.1).
 */
export function readJwt(text: string): { readonly expiresAt: number | undefined } | undefined {
  const parts = text.split('.', 4);
  if (parts.length !== 3) return undefined;
  const [header, claims] = parts.slice(0, 2).map(decodeMembers);
  if (typeof header?.alg !== 'string' || claims === undefined) return undefined;
  const { exp } = claims;
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return { expiresAt: undefined };
  // Some issuers write milliseconds. Read as seconds, they would never expire.
  return { expiresAt: exp >= FIRST_EPOCH_MILLISECONDS ? exp : exp * SECOND_MS };
}

function decodeMembers(base64url: string): Readonly<Record<string, unknown>> | undefined {
  try {
    // One character per byte instead of UTF-8. The relevant numbers and names are the same.
    return parseJsonObject(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    return undefined;
  }
}

/** Returns the epoch milliseconds of an HTTP date (RFC 9110 §5.6.7, not its obsolete forms), else NaN. */
export function parseHttpDate(text = ''): number {
  // Date.parse itself accepts nearly any text, and reads some texts in the machine's own time zone.
  return /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(text) ? Date.parse(text) : Number.NaN;
}
