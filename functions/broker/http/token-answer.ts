import type { IssuedToken } from '../pair/record.ts';
import { Redacted } from '../redacted.ts';
import type { LastingTokenAnswer } from './broker-answer.ts';

/**
 * The body of a 200 of `POST /token`, a `TokenAnswer` as JSON. All of it but the seconds that are left is the same
 * whenever a token is issued, so the text around them is made once.
 */
export function tokenAnswerText(token: IssuedToken, now: number): string {
  const { before, after } = TEXTS.get(token) ?? makeTexts(token);
  return `${before.reveal()},"expires_in":${Math.floor((token.expiresAt - now) / 1_000)},${after}`;
}

interface Texts {
  /** It holds the token, so it is kept as one. */
  readonly before: Redacted;
  readonly after: string;
}

const TEXTS = new WeakMap<IssuedToken, Texts>();

function makeTexts(token: IssuedToken): Texts {
  const { expires_in: _, expires_at, expiry_source, fingerprint, scope, ...first } = lastingMembers(token);
  const texts = {
    before: new Redacted(JSON.stringify(first).slice(0, -1)),
    after: JSON.stringify({ expires_at, expiry_source, fingerprint, scope }).slice(1),
  };
  TEXTS.set(token, texts);
  return texts;
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
