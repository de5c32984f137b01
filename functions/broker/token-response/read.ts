import { type Credential, repeatsCredential } from '../credential/credential.ts';
import { isRecord } from '../json.ts';
import { Problem, type ShapeReport } from '../problem.ts';
import { Redacted, shows } from '../redacted.ts';
import type { Service } from '../service.ts';
import type { DecodedBody, Level, TokenResponse } from './body.ts';
import { decodeBody, MAX_NAME_LENGTH, memberAt, plainName, UnusableAnswer } from './body.ts';
import { type Expiry, parseHttpDate, type RequestTimes, readExpiry } from './expiry.ts';
import { findToken } from './find-token.ts';
import { createPathPrinter, shapeOf } from './shape.ts';

export type TokenResponseReading =
  /** `hasEcho`: a member that repeats the credential was omitted. */
  | { readonly outcome: 'token'; readonly token: ServiceToken; readonly hasEcho: boolean }
  /** The service definitively refused the credential. */
  | { readonly outcome: 'rejected' }
  /** Held: a repetition cannot help, and may count as a failed log-in. Failed: the request may succeed later. */
  | { readonly outcome: 'held' | 'failed'; readonly problem: Problem };

/** A token as its service returned it. */
export interface ServiceToken extends Expiry {
  readonly accessToken: Redacted;
  readonly tokenType: string;
  readonly scope?: string | undefined;
  /** The members that `passThrough` names, as the service returned them. */
  readonly passThrough: Readonly<Record<string, unknown>>;
}

/**
 * Reads a token endpoint's answer to a request with the credential (RFC 6749 §5). Never throws. A problem contains no
 * value of the answer. A success without a usable token is held, as is every 4xx but 408 and 429.
 */
export function readTokenResponse(
  response: TokenResponse,
  times: RequestTimes,
  service: Service,
  credential: Credential,
): TokenResponseReading {
  const body = decodeBody(response);
  const { status } = response;
  const shape = () => shapeOf(response, credential);
  if (isRejected(status, body, service.rejectedOn403)) return { outcome: 'rejected' };
  if (status < 200 || status > 299) {
    const outcome = status >= 400 && status <= 499 && status !== 408 && status !== 429 ? 'held' : 'failed';
    return { outcome, problem: problemOfStatus(response, body, times.receivedAt, shape()) };
  }
  try {
    return { outcome: 'token', ...readToken(response, body, times, service, credential) };
  } catch (error) {
    if (!(error instanceof UnusableAnswer)) throw error;
    const detail = `The answer of the token endpoint (${status}) is unusable: ${error.message}`;
    return { outcome: 'held', problem: new Problem('token-response-unusable', detail, { shape: shape() }) };
  }
}

/** Returns whether an answer definitively rejects the credential, which is then not sent again (RFC 6749 §5.2). */
function isRejected(status: number, body: DecodedBody, rejectedOn403: boolean): boolean {
  if (status === 401 || (status === 403 && rejectedOn403)) return true;
  return status === 400 && 'isJson' in body && body.isJson && oauthErrorOf(body) === 'invalid_client';
}

/** Returns the error of an answer if it is registered (RFC 6749 §5.2). Any other text may contain a secret. */
function oauthErrorOf({ value }: DecodedBody): string | undefined {
  const error = isRecord(value) ? value.error : undefined;
  return typeof error === 'string' && OAUTH_ERRORS.has(error) ? error : undefined;
}

const OAUTH_ERRORS: ReadonlySet<string> = new Set([
  ...['invalid_client', 'invalid_request', 'invalid_grant', 'unsupported_grant_type', 'unauthorized_client'],
  ...['invalid_scope'],
]);

/** Returns the problem of an answer that is neither a success nor a rejection. */
function problemOfStatus(response: TokenResponse, body: DecodedBody, receivedAt: number, shape: ShapeReport) {
  const { status, headers } = response;
  const answered = `The token endpoint answered ${status}`;
  if (status === 429 || (status >= 500 && status <= 599)) {
    const retryAfterSeconds = parseRetryAfter(headers['retry-after'] ?? '', receivedAt);
    return new Problem('token-endpoint-unavailable', `${answered}.`, { retryAfterSeconds, shape });
  }
  const error = oauthErrorOf(body);
  const redirected = 'a redirect, which the broker does not follow. Correct authUrl or tokenPath.';
  const others = 'check authUrl, tokenPath, parameters, parametersIn and headers of the service.';
  const advice = status >= 300 && status <= 399 ? redirected : (STATUS_ADVICE[status] ?? others);
  return new Problem('token-endpoint-error', `${answered}${error ? ` (${error})` : ''}: ${advice}`, { shape });
}

/** Returns the whole seconds of a `retry-after` header, which is a number or an HTTP date (RFC 9110 §10.2.3). */
function parseRetryAfter(header: string, now: number): number | undefined {
  const seconds = /^\d+$/.test(header) ? Number(header) : Math.ceil((parseHttpDate(header) - now) / 1_000);
  return seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) : undefined;
}

