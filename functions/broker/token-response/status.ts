import { Problem } from '../problem.ts';
import type { DecodedBody } from './body.ts';
import { isRecord } from './members.ts';
import type { TokenResponse } from './read.ts';
import { parseRetryAfter } from './retry-after.ts';
import { shapeOf } from './shape.ts';

/**
 * Whether the service definitively refused the credential: 401, 400 with the error `invalid_client` in a JSON body, and
 * 403 when the settings say that the service means it so. Nothing else is definitive, because a rejected credential is
 * not sent again.
 *
 * @see RFC 6749 §5.2
 */
export function isRejected(status: number, body: DecodedBody, rejectedOn403: boolean): boolean {
  if (status === 401 || (status === 403 && rejectedOn403)) return true;
  return status === 400 && body.format === 'json' && oauthErrorOf(body) === 'invalid_client';
}

/**
 * The problem of an answer that is neither a success nor a rejection: for 429 and 5xx `token-endpoint-unavailable`, with
 * the seconds of `retry-after`, else `token-endpoint-error`, which says what an operator should look at.
 */
export function problemOfStatus(response: TokenResponse, body: DecodedBody, receivedAt: number): Problem {
  const { status, headers } = response;
  if (status === 429 || (status >= 500 && status <= 599)) {
    const retryAfterSeconds = parseRetryAfter(headers['retry-after'], receivedAt);
    const shape = shapeOf(response, body);
    return new Problem('token-endpoint-unavailable', `The token endpoint answered ${status}.`, {
      retryAfterSeconds,
      shape,
    });
  }
  const error = oauthErrorOf(body);
  const answered = `The token endpoint answered ${status}${error === undefined ? '' : ` (${error})`}`;
  return new Problem('token-endpoint-error', `${answered}: ${adviceFor(status, error)}`, {
    shape: shapeOf(response, body),
  });
}

/** The error that an answer names, when it is a registered one: any other text could hold anything (RFC 6749 §5.2). */
export function oauthErrorOf(body: DecodedBody): string | undefined {
  const error = isRecord(body.value) ? body.value.error : undefined;
  return typeof error === 'string' && OAUTH_ERRORS.has(error) ? error : undefined;
}

const OAUTH_ERRORS: ReadonlySet<string> = new Set([
  ...['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type'],
  'invalid_scope',
]);

function adviceFor(status: number, error: string | undefined): string {
  const advice = (error === undefined ? undefined : ERROR_ADVICE[error]) ?? STATUS_ADVICE[status];
  if (advice !== undefined) return advice;
  if (status >= 300 && status <= 399) return 'a redirect, and none is followed. Correct authUrl or tokenPath.';
  return 'check authUrl, tokenPath, parameters, parametersIn and headers of the service.';
}

const ERROR_ADVICE: Readonly<Record<string, string>> = {
  invalid_request: 'a parameter is missing or wrong. Check parameters and parametersIn.',
  invalid_grant: 'it does not accept the grant. Check grant_type in parameters.',
  unsupported_grant_type: 'it does not know the grant. Check grant_type in parameters, and parametersIn.',
  unauthorized_client:
    'it does not allow this grant to this client. Check grant_type in parameters, or ask the service.',
  invalid_scope: 'it does not give this scope. Check scope in parameters.',
};

const STATUS_ADVICE: Readonly<Record<number, string>> = {
  400: 'it does not understand the token request. Check parameters, parametersIn and headers.',
  403: 'it forbids the request to this client or network. If it refuses credentials that way, set rejectedOn403.',
  404: 'there is nothing at this path. Check tokenPath, and the base path in authUrl.',
  405: 'it takes no POST at this path. Check tokenPath.',
  406: 'it has no answer of the kind that was asked for. Check accept in headers.',
  407: 'it is a proxy that wants a log-in. Check authUrl.',
  410: 'there is nothing at this path any more. Check tokenPath.',
  415: 'it takes parameters in another form. Check parametersIn and parameters.',
  421: 'it is not responsible for this host. Check authUrl.',
  422: 'it does not accept the parameters. Check parameters and parametersIn.',
};
