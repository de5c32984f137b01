import { type Finding, PROBLEMS, type ProblemType, type ProvenBy, type SecretStage } from '../../contract.ts';
import type { CheckResult } from '../check-credential.ts';
import type { Issue } from '../pair/decision.ts';
import type { Problem, ShapeReport } from '../problem.ts';
import type { ExpirySource } from '../token-response/types.ts';
import type { CheckRequest } from './request.ts';

/** One answer of the broker, free of the host that carries it. */
export interface BrokerResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The 200 of `POST /token`; times are epoch milliseconds. */
export function tokenResponse({ token, cache }: Issue, startedAt: number, now: number): BrokerResponse {
  // Only what the contract names: nothing else of the service's answer leaves the broker.
  const members: TokenAnswer = {
    ...token.passThrough,
    access_token: token.accessToken.reveal(),
    token_type: token.tokenType,
    expires_in: secondsLeft(token.issuedAt, token.expiresAt, now),
    expires_at: new Date(token.expiresAt).toISOString(),
    expiry_source: token.expirySource,
    fingerprint: token.fingerprint,
    scope: token.scope,
  };
  return jsonResponse(members, {
    'cache-status': cache === 'none' ? 'token-broker; fwd=miss' : `token-broker; hit; detail=${cache}`,
    'server-timing': `broker;dur=${now - startedAt}`,
  });
}

/** The body of a 200 of `POST /token`; further members are those that the service's settings pass through. */
interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: string;
  /** Whole seconds that are left. */
  readonly expires_in: number;
  /** RFC 3339, in UTC. */
  readonly expires_at: string;
  readonly expiry_source: ExpirySource;
  readonly fingerprint: string;
  readonly scope?: string | undefined;
  readonly [passedThrough: string]: unknown;
}

/** The 200 of `POST /check`: never a token. */
export function checkResponse({ pair, stage }: CheckRequest, result: CheckResult, now: number): BrokerResponse {
  const { finding, version, checkedAt, provenBy, expiresAt, retryAfterSeconds } = result;
  const members: CheckAnswer = {
    ...pair,
    stage,
    finding,
    version,
    checked_at: new Date(checkedAt).toISOString(),
    proven_by: provenBy,
    expires_in: expiresAt === undefined ? undefined : secondsLeft(checkedAt, expiresAt, now),
  };
  return jsonResponse(members, retryAfter(retryAfterSeconds));
}

/** The body of a 200 of `POST /check`. */
interface CheckAnswer {
  readonly client: string;
  readonly service: string;
  readonly stage: SecretStage;
  readonly finding: Finding;
  readonly version?: string | undefined;
  /** RFC 3339, in UTC. */
  readonly checked_at: string;
  readonly proven_by: ProvenBy;
  readonly expires_in?: number | undefined;
}

/**
 * A failure as its caller sees it.
 *
 * @see RFC 9457 §3
 */
export function problemResponse(problem: Problem, requestId: string): BrokerResponse {
  const { type, detail, retryAfterSeconds, shape } = problem;
  const { status, retryable, title } = PROBLEMS[type];
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
      ...retryAfter(retryAfterSeconds),
      ...(type === 'method-not-allowed' && { allow: 'POST' }),
    },
    body: JSON.stringify(members),
  };
}

/** The body of every other answer (RFC 9457 §3). */
interface ProblemAnswer {
  readonly type: ProblemType;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly retryable: boolean;
  readonly request_id: string;
  readonly response_shape?: ShapeReport | undefined;
}

/** Never more than the whole life: the clock of this environment may lie behind the one that the token was issued by. */
function secondsLeft(issuedAt: number, expiresAt: number, now: number): number {
  return Math.max(0, Math.floor(Math.min(expiresAt - now, expiresAt - issuedAt) / 1_000));
}

function jsonResponse(members: object, headers: Readonly<Record<string, string>>): BrokerResponse {
  return {
    status: 200,
    headers: { ...COMMON_HEADERS, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(members),
  };
}

function retryAfter(seconds: number | undefined): Readonly<Record<string, string>> {
  return seconds === undefined ? {} : { 'retry-after': String(seconds) };
}

const COMMON_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
