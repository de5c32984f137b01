import { type BrokerProblem, type FailureType, failure, TokenBrokerError } from './error.ts';
import { isJsonObject, parseJson } from './json.ts';
import type { Answer } from './send.ts';

/** Tells who refused and why: the broker (its problem), AWS in front of it, or something that is neither. */
export function readFailure(answer: Answer): TokenBrokerError {
  const { status } = answer;
  const retryAfterSeconds = readRetryAfter(answer.headers);
  const body = parseJson(answer.text);

  const problem = readProblem(answer, body);
  if (problem !== undefined) {
    const { type, detail, retryable, request_id } = problem;
    const more = request_id === undefined ? '' : ` (request ${request_id})`;
    return new TokenBrokerError(type, detail + more, { status, retryable, retryAfterSeconds, problem });
  }

  const type = answeredByAws(answer, body);
  if (type !== undefined) return failure(type, '', { status, retryAfterSeconds });
  return failure('unexpected-answer', `status ${status} and no problem`, { status });
}

function readProblem({ status, headers }: Answer, body: unknown): BrokerProblem | undefined {
  if (!headers.get('content-type')?.startsWith('application/problem+json') || !isJsonObject(body)) return undefined;
  const { type, title, detail, retryable, request_id } = body;
  if (typeof type !== 'string' || typeof title !== 'string' || typeof detail !== 'string') return undefined;
  const requestId = typeof request_id === 'string' ? request_id : undefined;
  return { ...body, type, title, detail, status, retryable: retryable === true, request_id: requestId };
}

function answeredByAws({ status, headers }: Answer, body: unknown): FailureType | undefined {
  if (status === 429) return 'aws-throttled';
  if (status === 504) return 'aws-function-timeout';
  if (status >= 500) return 'aws-function-failed';
  if (status !== 403) return undefined;
  const said = `${headers.get('x-amzn-errortype') ?? ''} ${messageOf(body)}`;
  return REFUSALS.find(([pattern]) => pattern.test(said))?.[1] ?? 'aws-refused';
}

/** Policy refusals say `Message`, refused signatures `message`. Neither is quoted: it may repeat what was signed. */
function messageOf(body: unknown): string {
  if (!isJsonObject(body)) return '';
  const message = body.message ?? body.Message;
  return typeof message === 'string' ? message : '';
}

/** In this order: the error type `InvalidSignatureException` is common to four of them. */
const REFUSALS: readonly (readonly [RegExp, FailureType])[] = [
  [/signature expired/i, 'aws-signature-expired'],
  [/signature not yet current/i, 'aws-signature-not-yet-current'],
  [/be scoped to/i, 'aws-wrong-scope'],
  [/ExpiredToken|token .*expired/i, 'aws-security-token-expired'],
  [/UnrecognizedClient|security token .*invalid/i, 'aws-security-token-invalid'],
  [/InvalidSignature|signature we calculated/i, 'aws-signature-mismatch'],
  [/AccessDenied|Forbidden/i, 'aws-forbidden'],
];

function readRetryAfter(headers: Headers): number | undefined {
  const seconds = headers.get('retry-after');
  return seconds !== null && /^\d{1,6}$/.test(seconds) ? Number(seconds) : undefined;
}
