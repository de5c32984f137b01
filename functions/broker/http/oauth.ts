import type { Problem } from '../problem.ts';

/**
 * Returns the members of a token as OAuth libraries read them (RFC 6749 §5.1). Some libraries misread an `expires_in`
 * of 0, an `expires_at` in words, and a granted scope that differs from the requested scope.
 */
export function oauthToken(members: Readonly<Record<string, unknown>>) {
  return { ...members, expires_in: members.expires_in || 1, expires_at: undefined, scope: undefined };
}

/** Returns the members by which some OAuth libraries recognize a failure (RFC 6749 §5.2). */
export function oauthError(problem: Pick<Problem, 'detail'> & { type: string; retryable: boolean }, cause?: unknown) {
  const known = problem.type === 'invalid-request' && cause ? cause : (ERRORS[problem.type] ?? 'server_error');
  return {
    error: problem.retryable ? 'temporarily_unavailable' : known,
    error_description: problem.detail.replaceAll('"', "'").replaceAll(/[^ !#-[\]-~]/g, '?'),
  };
}

/** The caller's own faults. A library that reads `invalid_client` would blame the caller's secret. */
const ERRORS: Readonly<Record<string, string>> = {
  'invalid-request': 'invalid_request',
  'access-denied': 'unauthorized_client',
};
