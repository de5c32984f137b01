import { type Members, parseJsonObject } from '../functions/broker/json.ts';
import { type BrokerProblem, type FailureType, failure, networkAdvice, safeCause, TokenBrokerError } from './error.ts';
import { type Signing, type SigningClock, sign } from './sign.ts';
import { type WorkLimits, within } from './single-flight.ts';

/** The connection to the broker. */
export interface Connection extends Signing {
  readonly clock: SigningClock;
  readonly fetch: typeof globalThis.fetch;
  /** This machine's time in epoch milliseconds. */
  readonly now: () => number;
  /** The limit for an attempt, including the time to read AWS credentials and the body. */
  readonly timeoutMs: number;
  /** The maximum number of attempts for a request. */
  readonly maxAttempts: number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** A number from 0 to below 1. */
  readonly random: () => number;
}

/**
 * Sends members to the broker until it answers 200. Returns that answer and the start of its attempt. Repeats only a
 * retryable failure, signed anew, and only if time remains before the deadline. Otherwise throws at once.
 *
 * @throws TokenBrokerError the last failure
 */
export async function request(
  connection: Connection,
  path: string,
  members: object,
  { signal, deadline }: WorkLimits,
): Promise<{ readonly members: Members; readonly headers: Headers; readonly startedAt: number }> {
  const { now, maxAttempts, timeoutMs, clock, random, sleep } = connection;
  const body = JSON.stringify(members);
  let hasCorrectedClock = false;

  for (let attempt = 1; ; attempt += 1) {
    const startedAt = now();
    const limit = { signal, deadline: startedAt + timeoutMs };
    const signedAt = clock.offsetMs();
    try {
      const answer = await within(now, limit, (limits) => sendSigned(connection, path, body, limits.signal));
      return { ...answer, startedAt };
    } catch (error) {
      if (!(error instanceof TokenBrokerError) || attempt >= maxAttempts) throw error;
      if (!hasCorrectedClock && /^aws-signature-(expired|not-yet-current)$/.test(error.type)) {
        // Another request may have corrected the clock meanwhile.
        hasCorrectedClock = clock.correct() || clock.offsetMs() !== signedAt;
        if (hasCorrectedClock) continue;
      }
      const waitMs = pauseMs(error, attempt, random());
      if (now() + waitMs >= deadline()) throw error;
      await sleep(waitMs, signal);
    }
  }
}

/** Adds full jitter to the broker's `Retry-After`, so that callers do not all return at the same moment. */
function pauseMs(error: TokenBrokerError, attempt: number, random: number): number {
  // The caller decides whether another attempt is useful after `refused-again`.
  if (!error.retryable || error.type === 'refused-again') return Number.POSITIVE_INFINITY;
  return (error.retryAfterSeconds ?? 0) * 1_000 + random * Math.min(5_000, 200 * 2 ** (attempt - 1));
}

async function sendSigned(connection: Connection, path: string, body: string, signal: AbortSignal) {
  const { endpoint, clock } = connection;
  const headers = await sign(connection, path, body);
  // Follows no redirect, because the signature is only meant for the broker.
  const init = { method: 'POST', headers, body, redirect: 'manual', signal } as const;
  const [response, text] = await fetchText(connection.fetch, new URL(path, endpoint.url), init);
  clock.hear(response.headers.get('date'));
  const members = parseJsonObject(text);
  if (response.status !== 200) throw readFailure(response, members);
  if (members === undefined) throw failure('unexpected-answer', 'it is not a JSON object', { status: 200 });
  return { members, headers: response.headers };
}

async function fetchText(fetch: Connection['fetch'], url: URL, init: RequestInit): Promise<[Response, string]> {
  try {
    const response = await fetch(url, init);
    return [response, await readText(response)];
  } catch (error) {
    if (error instanceof TokenBrokerError) throw error;
    const cause = safeCause(error, url.host);
    throw failure('network-error', cause.code, { cause, advice: networkAdvice(cause.code, url) });
  }
}

/** The limit is far above the broker's longest answer. `fetch` inflates, so a small answer may hide a large body. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

async function readText({ body, status }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) throw failure('unexpected-answer', `more than ${MAX_ANSWER_BYTES} bytes`, { status });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Returns the error of an answer: the broker's problem, a refusal by AWS in front of it, or an unknown server. */
function readFailure(response: Response, members: Members | undefined): TokenBrokerError {
  const { status, headers } = response;
  const retryAfterSeconds = readRetryAfter(headers);

  const problem = readProblem(response, members);
  if (problem !== undefined) {
    const { type, detail, retryable, request_id } = problem;
    const request = request_id === undefined ? '' : ` (request ${request_id})`;
    return new TokenBrokerError(type, detail + request, { status, retryable, retryAfterSeconds, problem });
  }
  const type = answeredByAws(response, members);
  if (type !== undefined) return failure(type, '', { status, retryAfterSeconds });
  return failure('unexpected-answer', `status ${status} and no problem`, { status });
}

/** Returns whole seconds, or `undefined` without a valid header. */
export function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

function readProblem({ status, headers }: Response, members: Members | undefined): BrokerProblem | undefined {
  if (!headers.get('content-type')?.startsWith('application/problem+json') || members === undefined) return undefined;
  const { type, title, detail, retryable, request_id } = members;
  if (typeof type !== 'string' || typeof title !== 'string' || typeof detail !== 'string') return undefined;
  const requestId = typeof request_id === 'string' ? request_id : undefined;
  return { ...members, type, title, detail, status, retryable: retryable === true, request_id: requestId };
}

function answeredByAws({ status, headers }: Response, members: Members | undefined): FailureType | undefined {
  if (status === 429) return 'aws-throttled';
  if (status === 504) return 'aws-function-timeout';
  if (status >= 500) return 'aws-function-failed';
  if (status !== 403) return undefined;
  // Policy refusals say `Message`, refused signatures `message`. The text may repeat the signed request: never quote
  // it.
  const message = members?.message ?? members?.Message;
  const said = `${headers.get('x-amzn-errortype') ?? ''} ${typeof message === 'string' ? message : ''}`;
  return REFUSALS.find(([pattern]) => pattern.test(said))?.[1] ?? 'aws-refused';
}

/** The order matters: the error type `InvalidSignatureException` is common to four refusals. */
const REFUSALS: readonly (readonly [RegExp, FailureType])[] = [
  [/signature expired/i, 'aws-signature-expired'],
  [/signature not yet current/i, 'aws-signature-not-yet-current'],
  [/be scoped to/i, 'aws-wrong-scope'],
  [/ExpiredToken|token .*expired/i, 'aws-security-token-expired'],
  [/UnrecognizedClient|security token .*invalid/i, 'aws-security-token-invalid'],
  [/InvalidSignature|signature we calculated/i, 'aws-signature-mismatch'],
  [/AccessDenied|Forbidden/i, 'aws-forbidden'],
];
