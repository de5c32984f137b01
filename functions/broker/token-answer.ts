import type { LastingTokenAnswer } from './broker-answer.ts';
import type { IssuedToken } from './issued-token.ts';
import { Redacted } from './redacted.ts';

/**
 * The body of a 200 of `POST /token`, a `TokenAnswer` as JSON. All of it but the seconds that are left is the same
 * whenever a token is issued, so its text is made once.
 */
export function tokenAnswerText(token: IssuedToken, now: number): string {
  const lasting = LASTING_TEXTS.get(token) ?? lastingText(token);
  return `${lasting.reveal()},"expires_in":${Math.floor((token.expiresAt - now) / 1_000)}}`;
}

/** It holds the token, so it is kept as one. */
const LASTING_TEXTS = new WeakMap<IssuedToken, Redacted>();

/** All but the closing brace. */
function lastingText(token: IssuedToken): Redacted {
  const { expires_in: _, ...passThrough } = token.passThrough;
  const text = new Redacted(JSON.stringify(lastingMembers({ ...token, passThrough })).slice(0, -1));
  LASTING_TEXTS.set(token, text);
  return text;
}

/** Only what the contract names: nothing else of the service's answer leaves the broker. */
function lastingMembers(token: IssuedToken): LastingTokenAnswer {
  return {
    ...token.passThrough,
    access_token: token.accessToken.reveal(),
    token_type: token.tokenType,
    expires_at: new Date(token.expiresAt).toISOString(),
    expiry_source: token.expirySource,
    fingerprint: token.fingerprint,
    scope: token.scope,
  };
}
