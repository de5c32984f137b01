import { Problem } from '../problem.ts';
import { Redacted } from '../redacted.ts';
import type { Service } from '../service.ts';
import { type DecodedBody, decodeBody } from './body.ts';
import { readExpiry } from './expiry.ts';
import { readPassThrough, readScope, readTokenType } from './extras.ts';
import { findToken } from './find-token.ts';
import { memberAt } from './members.ts';
import { createPathPrinter } from './path-printer.ts';
import { shapeOf } from './shape.ts';
import { isRejected, oauthErrorOf, problemOfStatus } from './status.ts';
import { UnusableAnswer } from './unusable-answer.ts';

/** What a token endpoint answered, complete and unread. Header names are lower-case, repeated ones joined by `, `. */
export interface TokenResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A token as its service gave it. */
export interface ServiceToken {
  readonly accessToken: Redacted;
  readonly tokenType: string;
  /** Epoch milliseconds, counted from the start of the token request. */
  readonly expiresAt: number;
  readonly expirySource: ExpirySource;
  readonly scope?: string | undefined;
  /** The members that `passThrough` names, as the service gave them. */
  readonly passThrough: Readonly<Record<string, unknown>>;
}

/** Who said how long the token lives: the answer, the token itself (JWT `exp`), the settings, or nobody. */
export type ExpirySource = 'response' | 'jwt' | 'configured' | 'assumed';

export type TokenResponseReading =
  | { readonly outcome: 'token'; readonly token: ServiceToken }
  /** The service definitively refused the credential. */
  | { readonly outcome: 'rejected'; readonly status: number }
  | { readonly outcome: 'problem'; readonly problem: Problem };

/** When the token request was sent and when its answer was complete, in epoch milliseconds. */
export interface RequestTimes {
  readonly requestStartedAt: number;
  readonly receivedAt: number;
}

/**
 * Reads what a token endpoint answered: a token, the rejection of the credential, or a problem. Never throws, and no
 * value of the answer is in a problem.
 *
 * - a success: `findToken` says how the token is found, `readExpiry` how long it lives; else `token-response-unusable`
 * - 401, 400 `invalid_client`, and 403 when the service's settings say so: rejected
 * - 429 and 5xx: `token-endpoint-unavailable`; everything else: `token-endpoint-error`
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
    return { outcome: 'problem', problem: problemOfStatus(response, body, times.receivedAt) };
  }
  try {
    return { outcome: 'token', token: readToken(response.headers, body, times, service) };
  } catch (error) {
    if (!(error instanceof UnusableAnswer)) throw error;
    return { outcome: 'problem', problem: problemOfAnswer(response, body, error) };
  }
}

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
