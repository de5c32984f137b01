import { Problem, type ShapeReport } from '../problem.ts';
import type { Service } from '../service.ts';
import type { TokenResponse } from './bytes.ts';
import type { Members } from './members.ts';
import { parseHttpDate } from './times.ts';

/** An answer that is no success. */
export type Refusal =
  /** The service definitively refused the credential. */
  | { readonly outcome: 'rejected' }
  /** Held: a repetition cannot help, and may count as a failed log-in. Failed: the request may succeed later. */
  | { readonly outcome: 'held' | 'failed'; readonly problem: Problem };

/** Returns the meaning of an answer that is no success, or `undefined`. Every 4xx but 408 and 429 is held. */
export function readStatus(
  response: TokenResponse,
  { isJson, errors }: Pick<Members, 'errors'> & { readonly isJson: boolean },
  { receivedAt, service, shape }: { receivedAt: number; service: Service; shape: () => ShapeReport },
): Refusal | undefined {
  const { status, headers } = response;
  const error = oauthErrorIn(errors);
  if (status === 401 || (status === 403 && service.rejectedOn403)) return { outcome: 'rejected' };
  if (status === 400 && isJson && error === 'invalid_client') return { outcome: 'rejected' };
  if (status >= 200 && status <= 299) return undefined;
  const answered = `The token endpoint answered ${status}`;
  if (status === 429 || (status >= 500 && status <= 599)) {
    const retryAfterSeconds = parseRetryAfter(headers['retry-after'] ?? '', receivedAt);
    const problem = new Problem('token-endpoint-unavailable', `${answered}.`, { retryAfterSeconds, shape: shape() });
    return { outcome: 'failed', problem };
  }
  const redirected = 'a redirect, which the broker does not follow. Correct authUrl or tokenPath.';
  const others = 'check authUrl, tokenPath, parameters, parametersIn and headers of the service.';
  const advice = status >= 300 && status <= 399 ? redirected : (STATUS_ADVICE[status] ?? others);
  const detail = `${answered}${error ? ` (${error})` : ''}: ${advice}`;
  const outcome = status >= 400 && status <= 499 && status !== 408 ? 'held' : 'failed';
  return { outcome, problem: new Problem('token-endpoint-error', detail, { shape: shape() }) };
}

/** Returns the error of an answer if it is registered (RFC 6749 §5.2). Any other text may contain a secret. */
export function oauthErrorIn([error]: Members['errors']): string | undefined {
  return typeof error === 'string' && OAUTH_ERRORS.has(error) ? error : undefined;
}

const OAUTH_ERRORS: ReadonlySet<string> = new Set([
  ...['invalid_client', 'invalid_request', 'invalid_grant', 'unsupported_grant_type', 'unauthorized_client'],
  ...['invalid_scope'],
]);

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
