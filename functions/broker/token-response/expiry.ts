import type { ExpirySource, Warning } from '../../vocabulary.ts';
import { Redacted } from '../redacted.ts';
import type { Service } from '../service.ts';
import type { TokenResponse } from './content.ts';
import type { FoundToken } from './find-token.ts';
import { type Members, UnusableAnswer } from './members.ts';
import { type ExpiryMeaning, expiryHeaderOf, expiryNameOf } from './names.ts';
import type { PrintPath } from './shape.ts';
import { parseHttpDate, readTime } from './times.ts';

/**
 * Reads when a token expires. The earliest expiry counts, of the `exp` of a JWT and of `lifetimeMember`. If that is not
 * set, the members next to and around the token and the headers count instead. The settings are the fallback.
 *
 * @see RFC 6749 §5.1 (`expires_in`), RFC 7519 §4.1.4 (`exp`), RFC 9110 §6.6.1 (`date`), RFC 9111 §5.1 (`age`)
 * @throws UnusableAnswer when the expiry cannot be read, or has passed
 */
export function readExpiry(answer: AnsweredToken, times: RequestTimes, service: Service): ReadExpiry {
  const { requestStartedAt, receivedAt } = times;
  const { tokenLifetimeSeconds, assumedLifetimeSeconds, maxLifetimeSeconds } = service;
  const { claims, hasLocal } = claimsOfAnswer(answer, times, service);
  const { exp } = answer.token;
  const ofJwt: ExpiryClaim[] =
    exp === undefined
      ? []
      : [{ where: 'its own `exp` (JWT)', expiresAt: onThisClock(exp, answer, times), expirySource: 'jwt' }];
  // An operator who sets the life time says that an expiry that has passed is wrong.
  const believed =
    tokenLifetimeSeconds === undefined ? claims : claims.filter(({ expiresAt }) => expiresAt > receivedAt);
  const bySettings: ExpiryClaim = {
    where: 'the settings',
    expiresAt: requestStartedAt + (tokenLifetimeSeconds ?? assumedLifetimeSeconds) * 1_000,
    expirySource: tokenLifetimeSeconds === undefined ? 'assumed' : 'configured',
  };
  const [earliest = bySettings] = [...believed, ...ofJwt].sort((a, b) => a.expiresAt - b.expiresAt);
  const { where, expirySource } = earliest;
  const latest = requestStartedAt + maxLifetimeSeconds * 1_000;
  const expiresAt = Math.floor(Math.min(earliest.expiresAt, latest));
  if (expiresAt > receivedAt) {
    const isCut = earliest !== bySettings && earliest.expiresAt > latest;
    const warnings: readonly (Warning | false)[] = [
      isCut && 'lifetime-cut',
      earliest === bySettings && hasLocal && 'expiry-without-zone',
    ];
    return { expiresAt, expirySource, warnings: warnings.filter((warning) => warning !== false) };
  }
  const settings = 'set tokenLifetimeSeconds, or response.lifetimeMember (false: no member is right), or ';
  throw new UnusableAnswer(
    `by ${where} the token had expired when it arrived. If this is wrong, ${expirySource === 'response' ? settings : ''}` +
      "compare the service's clock with the broker's, and the unit with response.lifetimeUnit.",
    new Redacted(answer.token.text),
  );
}

/**
 * Returns a moment of the service on the clock of this instance. The service's clock may be wrong, and so may the
 * answer's `date`, so both clocks are read. The earlier reading that has not passed counts.
 */
function onThisClock(
  moment: number,
  { headers }: AnsweredToken,
  { requestStartedAt, receivedAt }: RequestTimes,
): number {
  // The date of a stored answer is older than the answer.
  const date = headers.age === undefined ? parseHttpDate(headers.date) : Number.NaN;
  const converted = Number.isNaN(date) ? moment : moment + requestStartedAt - date;
  const [earlier, later] = [Math.min(moment, converted), Math.max(moment, converted)];
  return earlier > receivedAt ? earlier : later;
}

interface AnsweredToken {
  readonly token: FoundToken;
  readonly members: Members;
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

export interface ReadExpiry extends Expiry {
  readonly warnings: readonly Warning[];
}

/** The expiry according to a member, a header or a setting. */
interface ExpiryClaim extends Expiry {
  readonly where: string;
}

/**
 * Ignores an unreadable member only when another member is readable, or when `tokenLifetimeSeconds` is set. A moment
 * without a time zone counts only if the settings name its member.
 */
function claimsOfAnswer(answer: AnsweredToken, times: RequestTimes, service: Service) {
  const { lifetimeMember, lifetimeUnit } = service.response;
  const found = candidatesOf(answer, lifetimeMember).flatMap(({ path, value, meaning }) => {
    if (meaning === undefined) return [];
    // The setting defines the unit. The name only suggests a unit.
    const time = readTime(value, { ...meaning, unitMs: lifetimeUnit === 'milliseconds' ? 1 : meaning.unitMs });
    return time === undefined ? [] : [{ where: `\`${answer.print(path)}\``, time }];
  });
  const isLocal = ({ time }: (typeof found)[number]) =>
    'moment' in time && time.isLocal === true && !Number.isNaN(time.moment) && lifetimeMember === undefined;
  const readings = found
    .filter((one) => !isLocal(one))
    .map(({ where, time }): ExpiryClaim => {
      const expiresAt =
        'moment' in time ? onThisClock(time.moment, answer, times) : times.requestStartedAt + time.lengthMs;
      return { where, expiresAt, expirySource: 'response' };
    });
  const claims = readings.filter(({ expiresAt }) => !Number.isNaN(expiresAt));
  if (claims.length === 0 && typeof lifetimeMember === 'string') {
    throw new UnusableAnswer(
      'response.lifetimeMember names a member that is missing or contains no readable life time.',
    );
  }
  const [unreadable] = readings;
  if (claims.length === 0 && unreadable !== undefined && service.tokenLifetimeSeconds === undefined) {
    const advice = 'name another in response.lifetimeMember, or set tokenLifetimeSeconds.';
    throw new UnusableAnswer(`the life time in ${unreadable.where} cannot be read; ${advice}`);
  }
  return { claims, hasLocal: found.some(isLocal) };
}

/** Returns members and headers with their unread values, each with the meaning of its name. */
function candidatesOf({ token, members, headers }: AnsweredToken, lifetimeMember: string | false | undefined) {
  const { lifetime } = members;
  if (lifetimeMember === false) return [];
  if (lifetimeMember !== undefined) {
    return lifetime === undefined
      ? []
      : [{ ...lifetime, meaning: expiryNameOf(lifetime.path.at(-1) ?? '') ?? SECONDS }];
  }
  const inBody = token.around.flatMap(({ path, members: around }) =>
    Object.entries(around).map(([name, value]) => ({ path: [...path, name], value, meaning: expiryNameOf(name) })),
  );
  const ofHeader = ([name, value]: [string, string]) => ({ path: [name], value, meaning: expiryHeaderOf(name) });
  return [...inBody, ...Object.entries(headers).map(ofHeader)];
}

const SECONDS: ExpiryMeaning = { isMoment: false, unitMs: 1_000 };
