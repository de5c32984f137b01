import type { IssueRequest } from '../pair/decision.ts';
import { Problem } from '../problem.ts';
import { type Body, faultOfName, readForm, readParameters, toIssueRequest } from './request.ts';

/** The parameters of an OAuth 2.0 token request, without empty ones (RFC 6749 §3.2); `undefined` when a body is none. */
export function readOAuthForm(contentType: string | undefined, body: Body): URLSearchParams | undefined {
  try {
    const parameters = [...(readParameters(contentType, body) ?? [])].filter(([, value]) => value !== '');
    return parameters.some(([name]) => name === 'grant_type') ? new URLSearchParams(parameters) : undefined;
  } catch {
    // `parseIssueRequest` says why.
    return undefined;
  }
}

/**
 * Reads `client_id` as the client and `scope` as the service (RFC 6749 §4.4.2). Other parameters are ignored, the secret
 * too: the signature has told who asks. @throws Problem
 */
export function parseOAuthForm(form: URLSearchParams): IssueRequest {
  const known = [...form].filter(([name]) => KNOWN.has(name));
  const { grant_type: grantType, client_id: client, scope: service, ...others } = readForm(known);
  // The cause is the word that OAuth 2.0 has for the fault.
  if (grantType !== 'client_credentials') {
    const detail = 'grant_type: must be client_credentials.';
    throw new Problem('invalid-request', detail, { cause: 'unsupported_grant_type' });
  }
  if (faultOfName(service) !== undefined) {
    const detail = 'scope: must be the name of one service, which issues the token.';
    throw new Problem('invalid-request', detail, { cause: 'invalid_scope' });
  }
  return toIssueRequest({ client, service, ...others }, 'client_id');
}

const KNOWN: ReadonlySet<string> = new Set(['grant_type', 'client_id', 'scope', 'min_ttl', 'refused']);

/**
 * The members of a token as OAuth libraries take them (RFC 6749 §5.1). Its scope is the one that was asked for; some of
 * the libraries misread the one that a service has granted, an `expires_in` of 0, and an `expires_at` in words.
 */
export function oauthToken(members: Readonly<Record<string, unknown>>) {
  return { ...members, expires_in: members.expires_in || 1, expires_at: undefined, scope: undefined };
}

/** What a problem says to OAuth libraries beside its own members (RFC 6749 §5.2): some of them know a failure by it alone. */
export function oauthError(told: Pick<Problem, 'detail'> & { type: string; retryable: boolean }, cause?: unknown) {
  const known = told.type === 'invalid-request' && cause ? cause : (ERRORS[told.type] ?? 'server_error');
  return {
    error: told.retryable ? 'temporarily_unavailable' : known,
    error_description: told.detail.replaceAll('"', "'").replaceAll(/[^ !#-[\]-~]/g, '?'),
  };
}

/** The caller's own faults. A library that reads `invalid_client` would blame the caller's secret. */
const ERRORS: Readonly<Record<string, string>> = {
  'invalid-request': 'invalid_request',
  'access-denied': 'unauthorized_client',
};
