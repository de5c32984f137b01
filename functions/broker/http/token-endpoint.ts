import { type Audit, type AuditRecord, newTrace } from '../audit.ts';
import { accessDenied } from '../authorize.ts';
import type { Caller } from '../caller.ts';
import type { CheckResult } from '../check-credential.ts';
import { Problem } from '../problem.ts';
import type { Issue, TokenBroker } from '../token-broker.ts';
import type { CheckAnswer } from './broker-answer.ts';
import { type BrokerResponse, jsonResponse, problemResponse, textResponse } from './broker-response.ts';
import { type CheckRequest, parseCheckRequest } from './check-request.ts';
import { createIssueRequestReader } from './issue-request.ts';
import { tokenAnswerText } from './token-answer.ts';

/** One request to the broker, free of the event that brought it. */
export interface BrokerRequest {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly contentType: string | undefined;
  /** As it travelled, a text or bytes; `undefined` when its transport encoding is broken. */
  readonly body: string | Uint8Array | undefined;
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
  const readIssueRequest = createIssueRequestReader();

  return async (request: BrokerRequest): Promise<BrokerResponse> => {
    const startedAt = now();
    const record: Draft = { requestId: request.requestId, caller: request.caller, trace: newTrace() };
    try {
      const answering = answerTo(request, record);
      // The deadline binds all that a call begins; this also ends its wait for what another call has begun.
      const limitMs = request.deadline + GRACE_MS - startedAt;
      const answer = answering instanceof Promise ? await inTime(limitMs, answering) : answering;
      if (answer === undefined) throw new Problem('token-endpoint-timeout', LATE_DETAIL, { retryAfterSeconds: 1 });
      audit({ outcome: 'issued', ...record, milliseconds: now() - startedAt });
      return answer;
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem('internal', INTERNAL_DETAIL, { cause: error });
      audit({ ...record, outcome: problem.type, milliseconds: now() - startedAt, cause: problem.cause });
      return problemResponse(problem, request.requestId);
    }
  };

  function answerTo(request: BrokerRequest, record: Draft): BrokerResponse | Promise<BrokerResponse> {
    const { caller, method, path, query } = request;
    if (caller === undefined) throw accessDenied();
    const operation = Object.hasOwn(operations, path) ? operations[path] : undefined;
    if (operation === undefined) throw new Problem('not-found', 'The broker answers POST /token and POST /check.');
    if (method !== 'POST') throw new Problem('method-not-allowed', 'Send a POST.');
    if (query !== '') throw new Problem('invalid-request', QUERY_DETAIL);
    return operation({ ...request, caller }, record);
  }

  function issue(request: SignedRequest, record: Draft): BrokerResponse | Promise<BrokerResponse> {
    record.operation = 'token';
    const wanted = readIssueRequest(request.contentType, readBody(request));
    record.pair = wanted.pair;

    const startedAt = now();
    const issuing = broker.issue(request.caller, wanted, request.deadline, record.trace);
    const respond = (issued: Issue) => issueResponse(issued, record, startedAt);
    return issuing instanceof Promise ? issuing.then(respond) : respond(issuing);
  }

  function issueResponse({ token, cache }: Issue, record: Draft, startedAt: number): BrokerResponse {
    const answeredAt = now();
    record.cache = cache;
    record.fingerprint = token.fingerprint;
    record.credentialVersion = token.credentialVersion;
    record.expirySource = token.expirySource;
    return textResponse(tokenAnswerText(token, answeredAt), {
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

/** What needs nothing of anybody else is answered at once. */
type Operation = (request: SignedRequest, record: Draft) => BrokerResponse | Promise<BrokerResponse>;

type SignedRequest = BrokerRequest & { readonly caller: Caller };

type Draft = Pick<AuditRecord, 'requestId' | 'trace'> & {
  -readonly [Member in keyof AuditRecord]?: AuditRecord[Member];
};

/** Half of what the deadline leaves of Lambda's time: the answer is out before Lambda ends the invocation. */
const GRACE_MS = 250;

const LATE_DETAIL = 'No answer came in time.';

const INTERNAL_DETAIL = 'The broker failed. Tell its operators the request_id.';

const QUERY_DETAIL = 'Query parameters are not supported: send members in the body.';

function readBody({ body }: BrokerRequest): string | Uint8Array {
  if (body === undefined) throw new Problem('invalid-request', 'The body is not valid base64.');
  return body;
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
