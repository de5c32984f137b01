import type { ExpirySource } from '../../vocabulary.ts';
import type { Service } from '../service.ts';
import type { TokenResponse } from './bytes.ts';
import type { FoundToken } from './find-token.ts';
import { type Members, UnusableAnswer } from './members.ts';
import { type ExpiryMeaning, expiryHeaderOf, expiryNameOf } from './names.ts';
import type { PrintPath } from './shape.ts';
import { parseHttpDate, readTime } from './times.ts';

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
  // A moment is relative to the answer's own date, because the service's clock may be wrong.
  const clock = { requestStartedAt, offsetMs: Number.isNaN(serviceDate) ? 0 : requestStartedAt - serviceDate };
  const claims = claimsOfAnswer(answer, clock, service);
  const { exp } = answer.token;
  if (exp !== undefined) {
    claims.push({ where: 'its own `exp` (JWT)', expiresAt: exp + clock.offsetMs, expirySource: 'jwt' });
  }
  const { tokenLifetimeSeconds, assumedLifetimeSeconds, maxLifetimeSeconds } = service;
  const bySettings: ExpiryClaim = {
    where: 'the settings',
    expiresAt: requestStartedAt + (tokenLifetimeSeconds ?? assumedLifetimeSeconds) * 1_000,
    expirySource: tokenLifetimeSeconds === undefined ? 'assumed' : 'configured',
  };
  const [earliest = bySettings] = claims.sort((a, b) => a.expiresAt - b.expiresAt);
  const latest = requestStartedAt + maxLifetimeSeconds * 1_000;
  const expiresAt = Math.floor(Math.min(earliest.expiresAt, latest));
  if (expiresAt > receivedAt) return { expiresAt, expirySource: earliest.expirySource };
  throw new UnusableAnswer(
    `by ${earliest.where} the token had expired when it arrived. ` +
      "If this is wrong, compare the service's clock with the broker's, and the unit with response.lifetimeUnit.",
  );
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
    // The setting defines the unit. The name only suggests a unit.
    const time =
      meaning && readTime(value, { ...meaning, unitMs: lifetimeUnit === 'milliseconds' ? 1 : meaning.unitMs });
    if (time === undefined) return [];
    const expiresAt = 'moment' in time ? time.moment + clock.offsetMs : clock.requestStartedAt + time.lengthMs;
    return [{ where: `\`${answer.print(path)}\``, expiresAt, expirySource: 'response' }];
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
function candidatesOf({ token, members: { lifetime }, headers }: AnsweredToken, lifetimeMember: string | undefined) {
  if (lifetimeMember !== undefined) {
    return lifetime === undefined
      ? []
      : [{ ...lifetime, meaning: expiryNameOf(lifetime.path.at(-1) ?? '') ?? SECONDS }];
  }
  const inBody = token.around.flatMap(({ path, members }) =>
    Object.entries(members).map(([name, value]) => ({ path: [...path, name], value, meaning: expiryNameOf(name) })),
  );
  const ofHeader = ([name, value]: [string, string]) => ({ path: [name], value, meaning: expiryHeaderOf(name) });
  return [...inBody, ...Object.entries(headers).map(ofHeader)];
}

const SECONDS: ExpiryMeaning = { isMoment: false, unitMs: 1_000 };
