import { type Audit, type AuditRecord, newTrace } from './audit.ts';
import { accessDenied } from './authorize.ts';
import type { Caller } from './caller.ts';
import { parseIssueRequest } from './issue-request.ts';
import type { IssuedToken } from './issued-token.ts';
import { PROBLEMS, Problem } from './problem.ts';
import type { TokenBroker } from './token-broker.ts';

/** One request to the broker, free of the event that brought it. */
export interface BrokerRequest {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly contentType: string | undefined;
  /** `undefined` when the transport encoding of the body is broken. */
  readonly body: Uint8Array | undefined;
  /** `undefined` when the request was not signed by an AWS role. */
  readonly caller: Caller | undefined;
  /** Epoch milliseconds; the answer must be out by then. */
  readonly deadline: number;
}

export interface BrokerResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Dependencies {
  readonly broker: TokenBroker;
  readonly audit: Audit;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Parses, issues, answers, and writes one audit record; the only place where a problem becomes HTTP. Never throws. */
export function createTokenEndpoint({ broker, audit, now }: Dependencies) {
  return async (request: BrokerRequest): Promise<BrokerResponse> => {
    const startedAt = now();
    const record: Draft = {
      requestId: request.requestId,
      operation: 'none',
      caller: request.caller,
      trace: newTrace(),
    };
    try {
      const answer = await issue(request, record);
      audit({ ...record, outcome: 'issued', milliseconds: now() - startedAt });
      return answer;
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem('internal', INTERNAL_DETAIL, { cause: error });
      audit({ ...record, outcome: problem.type, milliseconds: now() - startedAt, cause: problem.cause });
      return problemResponse(problem, request.requestId);
    }
  };

  async function issue(request: BrokerRequest, record: Draft): Promise<BrokerResponse> {
    if (request.caller === undefined) throw accessDenied();
    checkRoute(request);
    record.operation = 'token';
    const wanted = parseIssueRequest(request.contentType, readBody(request));
    record.pair = wanted.pair;

    const startedAt = now();
    const { token, cache } = await broker.issue(request.caller, wanted, request.deadline, record.trace);
    const answeredAt = now();
    Object.assign(record, {
      cache,
      fingerprint: token.fingerprint,
      credentialVersion: token.credentialVersion,
      expirySource: token.expirySource,
    });
    return {
      status: 200,
      headers: {
        ...COMMON_HEADERS,
        'content-type': 'application/json',
        'cache-status': cache === 'none' ? 'token-broker; fwd=miss' : `token-broker; hit; detail=${cache}`,
        'server-timing': `broker;dur=${answeredAt - startedAt}`,
      },
      body: JSON.stringify(answerMembers(token, answeredAt)),
    };
  }
}

type Draft = { -readonly [Member in keyof Omit<AuditRecord, 'outcome' | 'milliseconds'>]: AuditRecord[Member] };

const COMMON_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

const INTERNAL_DETAIL = 'The broker failed. Tell its operators the request_id.';

function checkRoute({ method, path, query }: BrokerRequest): void {
  if (path !== '/token') throw new Problem('not-found', 'The broker answers POST /token.');
  if (method !== 'POST') throw new Problem('method-not-allowed', 'Send a POST.');
  if (query !== '')
    throw new Problem('invalid-request', 'Query parameters are not supported: send members in the body.');
}

function readBody({ body }: BrokerRequest): Uint8Array {
  if (body === undefined) throw new Problem('invalid-request', 'The body is not valid base64.');
  return body;
}

/** Only what the contract names: nothing else of the service's answer leaves the broker. */
function answerMembers(token: IssuedToken, now: number) {
  return {
    ...token.passThrough,
    access_token: token.accessToken.reveal(),
    token_type: token.tokenType,
    expires_in: Math.floor((token.expiresAt - now) / 1_000),
    expires_at: new Date(token.expiresAt).toISOString(),
    expiry_source: token.expirySource,
    fingerprint: token.fingerprint,
    scope: token.scope,
  };
}

/** @see RFC 9457 §3 */
function problemResponse(problem: Problem, requestId: string): BrokerResponse {
  const { status, retryable, title } = PROBLEMS[problem.type];
  const { type, detail, retryAfterSeconds, shape } = problem;
  return {
    status,
    headers: {
      ...COMMON_HEADERS,
      'content-type': 'application/problem+json',
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
      ...(type === 'method-not-allowed' && { allow: 'POST' }),
    },
    body: JSON.stringify({ type, title, status, detail, retryable, request_id: requestId, response_shape: shape }),
  };
}
