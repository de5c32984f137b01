import type { Service } from '../service.ts';
import type { TokenResponse } from './body.ts';
import { memberAt, type PrintPath, UnusableAnswer } from './body.ts';
import {
  type Clock,
  expiryHeaderOf,
  expiryNameOf,
  parseHttpDate,
  readExpiryValue,
  readJwt,
  SECONDS,
} from './expiry-value.ts';
import type { FoundToken } from './find-token.ts';

/**
 * Reads when a token expires. Of everything that tells it, the earliest counts:
 *
 * - `lifetimeMember`, when it is set, and then no other member or header; else every member beside the token and around
 *   it whose name tells an expiry, and the response headers that do
 * - the token's own `exp`, when it is a JWT: its service will refuse it from then on, also when a setting says otherwise
 *
 * When nothing tells it, the settings do. The result is cut to `maxLifetimeSeconds`.
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
  const serviceDate = parseHttpDate(answer.headers.date);
  const clock = { requestStartedAt, offsetMs: Number.isNaN(serviceDate) ? 0 : requestStartedAt - serviceDate };
  const claims = [...claimsOfAnswer(answer, clock, service), ...claimsOfJwt(answer.token.value, clock)];
  const [earliest = claimOfSettings(clock, service)] = claims.sort((a, b) => a.expiresAt - b.expiresAt);
  const latest = requestStartedAt + service.maxLifetimeSeconds * 1_000;
  const expiresAt = Math.floor(Math.min(earliest.expiresAt, latest));
  if (expiresAt > receivedAt) return { expiresAt, expirySource: earliest.expirySource };
  throw new UnusableAnswer(`by ${earliest.where()} the token had expired when it arrived. ${COMPARE_CLOCKS}`);
}

/** An answer in which the token was found. */
interface AnsweredToken {
  readonly token: FoundToken;
  readonly body: unknown;
  readonly headers: TokenResponse['headers'];
  readonly print: PrintPath;
}

/** When the token request was sent and when its answer was complete, in epoch milliseconds. */
export interface RequestTimes {
  readonly requestStartedAt: number;
  readonly receivedAt: number;
}

export interface Expiry {
  /** Epoch milliseconds, counted from the start of the token request. */
  readonly expiresAt: number;
  readonly expirySource: ExpirySource;
}

/** What says how long the token lives: the answer, the token itself (JWT `exp`), the settings, or an assumption. */
export type ExpirySource = (typeof EXPIRY_SOURCES)[number];

export const EXPIRY_SOURCES = ['response', 'jwt', 'configured', 'assumed'] as const;

/** When the token expires by one member, header or setting. */
interface ExpiryClaim extends Expiry {
  readonly where: () => string;
}

const COMPARE_CLOCKS =
  "If that cannot be, compare the service's clock with the broker's, and the unit with response.lifetimeUnit.";

function claimsOfAnswer(answer: AnsweredToken, clock: Clock, service: Service): readonly ExpiryClaim[] {
  const { lifetimeMember, lifetimeUnit } = service.response;
  const told = candidatesOf(answer, lifetimeMember).flatMap(({ path, value, meaning }): readonly ExpiryClaim[] => {
    if (meaning === undefined) return [];
    // The settings know the unit; the name only suggests one.
    const unitMs = lifetimeUnit === 'milliseconds' ? 1 : meaning.unitMs;
    const expiresAt = readExpiryValue(value, { ...meaning, unitMs }, clock);
    const where = () => `\`${answer.print(path)}\``;
    return expiresAt === undefined ? [] : [{ where, expiresAt, expirySource: 'response' }];
  });
  const claims = told.filter(({ expiresAt }) => !Number.isNaN(expiresAt));
  if (claims.length > 0) return claims;
  if (lifetimeMember !== undefined) {
    throw new UnusableAnswer(
      'response.lifetimeMember names a member that is missing or tells no life time that can be read.',
    );
  }
  const [unreadable] = told;
  if (unreadable === undefined || service.tokenLifetimeSeconds !== undefined) return [];
  const advice = 'name another in response.lifetimeMember, or set tokenLifetimeSeconds.';
  throw new UnusableAnswer(`the life time in ${unreadable.where()} cannot be read; ${advice}`);
}

/** Members and headers, not read yet, with what their names say of an expiry. */
function candidatesOf({ token, body, headers }: AnsweredToken, lifetimeMember: string | undefined) {
  if (lifetimeMember !== undefined) {
    const member = memberAt(body, lifetimeMember);
    const name = member?.path.at(-1) ?? '';
    return member === undefined ? [] : [{ ...member, meaning: expiryNameOf(name) ?? SECONDS }];
  }
  const inBody = token.around.flatMap(({ path, members }) =>
    Object.entries(members).map(([name, value]) => ({ path: [...path, name], value, meaning: expiryNameOf(name) })),
  );
  const inHeaders = Object.entries(headers).map(([name, value]) => ({
    path: [name],
    value,
    meaning: expiryHeaderOf(name),
  }));
  return [...inBody, ...inHeaders];
}

function claimsOfJwt(token: string, clock: Clock): readonly ExpiryClaim[] {
  const expiresAt = readJwt(token)?.expiresAt;
  if (expiresAt === undefined) return [];
  return [{ where: () => 'its own `exp` (JWT)', expiresAt: expiresAt + clock.offsetMs, expirySource: 'jwt' }];
}

function claimOfSettings({ requestStartedAt }: Clock, service: Service): ExpiryClaim {
  const { tokenLifetimeSeconds, assumedLifetimeSeconds } = service;
  const expiresAt = requestStartedAt + (tokenLifetimeSeconds ?? assumedLifetimeSeconds) * 1_000;
  const expirySource = tokenLifetimeSeconds === undefined ? 'assumed' : 'configured';
  return { where: () => 'the settings', expiresAt, expirySource };
}
