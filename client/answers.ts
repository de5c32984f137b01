import { failure } from './error.ts';
import { type IssuedToken, issuedToken } from './issued-token.ts';
import { isJsonObject, parseJson } from './json.ts';
import { isLifetime } from './lifetime.ts';
import { type Connection, exchange, type Patience } from './request.ts';
import type { Answer } from './send.ts';

/** Whose token, and who issues it. */
export interface Pair {
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

/** Asks the broker for a token of one client on one service. */
export async function askForToken(
  connection: Connection,
  { client, service, minTtl, refused }: TokenRequest,
  patience: Patience,
): Promise<IssuedToken> {
  const members = { client, service, min_ttl: minTtl, refused };
  const { answer, startedAt } = await exchange(connection, '/token', members, patience);
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

  return issuedToken({
    accessToken: access_token,
    tokenType: token_type,
    // Not `expires_at`: that is on the broker's clock, and only ours is asked later.
    expiresAt: startedAt + expires_in * 1000,
    expirySource: expiry_source,
    fingerprint,
    ...(scope !== undefined && { scope }),
    passThrough,
  });
}
