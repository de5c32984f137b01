import {
  FINDINGS,
  type Finding,
  PROOFS,
  type ProblemType,
  type ProvenBy,
  type SecretStage,
} from '../functions/contract.ts';
import { type Caller, parseCaller } from './caller.ts';
import { failure, TokenBrokerError, withCaller } from './error.ts';
import { type Connection, type Reply, request } from './request.ts';
import type { WorkLimits } from './single-flight.ts';

/** Which client's token or credential, and for which service. */
interface Pair {
  readonly client: string;
  readonly service: string;
}

/** What the broker is asked for. */
export interface TokenRequest extends Pair {
  /** Seconds that the token should still live: a target; `expiresAt` says what came of it. */
  readonly minTtl?: number | undefined;
  /** The `fingerprint` of a token that the service turned away, to get its successor. */
  readonly refused?: string | undefined;
}

/**
 * A token as the broker issued it. `toString`, `toJSON`, inspection and copies by spread do not give the token away:
 * only `accessToken` does.
 */
export interface IssuedToken {
  readonly accessToken: string;
  readonly tokenType: string;
  /**
   * Epoch milliseconds on this machine's clock, counted from when the token was asked for: not later than the true end,
   * however wrong this clock is.
   */
  readonly expiresAt: number;
  /** The same as the broker writes it, RFC 3339 on the broker's clock: equal in every answer about one token. */
  readonly expiresAtBroker?: string;
  /** Who said how long the token lives: `response`, `jwt`, `configured` or `assumed`. */
  readonly expirySource: string;
  /** Names the token without giving it away: for logs, and for `refused`. */
  readonly fingerprint: string;
  readonly scope?: string | undefined;
  /** Further members of the service's answer that the broker is set to hand on. */
  readonly passThrough: Readonly<Record<string, unknown>>;
}

/** Asks the broker for a token of one client on one service. @throws TokenBrokerError */
export async function askForToken(
  connection: Connection,
  { client, service, minTtl, refused }: TokenRequest,
  limits: WorkLimits,
): Promise<IssuedToken> {
  const asked = { client, service, min_ttl: minTtl, refused };
  const { members, startedAt } = await requestForPair(connection, '/token', asked, limits);
  const {
    access_token,
    token_type = 'Bearer',
    expires_in,
    expires_at,
    expiry_source,
    fingerprint,
    scope,
    ...passThrough
  } = objectOf(members);

  if (typeof access_token !== 'string' || !/^[\x20-\x7e]+$/.test(access_token)) throw unusable('access_token');
  if (typeof token_type !== 'string' || token_type === '') throw unusable('token_type');
  if (!isLifetime(expires_in)) throw unusable('expires_in');
  if (!isDateTime(expires_at)) throw unusable('expires_at');
  if (typeof expiry_source !== 'string') throw unusable('expiry_source');
  if (typeof fingerprint !== 'string' || !/^[0-9a-f]{16}$/.test(fingerprint)) throw unusable('fingerprint');
  if (scope !== undefined && typeof scope !== 'string') throw unusable('scope');

  return issuedToken({
    accessToken: access_token,
    tokenType: token_type,
    // Not `expires_at`: that is on the broker's clock, and only ours is asked later.
    expiresAt: startedAt + expires_in * 1000,
    expiresAtBroker: expires_at,
    expirySource: expiry_source,
    fingerprint,
    ...(scope !== undefined && { scope }),
    passThrough,
  });
}

/** Makes a token of its members; what may be secret is hidden from code that prints or copies objects. */
export function issuedToken({ accessToken, passThrough, expiresAtBroker, ...told }: IssuedToken): IssuedToken {
  const hidden = (value: unknown) => ({ value, enumerable: false });
  const shown = () => ({ accessToken: REDACTED, ...told });
  return Object.freeze(
    Object.defineProperties(
      { accessToken, passThrough, ...told },
      {
        accessToken: hidden(accessToken),
        // A service may send along what is as secret as the token: a refresh token, for example.
        passThrough: hidden(passThrough),
        expiresAtBroker: hidden(expiresAtBroker),
        toString: hidden(() => REDACTED),
        toJSON: hidden(shown),
        [Symbol.for('nodejs.util.inspect.custom')]: hidden(shown),
      },
    ),
  );
}

