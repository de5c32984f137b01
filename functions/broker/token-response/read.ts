import { Problem } from '../problem.ts';
import { Redacted } from '../redacted.ts';
import type { Service } from '../service.ts';
import { type DecodedBody, decodeBody } from './body.ts';
import { readExpiry } from './expiry.ts';
import { parseHttpDate } from './expiry-value.ts';
import { readPassThrough, readScope, readTokenType } from './extras.ts';
import { findToken } from './find-token.ts';
import { isRecord, memberAt, UnusableAnswer } from './members.ts';
import { createPathPrinter, shapeOf } from './shape.ts';
import type { RequestTimes, ServiceToken, TokenResponse } from './types.ts';

export type TokenResponseReading =
  | { readonly outcome: 'token'; readonly token: ServiceToken }
  /** The service definitively refused the credential. */
  | { readonly outcome: 'rejected'; readonly status: number }
  /** The same request would be answered the same, and may count as a failed log-in. */
  | { readonly outcome: 'held'; readonly problem: Problem }
  /** The answer says nothing about the credential: the same request may succeed later. */
  | { readonly outcome: 'failed'; readonly problem: Problem };

/**
 * Reads what a token endpoint answered: a token, the rejection of the credential, or a problem. Never throws, and no
 * value of the answer is in a problem.
 *
 * - a success: `findToken` says how the token is found, `readExpiry` how long it lives; else `token-response-unusable`, held
 * - 401, 400 `invalid_client`, and 403 when the service's settings say so: rejected
 * - 429 and 5xx: `token-endpoint-unavailable`, failed
 * - every other 4xx but 408: `token-endpoint-error`, held; everything else: `token-endpoint-error`, failed
 *
 * @see RFC 6749 §5
 */
export function readTokenResponse(
  response: TokenResponse,
  times: RequestTimes,
  service: Service,
): TokenResponseReading {
  const body = decodeBody(response);
  const { status } = response;
  if (isRejected(status, body, service.rejectedOn403)) return { outcome: 'rejected', status };
  if (status < 200 || status > 299) {
    const outcome = status >= 400 && status <= 499 && !TRANSIENT_STATUSES.has(status) ? 'held' : 'failed';
    return { outcome, problem: problemOfStatus(response, body, times.receivedAt) };
  }
  try {
    return { outcome: 'token', token: readToken(response.headers, body, times, service) };
  } catch (error) {
    if (!(error instanceof UnusableAnswer)) throw error;
    return { outcome: 'held', problem: problemOfAnswer(response, body, error) };
  }
}

/** The service took too long to receive the request, or wants fewer of them. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 429]);

/**
 * Whether the service definitively refused the credential: 401, 400 with the error `invalid_client` in a JSON body, and
 * 403 when the settings say that the service means it so. Nothing else is definitive, because a rejected credential is
 * not sent again.
 *
 * @see RFC 6749 §5.2
 */
function isRejected(status: number, body: DecodedBody, rejectedOn403: boolean): boolean {
  if (status === 401 || (status === 403 && rejectedOn403)) return true;
  return status === 400 && body.format === 'json' && oauthErrorOf(body) === 'invalid_client';
}

/** The error that an answer names, when it is a registered one: any other text could hold anything (RFC 6749 §5.2). */
function oauthErrorOf(body: DecodedBody): string | undefined {
  const error = isRecord(body.value) ? body.value.error : undefined;
  return typeof error === 'string' && OAUTH_ERRORS.has(error) ? error : undefined;
}

const OAUTH_ERRORS: ReadonlySet<string> = new Set([
  ...['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type'],
  'invalid_scope',
]);

/**
 * The problem of an answer that is neither a success nor a rejection: for 429 and 5xx `token-endpoint-unavailable`, with
 * the seconds of `retry-after`, else `token-endpoint-error`, which says what an operator should look at.
 */
function problemOfStatus(response: TokenResponse, body: DecodedBody, receivedAt: number): Problem {
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

/**
 * The whole seconds that a `retry-after` header asks to wait, at most 300. Both forms are read, seconds and HTTP date;
 * zero, a date that has passed and nonsense ask for nothing.
 *
 * @see RFC 9110 §10.2.3
 */
function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : secondsUntil(parseHttpDate(header), now);
  return seconds !== undefined && seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) : undefined;
}

/** A service that asks for hours would stop a pair for hours after a short incident. */
const MAX_RETRY_AFTER_SECONDS = 300;

function secondsUntil(time: number | undefined, now: number): number | undefined {
  return time === undefined ? undefined : Math.ceil((time - now) / 1_000);
}

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

function readToken(
  headers: TokenResponse['headers'],
  body: DecodedBody,
  times: RequestTimes,
  service: Service,
): ServiceToken {
  if (body.format === 'unreadable') throw new UnusableAnswer(body.reason);
  refuseError(body);
  const { tokenMember, passThrough } = service.response;
  const token = findToken(body.value, tokenMember);
  return {
    accessToken: new Redacted(token.value),
    tokenType: readTokenType(token.around, token.value),
    ...readExpiry({ token, body: body.value, headers }, times, service),
    scope: readScope(token.around, token.value),
    passThrough: readPassThrough(body.value, passThrough, token.value),
  };
}

/** An error in a success is no rejection: what a service means by it is not defined, so nothing is latched. */
function refuseError(body: DecodedBody): void {
  const isReported = ['error', 'errors'].some((name) => !isEmpty(memberAt(body.value, name)?.value));
  if (!isReported) return;
  const error = oauthErrorOf(body) ?? 'an error';
  throw new UnusableAnswer(`it reports ${error}, although its status says success.`);
}

/** `"error": null`, `""`, `0` and the like come along with good tokens. */
function isEmpty(value: unknown): boolean {
  const isEmptyObject = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return !value || value === '0' || isEmptyObject;
}

function problemOfAnswer(response: TokenResponse, body: DecodedBody, error: UnusableAnswer): Problem {
  const printPath = createPathPrinter(body.value);
  const detail = `The answer of the token endpoint (${response.status}) is unusable: ${error.explain(printPath)}`;
  return new Problem('token-response-unusable', detail, { shape: shapeOf(response, body) });
}
