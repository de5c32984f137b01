import { textOf } from '../json.ts';
import { Problem } from '../problem.ts';
import type { Service } from '../service.ts';
import { type Answer, type FoundMember, memberAt } from './members.ts';
import { plainName } from './names.ts';
import { type PrintPath, shapeOf } from './shape.ts';
import { readTime } from './times.ts';

/** An answer that is no success. */
export type Refusal =
  /** The service definitively refused the credential. */
  | { readonly outcome: 'rejected' }
  /** Held: a repetition cannot help, and may count as a failed log-in. Failed: the request may succeed later. */
  | { readonly outcome: 'held' | 'failed'; readonly problem: Problem };

/**
 * Returns the meaning of an answer that is no success, or `undefined`. A 4xx with `Retry-After` counts as 429, which
 * some services write as 403, 420 or 430. Every other 4xx but 408 is held.
 */
export function readStatus(answer: Answer, receivedAt: number, service: Service): Refusal | undefined {
  const { response, content, print } = answer;
  const { status, headers } = response;
  const error = memberAt(content, 'error')?.value;
  const askedSeconds = readRetryAfter(headers['retry-after'] ?? '', receivedAt);
  const isThrottle = status === 429 || (isOf4xx(status) && askedSeconds !== undefined);
  if (isRejected(answer, error, service, isThrottle)) return { outcome: 'rejected' };
  if (isSuccess(status)) return undefined;
  const shape = shapeOf(response, content, print);
  const answered = `The token endpoint answered ${status}`;
  if (isThrottle || isFailure(status)) {
    const retryAfterSeconds = askedSeconds && Math.min(askedSeconds, isThrottle ? MAX_BAN_SECONDS : MAX_WAIT_SECONDS);
    const problem = new Problem('token-endpoint-unavailable', `${answered}.`, { retryAfterSeconds, shape });
    return { outcome: 'failed', problem };
  }
  const others = 'check authUrl, tokenPath, parameters, parametersIn and headers of the service.';
  const isRedirect = status >= 300 && status <= 399;
  const known = oauthErrorOf(error);
  const isOfClient = status === 400 && /client|credential/i.test(textOf(error) ?? '');
  const ofStatus = isOfClient ? CLIENT_ADVICE : (STATUS_ADVICE[status] ?? others);
  const advice = isRedirect ? redirected(headers.location, service, print) : ofStatus;
  const detail = `${answered}${known ? ` (${known})` : ''}: ${advice}`;
  const problem = new Problem('token-endpoint-error', detail, { shape });
  return { outcome: isOf4xx(status) && status !== 408 ? 'held' : 'failed', problem };
}

const isSuccess = (status: number) => status >= 200 && status <= 299;
const isFailure = (status: number) => status >= 500 && status <= 599;
const isOf4xx = (status: number) => status >= 400 && status <= 499;

/** Returns whether an answer definitively rejects the credential, which is then not sent again (RFC 6749 §5.2). */
function isRejected(
  { response: { status }, content, members }: Answer,
  error: unknown,
  service: Service,
  isThrottle: boolean,
): boolean {
  const { rejectedOn403, rejectedOn } = service;
  if (status === 401 || (status === 403 && rejectedOn403 && !isThrottle)) return true;
  const isHeard = isSuccess(status) || (isOf4xx(status) && status !== 408 && status !== 429);
  // A proxy, which answers 502 to 504, writes no such error.
  if (content.isStructured && members.some(isInvalidClient) && (isHeard || status === 500)) return true;
  const isNamed = typeof error === 'string' && rejectedOn?.includes(error) === true;
  return isNamed && (isHeard || isFailure(status));
}

/** Returns whether a member is the registered error, in any case, also in an object such as `error` or `fault`. */
function isInvalidClient({ path, value, around }: FoundMember): boolean {
  const isWord = typeof value === 'string' && /^invalid_client$/i.test(value);
  return isWord && around.length <= 2 && ERROR_NAMES.has(plainName(path.at(-1) ?? ''));
}

const ERROR_NAMES: ReadonlySet<string> = new Set(['error', 'errorcode', 'code', 'type']);

/** Returns an error if it is registered (RFC 6749 §5.2). Any other text may contain a secret. */
export function oauthErrorOf(error: unknown): string | undefined {
  return typeof error === 'string' && OAUTH_ERRORS.has(error) ? error : undefined;
}

const OAUTH_ERRORS: ReadonlySet<string> = new Set([
  ...['invalid_client', 'invalid_request', 'invalid_grant', 'unsupported_grant_type', 'unauthorized_client'],
  ...['invalid_scope'],
]);

/**
 * Returns the longest of the waits in `retry-after` headers, in whole seconds. Each is a number or an HTTP date
 * (RFC 9110 §10.2.3). Some services write the seconds of the epoch, a length in units or another date.
 */
function readRetryAfter(header: string, now: number): number | undefined {
  const waits = (header.match(/[A-Z][a-z]{2,8}, [^,]+|[^,\s][^,]*/g) ?? []).map((text) => {
    const time = readTime(text.trim().replace(/^"|[".]$/g, ''), { isMoment: false, unitMs: 1_000 });
    return Math.ceil(((time?.ms ?? Number.NaN) - (time?.isMoment ? now : 0)) / 1_000);
  });
  return Math.max(0, ...waits.filter((wait) => wait > 0)) || undefined;
}

/** Limits the wait. After a short incident, a service may ask for hours. The wait of a throttle is the ban itself. */
const MAX_WAIT_SECONDS = 300;
const MAX_BAN_SECONDS = 3_600;

/** Names the path of a redirect to the same host, if each of its steps is a plain word and no value of the answer. */
function redirected(location: string | undefined, { authUrl, tokenPath }: Service, print: PrintPath): string {
  const from = new URL(authUrl + tokenPath);
  const to = location === undefined ? null : URL.parse(location, from.href);
  const isSame = to?.hostname === from.hostname && to.port === from.port && to.search + to.hash === '';
  const steps = to?.pathname.split('/') ?? [];
  const isPlain = isSame && steps.length <= 8 && steps.every((step) => step === '' || print([step]) === step);
  const where = isPlain ? ` to ${to.pathname}` : '';
  return `a redirect${where}, which the broker does not follow. Correct authUrl or tokenPath.`;
}

const CLIENT_ADVICE = 'it does not accept the credential, or its rights. Otherwise check basicEncoding and parameters.';

const STATUS_ADVICE: Readonly<Record<number, string>> = {
  400: 'it does not accept the token request. Check parameters (for example grant_type), parametersIn and headers.',
  403: 'it forbids the request to this client or network. If it refuses credentials that way, set rejectedOn403.',
  404: 'there is nothing at this path. Check tokenPath, and the base path in authUrl.',
  405: 'it does not accept POST at this path. Check tokenPath.',
  411: "it expects a body. Set parametersIn to 'body', with the parameters that it expects.",
  415: 'it expects parameters in another form. Check parametersIn and parameters.',
};