/** Limits the wait. After a short incident, a service may ask for hours. */
const MAX_RETRY_AFTER_SECONDS = 300;

const STATUS_ADVICE: Readonly<Record<number, string>> = {
  400: 'it does not accept the token request. Check parameters (for example grant_type), parametersIn and headers.',
  403: 'it forbids the request to this client or network. If it refuses credentials that way, set rejectedOn403.',
  404: 'there is nothing at this path. Check tokenPath, and the base path in authUrl.',
  405: 'it does not accept POST at this path. Check tokenPath.',
  415: 'it expects parameters in another form. Check parametersIn and parameters.',
};

function readToken(
  { headers }: TokenResponse,
  body: DecodedBody,
  times: RequestTimes,
  service: Service,
  credential: Credential,
): { readonly token: ServiceToken; readonly hasEcho: boolean } {
  if ('unreadable' in body) throw new UnusableAnswer(body.unreadable);
  // An error in a success has no defined meaning. It is no rejection and latches nothing.
  if (['error', 'errors'].some((name) => !isEmpty(memberAt(body.value, name)?.value))) {
    throw new UnusableAnswer(`it reports ${oauthErrorOf(body) ?? 'an error'}, although its status says success.`);
  }
  const print = createPathPrinter(body.value, credential);
  const token = findToken(body.value, service.response.tokenMember, print);
  const { around, value: text } = token;
  if (repeatsCredential(text, credential)) {
    throw new UnusableAnswer('where its token should be, it repeats the credential.');
  }
  const expiry = readExpiry({ token, body: body.value, headers, print }, times, service);
  // A client id may be part of a scope or an address. A value that equals it is not passed on.
  const clientId = credential.clientId.reveal();
  const isTold = (value: unknown) => value !== clientId && !repeatsCredential(value, credential);
  const [type, scope] = [readTokenType(around, text), readScope(around, text)];
  const [isTypeTold, isScopeTold] = [isTold(type), isTold(scope)];
  const passed = readPassThrough(body.value, service.response.passThrough, text);
  const told = passed.filter(([, value]) => isTold(value));
  return {
    token: {
      ...expiry,
      accessToken: new Redacted(text),
      tokenType: isTypeTold ? type : 'Bearer',
      scope: isScopeTold ? scope : undefined,
      passThrough: Object.fromEntries(told),
    },
    hasEcho: !isTypeTold || !isScopeTold || told.length < passed.length,
  };
}

/** Returns whether an error is empty: `null`, `""`, `0` and similar values accompany good tokens. */
function isEmpty(value: unknown): boolean {
  return !value || value === '0' || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** Returns the type, or `Bearer` if the type is missing, no word or the token (RFC 6749 §7.1, RFC 9110 §11.1). */
function readTokenType(around: readonly Level[], token: string): string {
  const type = nearest(around, 'tokentype');
  const word = typeof type === 'string' ? type.trim() : '';
  const isScheme = /^[!#$%&'*+\-.^_`|~\w]{1,64}$/.test(word) && word.toLowerCase() !== 'bearer';
  return isScheme && !shows(word, token) ? word : 'Bearer';
}

/** Returns the granted scope, from a text or an array, or `undefined` if no scope may be shown (RFC 6749 §3.3). */
function readScope(around: readonly Level[], token: string): string | undefined {
  const given = nearest(around, 'scope') ?? nearest(around, 'scopes');
  const scope = Array.isArray(given) && given.every((one) => typeof one === 'string') ? given.join(' ') : given;
  return typeof scope === 'string' && /^[\x20-\x7e]{1,4096}$/.test(scope) && !shows(scope, token) ? scope : undefined;
}

function nearest(around: readonly Level[], plain: string): unknown {
  const entries = around.flatMap(({ members }) => Object.entries(members));
  return entries.find(([name, value]) => plainName(name) === plain && value !== null)?.[1];
}

/**
 * Returns the members that `passThrough` names, each under its path. Omits large and deep members, and members that
 * contain a token: the broker returns the token in one place only.
 */
function readPassThrough(body: unknown, paths: readonly string[], token: string) {
  const isPassable = (name: string, value: unknown) =>
    isFlatAndOpen(name, value, 0) && JSON.stringify(value).length <= 4_096 && !shows(value, token);
  return paths.flatMap((path) => {
    const { value, path: names = [] } = memberAt(body, path) ?? {};
    return names.length > 0 && isPassable(names.at(-1) ?? '', value) ? [[path, value] as const] : [];
  });
}

/** Accepts values that are shallow enough for a JSON writer. Refuses names of secrets, and names too long to read. */
function isFlatAndOpen(name: string, value: unknown, depth: number): boolean {
  if (name.length > MAX_NAME_LENGTH || SECRET_NAME.test(plainName(name))) return false;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth === MAX_PASSED_DEPTH) return false;
  return Object.entries(value).every(([inner, one]) => isFlatAndOpen(inner, one, depth + 1));
}

const SECRET_NAME = /token$|^jwt|^refresh|^bearer$|^authorization$|secret|password/;
const MAX_PASSED_DEPTH = 4;
