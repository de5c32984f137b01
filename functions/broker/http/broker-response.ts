import { PROBLEMS, type Problem } from '../problem.ts';
import type { ProblemAnswer } from './broker-answer.ts';

/** One answer of the broker, free of the host that carries it. */
export interface BrokerResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An answer that nobody may keep. */
export function jsonResponse(members: object, headers: Readonly<Record<string, string>> = {}): BrokerResponse {
  return textResponse(JSON.stringify(members), headers);
}

/** The same of members that are text already. */
export function textResponse(body: string, headers: Readonly<Record<string, string>>): BrokerResponse {
  return { status: 200, headers: { ...COMMON_HEADERS, 'content-type': 'application/json', ...headers }, body };
}

/**
 * A failure as its caller sees it.
 *
 * @see RFC 9457 §3
 */
export function problemResponse(problem: Problem, requestId: string): BrokerResponse {
  const { status, retryable, title } = PROBLEMS[problem.type];
  const { type, detail, retryAfterSeconds, shape } = problem;
  const members: ProblemAnswer = {
    type,
    title,
    status,
    detail,
    retryable,
    request_id: requestId,
    response_shape: shape,
  };
  return {
    status,
    headers: {
      ...COMMON_HEADERS,
      'content-type': 'application/problem+json',
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
      ...(type === 'method-not-allowed' && { allow: 'POST' }),
    },
    body: JSON.stringify(members),
  };
}

const COMMON_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
