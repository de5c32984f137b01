import type { ExpirySource, Warning } from '../../vocabulary.ts';
import { Redacted } from '../redacted.ts';
import type { Service } from '../service.ts';
import type { FoundToken } from './find-token.ts';
import { type Answer, memberAt, UnusableAnswer } from './members.ts';
import { type ExpiryMeaning, expiryHeaderOf, expiryNameOf } from './names.ts';
import { readMoment, readTime } from './times.ts';

/**
 * Reads when a token expires. The earliest expiry counts, of the `exp` of a JWT and of `lifetimeMember`. If that is not
 * set, the members next to and around the token and the headers count instead. The settings are the fallback.
 *
 * @see RFC 6749 §5.1 (`expires_in`), RFC 7519 §4.1.4 (`exp`), RFC 9110 §6.6.1 (`date`), RFC 9111 §5.1 (`age`)
 * @throws UnusableAnswer when the expiry cannot be read, or has passed
 */
export function readExpiry(
  token: FoundToken,
  answer: Answer,
  times: RequestTimes,
  service: Service,
): Expiry & { readonly warnings: readonly Warning[] } {
  const { receivedAt } = times;
  const age = Number(answer.response.headers.age);
  // The service wrote a stored answer before this request.
  const requestStartedAt = times.requestStartedAt - (age > 0 ? age * 1_000 : 0);
  const { tokenLifetimeSeconds, assumedLifetimeSeconds, maxLifetimeSeconds } = service;
  const { claims, hasLocal } = claimsOfAnswer(token, answer, { requestStartedAt, receivedAt }, service);
  // An operator who sets the life time says that an expiry that has passed is wrong.
  const believed = claims.filter(({ expiresAt }) => tokenLifetimeSeconds === undefined || expiresAt > receivedAt);
  if (token.jwt?.expiresAt !== undefined) {
    // The time between its claims is the same on every clock.
    const latest = requestStartedAt + (token.jwt.lifetimeMs ?? Infinity);
    const expiresAt = Math.min(latest, onThisClock(token.jwt.expiresAt, answer, times));
    believed.push({ where: 'its own `exp` (JWT)', expiresAt, expirySource: 'jwt' });
  }
  const bySettings: ExpiryClaim = {
    where: 'the settings',
    expiresAt: requestStartedAt + (tokenLifetimeSeconds ?? assumedLifetimeSeconds) * 1_000,
    expirySource: tokenLifetimeSeconds === undefined ? 'assumed' : 'configured',
  };
  const [earliest = bySettings] = believed.sort((a, b) => a.expiresAt - b.expiresAt);
  const { where, expirySource } = earliest;
  const latest = requestStartedAt + maxLifetimeSeconds * 1_000;
  const expiresAt = Math.floor(Math.min(earliest.expiresAt, latest));
  if (expiresAt > receivedAt) {
    const isSaid = earliest !== bySettings;
    const warning = isSaid ? earliest.expiresAt > latest && 'lifetime-cut' : hasLocal && 'expiry-without-zone';
    return { expiresAt, expirySource, warnings: warning ? [warning] : [] };
  }
  const settings = 'set tokenLifetimeSeconds, or response.lifetimeMember (false: no member is right), or ';
  throw new UnusableAnswer(
    `by ${where} the token had expired when it arrived. If this is wrong, ${expirySource === 'response' ? settings : ''}` +
      "compare the service's clock with the broker's, and the unit with response.lifetimeUnit.",
    new Redacted(token.text),
  );
}

/**
 * Returns a moment of the service on the clock of this instance. The service's clock may be wrong, and so may the
 * answer's `date`, so both clocks are read. The earlier reading that has not passed counts.
 */
function onThisClock(moment: number, { response }: Answer, { requestStartedAt, receivedAt }: RequestTimes): number {
  const { age, date: sentAt } = response.headers;
  // The date of a stored answer is older than the answer. An age of 0 is no stored answer.
  const date = Number(age ?? 0) === 0 ? readMoment(sentAt) : undefined;
  const converted = date === undefined ? moment : moment + requestStartedAt - date;
  const [earlier, later] = [Math.min(moment, converted), Math.max(moment, converted)];
  return earlier > receivedAt ? earlier : later;
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

/**
 * Ignores an unreadable member only when another member or the `exp` of a JWT is readable, or when
 * `tokenLifetimeSeconds` is set. A moment without a time zone counts only if the settings name its member.
 */
function claimsOfAnswer(token: FoundToken, answer: Answer, times: RequestTimes, service: Service) {
  const { lifetimeMember, lifetimeUnit } = service.response;
  const readings = candidatesOf(token, answer, lifetimeMember).flatMap(({ path, value, meaning }) => {
    if (meaning === undefined) return [];
    // The setting defines the unit. The name only suggests a unit.
    const time = readTime(value, { ...meaning, unitMs: lifetimeUnit === 'milliseconds' ? 1 : meaning.unitMs });
    if (time === undefined) return [];
    // A length counts from the start of the request, because the service may have issued the token at any time since.
    const expiresAt = time.isMoment ? onThisClock(time.ms, answer, times) : times.requestStartedAt + time.ms;
    const isLocal = time.isLocal === true && lifetimeMember === undefined;
    return [{ where: `\`${answer.print(path)}\``, expiresAt, expirySource: 'response', isLocal } as const];
  });
  const isUnreadable = ({ expiresAt }: ExpiryClaim) => Number.isNaN(expiresAt);
  const zoned = readings.filter(({ isLocal }) => !isLocal);
  const claims: ExpiryClaim[] = zoned.filter((reading) => !isUnreadable(reading));
  if (claims.length === 0 && typeof lifetimeMember === 'string') {
    throw new UnusableAnswer(
      'response.lifetimeMember names a member that is missing or contains no readable life time.',
    );
  }
  const unreadable = zoned.find(isUnreadable);
  const isKnown = service.tokenLifetimeSeconds !== undefined || token.jwt?.expiresAt !== undefined;
  if (claims.length === 0 && unreadable !== undefined && !isKnown) {
    const advice = 'name another in response.lifetimeMember, or set tokenLifetimeSeconds.';
    throw new UnusableAnswer(`the life time in ${unreadable.where} cannot be read; ${advice}`);
  }
  return { claims, hasLocal: zoned.length < readings.length };
}

/** Returns members and headers with their unread values, each with the meaning of its name. */
function candidatesOf(
  { around }: FoundToken,
  { content, response }: Answer,
  lifetimeMember: string | false | undefined,
) {
  if (lifetimeMember === false) return [];
  if (lifetimeMember !== undefined) {
    const named = memberAt(content, lifetimeMember);
    return named ? [{ ...named, meaning: expiryNameOf(named.path.at(-1) ?? '') ?? SECONDS }] : [];
  }
  const inBody = around.flatMap(({ path, members }) =>
    Object.entries(members).map(([name, value]) => ({ path: [...path, name], value, meaning: expiryNameOf(name) })),
  );
  const ofHeader = ([name, value]: [string, string]) => ({ path: [name], value, meaning: expiryHeaderOf(name) });
  return [...inBody, ...Object.entries(response.headers).map(ofHeader)];
}

const SECONDS: ExpiryMeaning = { isMoment: false, unitMs: 1_000 };
