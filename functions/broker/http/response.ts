import { PROBLEMS } from '../../contract.ts';
import type { AccessRule, Caller } from '../authorize.ts';
import type { CheckResult } from '../check-credential.ts';
import type { Issue } from '../pair/decision.ts';
import type { Problem } from '../problem.ts';
import type { CheckRequest } from './request.ts';

/** One answer of the broker, free of the host that carries it. */
export interface BrokerResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The 200 of `POST /token` (docs/openapi.yaml tells its members); times are epoch milliseconds. */
export function tokenResponse({ token, cache }: Issue, startedAt: number, now: number): BrokerResponse {
  // Only what the contract names: nothing else of the service's answer leaves the broker.
  const members = {
    ...token.passThrough,
    access_token: token.accessToken.reveal(),
    token_type: token.tokenType,
    expires_in: secondsLeft(token.issuedAt, token.expiresAt, now),
    expires_at: new Date(token.expiresAt).toISOString(),
    expiry_source: token.expirySource,
    fingerprint: token.fingerprint,
    scope: token.scope,
  };
  return respond(200, 'application/json', members, {
    'cache-status': cache === 'none' ? 'token-broker; fwd=miss' : `token-broker; hit; detail=${cache}`,
    'server-timing': `broker;dur=${now - startedAt}`,
  });
}

/** The 200 of `POST /check`: never a token. */
export function checkResponse({ pair, stage }: CheckRequest, result: CheckResult, now: number): BrokerResponse {
  const { finding, version, checkedAt, provenBy, expiresAt, retryAfterSeconds } = result;
  const members = {
    ...pair,
    stage,
    finding,
    version,
    checked_at: new Date(checkedAt).toISOString(),
    proven_by: provenBy,
    expires_in: expiresAt === undefined ? undefined : secondsLeft(checkedAt, expiresAt, now),
  };
  return respond(200, 'application/json', members, retryAfter(retryAfterSeconds));
}

/** The 200 of `POST /whoami`: the role that signed, and what its rules allow it. */
export function whoamiResponse({ partition, account, role }: Caller, rules: readonly AccessRule[]): BrokerResponse {
  const allowed = rules.map(({ clients, services, operations }) => ({ clients, services, operations }));
  const members = { role: `arn:${partition}:iam::${account}:role/${role}`, account, rules: allowed };
  return respond(200, 'application/json', members, {});
}

/** A failure as its caller sees it (RFC 9457 §3). */
export function problemResponse(problem: Problem, requestId: string): BrokerResponse {
  const { type, detail, retryAfterSeconds, shape } = problem;
  const { status, retryable, title } = PROBLEMS[type];
  const body = { type, title, status, detail, retryable, request_id: requestId, response_shape: shape };
  return respond(status, 'application/problem+json', body, {
    ...retryAfter(retryAfterSeconds),
    ...(type === 'method-not-allowed' && { allow: 'POST' }),
  });
}

/** Never more than the whole life: the clock of this environment may lie behind the one that the token was issued by. */
function secondsLeft(issuedAt: number, expiresAt: number, now: number): number {
  return Math.max(0, Math.floor(Math.min(expiresAt - now, expiresAt - issuedAt) / 1_000));
}

function retryAfter(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { 'retry-after': String(seconds) };
}

function respond(status: number, type: string, members: object, more: Record<string, string>): BrokerResponse {
  const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'content-type': type, ...more };
  return { status, headers, body: JSON.stringify(members) };
}
