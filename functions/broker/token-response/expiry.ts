import type { Service } from '../service.ts';
import {
  type ExpiryName,
  type ExpiryValue,
  expiryHeaderOf,
  expiryNameOf,
  parseHttpDate,
  readExpiryValue,
  readJwt,
} from './expiry-value.ts';
import type { FoundToken } from './find-token.ts';
import { type MemberPath, memberAt, type PrintPath, UnusableAnswer } from './members.ts';
import type { ExpirySource, RequestTimes, TokenResponse } from './types.ts';

/**
 * Reads when a token expires. Of everything that tells it, the earliest counts:
 *
 * - `lifetimeMember`, when it is set, and then no other member or header; else every member beside the token and around
 *   it whose name tells an expiry, and the response headers that do
 * - the token's own `exp`, when it is a JWT: whatever a setting says, its service will refuse it from then on
 *
 * When nothing tells it, `tokenLifetimeSeconds` counts, else `assumedLifetimeSeconds`. The result is cut to
 * `maxLifetimeSeconds`.
 *
 * A length of time counts from the start of the request: the token may have been made at any moment since. A moment
 * counts from the answer's own `date`, because the service's clock may be off; without a `date` it is taken as it is.
 *
 * A member that cannot be read is passed over only when another one can, or when `tokenLifetimeSeconds` is set.
 *
 * @see RFC 6749 §5.1 (`expires_in`), RFC 7519 §4.1.4 (`exp`), RFC 9110 §6.6.1 (`date`)
 * @throws UnusableAnswer when the expiry cannot be read, or has passed
 */
export function readExpiry(answer: AnsweredToken, times: RequestTimes, service: Service): Expiry {
  const { requestStartedAt, receivedAt } = times;
  const clock = { requestStartedAt, serviceDate: parseHttpDate(answer.headers.date ?? '') };
  const claims = [...claimsOfAnswer(answer, clock, service), ...claimsOfJwt(answer.token.value, clock)];
  const earliest = claims.reduce(earlier, undefined) ?? fallback(requestStartedAt, service);
  const latest = requestStartedAt + service.maxLifetimeSeconds * 1_000;
  const expiresAt = Math.floor(Math.min(earliest.expiresAt, latest));
  if (expiresAt > receivedAt) return { expiresAt, expirySource: earliest.source };
  throw new UnusableAnswer(
    (print) => `by ${earliest.where(print)} the token had expired when it arrived. ${COMPARE_CLOCKS}`,
  );
}

/** An answer in which the token was found. */
export interface AnsweredToken {
  readonly token: FoundToken;
  readonly body: unknown;
  readonly headers: TokenResponse['headers'];
}

interface Expiry {
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly expirySource: ExpirySource;
}

/** When the token expires by one member, header or setting. */
interface ExpiryClaim {
  readonly where: (print: PrintPath) => string;
  readonly expiresAt: number;
  readonly source: ExpirySource;
}

interface Clock {
  readonly requestStartedAt: number;
  /** What the service's clock showed when it answered. */
  readonly serviceDate: number | undefined;
}

const COMPARE_CLOCKS =
  "If that cannot be, compare the service's clock with the broker's, and the unit with response.lifetimeUnit.";

function claimsOfAnswer(answer: AnsweredToken, clock: Clock, service: Service): readonly ExpiryClaim[] {
  const { lifetimeMember, lifetimeUnit } = service.response;
  const candidates =
    lifetimeMember === undefined ? searchedCandidates(answer) : configuredCandidate(answer.body, lifetimeMember);
  const read = candidates.map(({ path, value, name }) => {
    // The settings know the unit; the name only suggests one.
    const unitMs = lifetimeUnit === 'milliseconds' ? 1 : (name.unitMs ?? 1_000);
    return { path, expiry: readExpiryValue(value, name.isMoment, unitMs) };
  });
  const claims = read.flatMap(({ path, expiry }) => {
    const expiresAt = timeOf(expiry, clock);
    return expiresAt === undefined ? [] : [{ where: codeOf(path), expiresAt, source: 'response' as const }];
  });
  if (claims.length > 0) return claims;
  if (lifetimeMember !== undefined) {
    throw new UnusableAnswer(
      'response.lifetimeMember names a member that is missing or tells no life time that can be read.',
    );
  }
  const unreadable = read.find(({ expiry }) => expiry.kind === 'unreadable');
  if (unreadable === undefined || service.tokenLifetimeSeconds !== undefined) return [];
  throw new UnusableAnswer((print) => {
    const where = codeOf(unreadable.path)(print);
    return `the life time in ${where} cannot be read; name another in response.lifetimeMember, or set tokenLifetimeSeconds.`;
  });
}

/** A member or header whose name tells an expiry, not read yet. */
interface Candidate {
  readonly path: MemberPath;
  readonly value: unknown;
  readonly name: ExpiryName;
}

function searchedCandidates({ token, headers }: AnsweredToken): readonly Candidate[] {
  const inBody = token.around.flatMap(({ path, members }) =>
    Object.entries(members).flatMap(([name, value]) => candidateOf([...path, name], value, expiryNameOf(name))),
  );
  const inHeaders = Object.entries(headers).flatMap(([name, value]) =>
    candidateOf([name], value, expiryHeaderOf(name)),
  );
  return [...inBody, ...inHeaders];
}

function candidateOf(path: MemberPath, value: unknown, name: ExpiryName | undefined): readonly Candidate[] {
  return name === undefined ? [] : [{ path, value, name }];
}

function configuredCandidate(body: unknown, lifetimeMember: string): readonly Candidate[] {
  const member = memberAt(body, lifetimeMember);
  const name = expiryNameOf(member?.path.at(-1) ?? '') ?? { isMoment: false, unitMs: undefined };
  return member === undefined ? [] : [{ ...member, name }];
}

function timeOf(expiry: ExpiryValue, clock: Clock): number | undefined {
  if (expiry.kind === 'length') return clock.requestStartedAt + expiry.milliseconds;
  return expiry.kind === 'moment' ? onOwnClock(expiry.time, clock) : undefined;
}

function onOwnClock(moment: number, { requestStartedAt, serviceDate }: Clock): number {
  return serviceDate === undefined ? moment : requestStartedAt + (moment - serviceDate);
}

function codeOf(path: MemberPath): (print: PrintPath) => string {
  return (print) => `\`${print(path)}\``;
}

function claimsOfJwt(token: string, clock: Clock): readonly ExpiryClaim[] {
  const expiresAt = readJwt(token)?.expiresAt;
  if (expiresAt === undefined) return [];
  return [{ where: () => 'its own `exp` (JWT)', expiresAt: onOwnClock(expiresAt, clock), source: 'jwt' }];
}

function earlier(one: ExpiryClaim | undefined, other: ExpiryClaim): ExpiryClaim {
  return one === undefined || other.expiresAt < one.expiresAt ? other : one;
}

/** What counts when neither the answer nor the token tells an expiry. */
function fallback(requestStartedAt: number, service: Service): ExpiryClaim {
  const { tokenLifetimeSeconds, assumedLifetimeSeconds } = service;
  return {
    where: () => 'the settings',
    expiresAt: requestStartedAt + (tokenLifetimeSeconds ?? assumedLifetimeSeconds) * 1_000,
    source: tokenLifetimeSeconds === undefined ? 'assumed' : 'configured',
  };
}
