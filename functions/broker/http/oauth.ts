import type { Problem } from '../problem.ts';

/**
 * The members of a token as OAuth libraries take them (RFC 6749 §5.1). Its scope is the one that was asked for; some of
 * the libraries misread the one that a service has granted, an `expires_in` of 0, and an `expires_at` in words.
 */
export function oauthToken(members: Readonly<Record<string, unknown>>) {
  return { ...members, expires_in: members.expires_in || 1, expires_at: undefined, scope: undefined };
}

/** What a problem says to OAuth libraries beside its own members (RFC 6749 §5.2): some of them know a failure by it alone. */
export function oauthError(told: Pick<Problem, 'detail'> & { type: string; retryable: boolean }, cause?: unknown) {
  const known = told.type === 'invalid-request' && cause ? cause : errorOf(told.type);
  return {
    error: told.retryable ? 'temporarily_unavailable' : known,
    error_description: told.detail.replaceAll('"', "'").replaceAll(/[^ !#-[\]-~]/g, '?'),
  };
}

function errorOf(type: string): string {
  if (type === 'invalid-request') return 'invalid_request';
  if (type === 'access-denied') return 'unauthorized_client';
  return type.startsWith('credential-') || type === 'client-disabled' ? 'invalid_client' : 'server_error';
}
