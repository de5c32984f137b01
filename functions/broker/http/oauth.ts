import type { IssueRequest } from '../pair/decision.ts';
import { Problem } from '../problem.ts';
import { type Body, faultOfName, readForm, readParameters, toIssueRequest } from './request.ts';

/** The parameters of an OAuth 2.0 token request, without empty ones (RFC 6749 §3.2); `undefined` when a body is none. */
export function readOAuthForm(contentType: string | undefined, body: Body): URLSearchParams | undefined {
  const parameters = [...(readParameters(contentType, body) ?? [])].filter(([, value]) => value !== '');
  return parameters.some(([name]) => name === 'grant_type') ? new URLSearchParams(parameters) : undefined;
}

/**
 * Reads `client_id` as the client and `scope` as the service (RFC 6749 §4.4.2). Other parameters are ignored, the secret
 * too: the signature has told who asks. @throws Problem
 */
export function parseOAuthForm(form: URLSearchParams): IssueRequest {
  const known = [...form].filter(([name]) => KNOWN.has(name));
  const { grant_type: grantType, client_id: client, scope: service, ...others } = readForm(known);
  if (grantType !== 'client_credentials') {
    throw new OAuthProblem('unsupported_grant_type', 'grant_type: must be client_credentials.');
  }
  if (faultOfName(service) !== undefined) {
    throw new OAuthProblem('invalid_scope', 'scope: must be the name of one service, which issues the token.');
  }
  return toIssueRequest({ client, service, ...others }, 'client_id');
}

const KNOWN: ReadonlySet<string> = new Set(['grant_type', 'client_id', 'scope', 'min_ttl', 'refused']);

/** A fault of the form that OAuth 2.0 has a word of its own for. */
class OAuthProblem extends Problem {
  readonly error: string;

  constructor(error: 'invalid_scope' | 'unsupported_grant_type', detail: string) {
    super('invalid-request', detail);
    this.error = error;
  }
}

/**
 * The members of a token as OAuth libraries take them (RFC 6749 §5.1). Its scope is the one that was asked for; some of
 * the libraries misread the one that a service has granted, an `expires_in` of 0, and an `expires_at` in words.
 */
export function oauthToken(members: Readonly<Record<string, unknown>>) {
  return { ...members, expires_in: members.expires_in || 1, expires_at: undefined, scope: undefined };
}

/** What a problem says to OAuth libraries beside its own members (RFC 6749 §5.2): some of them know a failure by it alone. */
export function oauthError(told: Pick<Problem, 'detail'> & { type: string; retryable: boolean }, problem?: unknown) {
  const known = problem instanceof OAuthProblem ? problem.error : (ERRORS.get(told.type) ?? 'server_error');
  return {
    error: told.retryable ? 'temporarily_unavailable' : known,
    error_description: told.detail.replaceAll('"', "'").replaceAll(/[^ !#-[\]-~]/g, '?'),
  };
}

const ERRORS = new Map([
  ['invalid-request', 'invalid_request'],
  ['access-denied', 'unauthorized_client'],
  ['credential-missing', 'invalid_client'],
  ['credential-malformed', 'invalid_client'],
  ['credential-rejected', 'invalid_client'],
  ['client-disabled', 'invalid_client'],
]);
