import type { Service } from '../service.ts';
import {
  type ExpiryName,
  type ExpiryValue,
  expiryHeaderOf,
  expiryNameOf,
  type JwtTimes,
  parseHttpDate,
  readExpiryValue,
  readJwtTimes,
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
 * A length of time counts from the start of the request: the token may have been made at any moment since. A
 * moment is compared with two clocks: it is taken as it is, so a service whose clock is behind gives shorter lives;
 * and when the `date` header or the JWT's `iat` shows that the service's clock is ahead, by that much earlier.
 *
 * A member that cannot be read is passed over only when another one can, or when `tokenLifetimeSeconds` is set.
 *
 * @see RFC 6749 §5.1 (`expires_in`), RFC 7519 §4.1.4 (`exp`)
 * @throws UnusableAnswer when the expiry cannot be read, or has passed
 */
export function readExpiry(answer: AnsweredToken, times: RequestTimes, service: Service): Expiry {
  const jwt = readJwtTimes(answer.token.value);
  const clock = { ...times, serviceAheadMs: serviceClockAheadMs(answer.headers, jwt, times.receivedAt) };
  const told = [...toldByAnswer(answer, clock, service), ...toldByJwt(jwt, clock)];
  const earliest = told.reduce(earlier, undefined) ?? untold(times, service);
  const latest = times.requestStartedAt + service.maxLifetimeSeconds * 1_000;
  const expiresAt = Math.floor(Math.min(earliest.expiresAt, latest));
  if (expiresAt > times.receivedAt) return { expiresAt, expirySource: earliest.source };
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

interface Told {
  readonly where: (print: PrintPath) => string;
  readonly expiresAt: number;
  readonly source: ExpirySource;
}

interface Clock extends RequestTimes {
  readonly serviceAheadMs: number;
}

const COMPARE_CLOCKS =
  "If that cannot be, compare the service's clock with the broker's, and the unit with response.lifetimeUnit.";

function serviceClockAheadMs(headers: TokenResponse['headers'], jwt: JwtTimes | undefined, receivedAt: number): number {
  const date = parseHttpDate(headers.date ?? '') ?? receivedAt;
  const { issuedAt = receivedAt, expiresAt = issuedAt } = jwt ?? {};
  return Math.max(0, date - receivedAt, issuedAt < expiresAt ? issuedAt - receivedAt : 0);
}

function toldByAnswer(answer: AnsweredToken, clock: Clock, service: Service): readonly Told[] {
  const { lifetimeMember, lifetimeUnit } = service.response;
  const clues = lifetimeMember === undefined ? searchedClues(answer) : configuredClue(answer.body, lifetimeMember);
  const read = clues.map(({ path, value, name }) => {
    // The unit of the settings was chosen by somebody who knows; the name only suggests one.
    const unitMs = lifetimeUnit === 'milliseconds' ? 1 : (name.unitMs ?? 1_000);
    return { path, expiry: readExpiryValue(value, name.isMoment, unitMs) };
  });
  const told = read.flatMap(({ path, expiry }) => {
    const expiresAt = timeOf(expiry, clock);
    return expiresAt === undefined ? [] : [{ where: codeOf(path), expiresAt, source: 'response' as const }];
  });
  if (told.length > 0) return told;
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

/** A member or header that tells an expiry, not read yet. */
interface Clue {
  readonly path: MemberPath;
  readonly value: unknown;
  readonly name: ExpiryName;
}

function configuredClue(body: unknown, lifetimeMember: string): readonly Clue[] {
  const member = memberAt(body, lifetimeMember);
  const name = expiryNameOf(member?.path.at(-1) ?? '') ?? { isMoment: false, unitMs: undefined };
  return member === undefined ? [] : [{ ...member, name }];
}

function searchedClues({ token, headers }: AnsweredToken): readonly Clue[] {
  const inBody = token.around.flatMap(({ path, members }) =>
    Object.entries(members).flatMap(([name, value]) => clueOf([...path, name], value, expiryNameOf(name))),
  );
  const inHeaders = Object.entries(headers).flatMap(([name, value]) => clueOf([name], value, expiryHeaderOf(name)));
  return [...inBody, ...inHeaders];
}

function clueOf(path: MemberPath, value: unknown, name: ExpiryName | undefined): readonly Clue[] {
  return name === undefined ? [] : [{ path, value, name }];
}

function timeOf(expiry: ExpiryValue, clock: Clock): number | undefined {
  if (expiry.kind === 'length') return clock.requestStartedAt + expiry.milliseconds;
  return expiry.kind === 'moment' ? expiry.time - clock.serviceAheadMs : undefined;
}

function codeOf(path: MemberPath): (print: PrintPath) => string {
  return (print) => `\`${print(path)}\``;
}

function toldByJwt(jwt: JwtTimes | undefined, clock: Clock): readonly Told[] {
  if (jwt?.expiresAt === undefined) return [];
  return [{ where: () => 'its own `exp` (JWT)', expiresAt: jwt.expiresAt - clock.serviceAheadMs, source: 'jwt' }];
}

function earlier(one: Told | undefined, other: Told): Told {
  return one === undefined || other.expiresAt < one.expiresAt ? other : one;
}

function untold({ requestStartedAt }: RequestTimes, service: Service): Told {
  const { tokenLifetimeSeconds, assumedLifetimeSeconds } = service;
  return {
    where: () => 'the settings',
    expiresAt: requestStartedAt + (tokenLifetimeSeconds ?? assumedLifetimeSeconds) * 1_000,
    source: tokenLifetimeSeconds === undefined ? 'assumed' : 'configured',
  };
}
