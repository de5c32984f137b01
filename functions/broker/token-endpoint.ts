import { type Audit, type AuditRecord, newTrace } from './audit.ts';
import { accessDenied } from './authorize.ts';
import type { CheckAnswer, TokenAnswer } from './broker-answer.ts';
import { type BrokerResponse, jsonResponse, problemResponse } from './broker-response.ts';
import type { Caller } from './caller.ts';
import { type CheckRequest, parseCheckRequest } from './check-request.ts';
import type { CheckResult } from './checker.ts';
import { parseIssueRequest } from './issue-request.ts';
import type { IssuedToken } from './issued-token.ts';
import { Problem } from './problem.ts';
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

interface Dependencies {
  readonly broker: TokenBroker;
  readonly audit: Audit;
  /** Gives what the work gives, `undefined` when that has not come in so many milliseconds. */
  readonly inTime: <Result>(ms: number, work: Promise<Result>) => Promise<Result | undefined>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Parses, issues or checks, answers, and writes one audit record; the only place where a problem becomes HTTP. Never throws. */
export function createTokenEndpoint({ broker, audit, inTime, now }: Dependencies) {
  const operations: Readonly<Record<string, Operation>> = { '/token': issue, '/check': check };

  return async (request: BrokerRequest): Promise<BrokerResponse> => {
    const startedAt = now();
    const record: Draft = { requestId: request.requestId, caller: request.caller, trace: newTrace() };
    try {
      // The deadline binds all that a call begins; this also ends its wait for what another call has begun.
      const answer = await inTime(request.deadline + GRACE_MS - startedAt, answerTo(request, record));
      if (answer === undefined) throw new Problem('token-endpoint-timeout', LATE_DETAIL, { retryAfterSeconds: 1 });
      audit({ outcome: 'issued', ...record, milliseconds: now() - startedAt });
      return answer;
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem('internal', INTERNAL_DETAIL, { cause: error });
      audit({ ...record, outcome: problem.type, milliseconds: now() - startedAt, cause: problem.cause });
      return problemResponse(problem, request.requestId);
    }
  };

  async function answerTo(request: BrokerRequest, record: Draft): Promise<BrokerResponse> {
    const { caller, method, path, query } = request;
    if (caller === undefined) throw accessDenied();
    const operation = Object.hasOwn(operations, path) ? operations[path] : undefined;
    if (operation === undefined) throw new Problem('not-found', 'The broker answers POST /token and POST /check.');
    if (method !== 'POST') throw new Problem('method-not-allowed', 'Send a POST.');
    if (query !== '') throw new Problem('invalid-request', QUERY_DETAIL);
    return operation({ ...request, caller }, record);
  }

  async function issue(request: SignedRequest, record: Draft): Promise<BrokerResponse> {
    record.operation = 'token';
    const wanted = parseIssueRequest(request.contentType, readBody(request));
    record.pair = wanted.pair;

    const startedAt = now();
    const { token, cache } = await broker.issue(request.caller, wanted, request.deadline, record.trace);
    const answeredAt = now();
    const { fingerprint, credentialVersion, expirySource } = token;
    Object.assign(record, { cache, fingerprint, credentialVersion, expirySource });
    return jsonResponse(issueMembers(token, answeredAt), {
      'cache-status': cache === 'none' ? 'token-broker; fwd=miss' : `token-broker; hit; detail=${cache}`,
      'server-timing': `broker;dur=${answeredAt - startedAt}`,
    });
  }

  async function check(request: SignedRequest, record: Draft): Promise<BrokerResponse> {
    record.operation = 'check';
    const wanted = parseCheckRequest(request.contentType, readBody(request));
    record.pair = wanted.pair;

    const result = await broker.check(request.caller, wanted, request.deadline, record.trace);
    Object.assign(record, { outcome: result.finding, credentialVersion: result.version });
    return jsonResponse(checkMembers(wanted, result, now()));
  }
}

type Operation = (request: SignedRequest, record: Draft) => Promise<BrokerResponse>;

type SignedRequest = BrokerRequest & { readonly caller: Caller };

type Draft = Pick<AuditRecord, 'requestId' | 'trace'> & {
  -readonly [Member in keyof AuditRecord]?: AuditRecord[Member];
};

/** Half of what the deadline leaves of Lambda's time: the answer is out before Lambda ends the invocation. */
const GRACE_MS = 250;

const LATE_DETAIL = 'No answer came in time.';

const INTERNAL_DETAIL = 'The broker failed. Tell its operators the request_id.';

const QUERY_DETAIL = 'Query parameters are not supported: send members in the body.';

function readBody({ body }: BrokerRequest): Uint8Array {
  if (body === undefined) throw new Problem('invalid-request', 'The body is not valid base64.');
  return body;
}

/** Only what the contract names: nothing else of the service's answer leaves the broker. */
function issueMembers(token: IssuedToken, now: number): TokenAnswer {
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

/** What a check may tell: never a token. */
function checkMembers({ pair, stage }: CheckRequest, result: CheckResult, now: number): CheckAnswer {
  const { finding, version, checkedAt, provenBy, expiresAt } = result;
  return {
    ...pair,
    stage,
    finding,
    version,
    checked_at: new Date(checkedAt).toISOString(),
    proven_by: provenBy,
    expires_in: expiresAt === undefined ? undefined : Math.max(0, Math.floor((expiresAt - now) / 1_000)),
  };
}