const REDACTED = '[redacted]';

export interface CheckRequest extends Pair {
  /** Which version of the credential: `AWSCURRENT` when left out. */
  readonly stage?: SecretStage | undefined;
}

/** What the broker found out about a credential. */
export interface Check extends Pair {
  readonly stage: SecretStage;
  readonly finding: Finding;
  /** The secret version that was looked at; absent when there is none. */
  readonly version?: string | undefined;
  /** Epoch milliseconds, on the broker's clock. */
  readonly checkedAt: number;
  readonly provenBy: ProvenBy;
  /** When the token that proves the credential ends: epoch milliseconds on this machine's clock. */
  readonly expiresAt?: number | undefined;
}

/** Asks the broker whether the credential of one client works on one service. @throws TokenBrokerError */
export async function askForCheck(
  connection: Connection,
  { client, service, stage = 'AWSCURRENT' }: CheckRequest,
  limits: WorkLimits,
): Promise<Check> {
  const asked = { client, service, stage };
  const { members, startedAt } = await requestForPair(connection, '/check', asked, limits);
  const { finding, version, checked_at, proven_by, expires_in, ...echo } = objectOf(members);

  // A finding about another pair would be believed of this one.
  if (echo.client !== client) throw unusable('client');
  if (echo.service !== service) throw unusable('service');
  if (echo.stage !== stage) throw unusable('stage');
  if (!isOneOf(FINDINGS, finding)) throw unusable('finding');
  if (version !== undefined && (typeof version !== 'string' || !/^[\x21-\x7e]{1,64}$/.test(version))) {
    throw unusable('version');
  }
  if (!isDateTime(checked_at)) throw unusable('checked_at');
  if (!isOneOf(PROOFS, proven_by)) throw unusable('proven_by');
  if (expires_in !== undefined && !isLifetime(expires_in)) throw unusable('expires_in');

  return {
    ...asked,
    finding,
    ...(version !== undefined && { version }),
    checkedAt: Date.parse(checked_at),
    provenBy: proven_by,
    ...(expires_in !== undefined && { expiresAt: startedAt + expires_in * 1000 }),
  };
}

/** Asks the broker which role signs, and what its access rules allow it. @throws TokenBrokerError */
export async function askForCaller(connection: Connection, limits: WorkLimits): Promise<Caller> {
  const { members } = await request(connection, '/whoami', {}, limits);
  const caller = parseCaller(objectOf(members));
  if (caller === undefined) throw unusable('role, account or rules');
  return caller;
}

/** As `request`; the error of a refusal by the access rules tells also who was refused, and what the rules allow. */
async function requestForPair(...[connection, ...asked]: Parameters<typeof request>): Promise<Reply> {
  let used: ReturnType<typeof connection.credentials> | undefined;
  const read = () => {
    used = connection.credentials();
    return used;
  };
  try {
    return await request({ ...connection, credentials: read }, ...asked);
  } catch (error) {
    if (!(error instanceof TokenBrokerError) || error.type !== ('access-denied' satisfies ProblemType)) throw error;
    const [, , limits] = asked;
    // It is about the role that was refused, so the same credentials sign.
    const signing = { ...connection, credentials: () => used ?? read(), maxAttempts: 1 };
    const caller = await askForCaller(signing, limits).catch(() => undefined);
    throw caller === undefined ? error : withCaller(error, caller);
  }
}

function objectOf(members: Reply['members']): NonNullable<Reply['members']> {
  if (members === undefined) throw failure('unexpected-answer', 'it is not a JSON object', { status: 200 });
  return members;
}

function unusable(member: string): Error {
  return failure('unexpected-answer', `its ${member} is missing or wrong`, { status: 200 });
}

/** More than thirty years is a mistake, and would leave the range of dates in the end. */
function isLifetime(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1_000_000_000;
}

function isDateTime(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

function isOneOf<Word extends string>(words: readonly Word[], value: unknown): value is Word {
  return words.some((word) => word === value);
}
