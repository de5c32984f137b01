import { failure } from './error.ts';
import { isJsonObject, parseJson } from './json.ts';
import { isLifetime } from './lifetime.ts';
import { readFailure } from './read-failure.ts';
import { type Answer, type Connection, send } from './send.ts';

export interface TokenOptions {
  readonly client: string;
  readonly service: string;
  /** Seconds that the token should still live: a target; `expiresAt` says what came of it. */
  readonly minTtl?: number | undefined;
  /** The `fingerprint` of a token that the service turned away, to get its successor. */
  readonly refused?: string | undefined;
  /** Ends the waiting; the error is `aborted`, with the signal's reason as its cause. */
  readonly signal?: AbortSignal | undefined;
}

/** A token as the broker issued it. */
export interface IssuedToken {
  readonly accessToken: string;
  readonly tokenType: string;
  /** Epoch milliseconds on this machine's clock. */
  readonly expiresAt: number;
  /** Who said how long the token lives: `response`, `jwt`, `configured` or `assumed`. */
  readonly expirySource: string;
  /** Names the token without giving it away: for logs, and for `refused`. */
  readonly fingerprint: string;
  readonly scope?: string | undefined;
  /** Further members of the service's answer that the broker is set to hand on. */
  readonly passThrough: Readonly<Record<string, unknown>>;
}

/** Asks the broker, once, for a token of one client on one service. */
export async function askForToken(connection: Connection, options: TokenOptions): Promise<IssuedToken> {
  const { client, service, minTtl, refused, signal } = options;
  const startedAt = connection.now();
  const body = JSON.stringify({ client, service, min_ttl: minTtl, refused });
  const answer = await send(connection, '/token', body, signal);
  if (answer.status !== 200) throw readFailure(answer);
  return readToken(answer, startedAt);
}

function readToken({ text, status }: Answer, startedAt: number): IssuedToken {
  const unusable = (member: string) => failure('unexpected-answer', `its ${member} is missing or wrong`, { status });
  const body = parseJson(text);
  if (!isJsonObject(body)) throw failure('unexpected-answer', 'it is not a JSON object', { status });
  const { access_token, token_type, expires_in, expires_at, expiry_source, fingerprint, scope, ...passThrough } = body;

  if (typeof access_token !== 'string' || !/^[\x20-\x7e]+$/.test(access_token)) throw unusable('access_token');
  if (typeof token_type !== 'string' || token_type === '') throw unusable('token_type');
  if (!isLifetime(expires_in)) throw unusable('expires_in');
  if (typeof expires_at !== 'string' || Number.isNaN(Date.parse(expires_at))) throw unusable('expires_at');
  if (typeof expiry_source !== 'string') throw unusable('expiry_source');
  if (typeof fingerprint !== 'string' || !/^[0-9a-f]{16}$/.test(fingerprint)) throw unusable('fingerprint');
  if (scope !== undefined && typeof scope !== 'string') throw unusable('scope');

  return {
    accessToken: access_token,
    tokenType: token_type,
    expiresAt: onThisClock(Date.parse(expires_at), startedAt + expires_in * 1000),
    expirySource: expiry_source,
    fingerprint,
    ...(scope !== undefined && { scope }),
    passThrough,
  };
}

/** Both say when the token ends. The broker's clock is the exact one, but only ours is asked later. */
function onThisClock(toldByBroker: number, countedFromRequest: number): number {
  return Math.abs(toldByBroker - countedFromRequest) <= CLOCK_TOLERANCE_MS ? toldByBroker : countedFromRequest;
}

const CLOCK_TOLERANCE_MS = 2_000;
