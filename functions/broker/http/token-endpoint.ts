import { type Audit, type AuditRecord, newTrace } from '../audit.ts';
import { type AccessRule, accessDenied, type Caller, rulesOf } from '../authorize.ts';
import { answerEnd } from '../pair/deadlines.ts';
import { Problem } from '../problem.ts';
import type { TokenBroker } from '../token-broker.ts';
import { parseCheckRequest, parseIssueRequest, parseWhoamiRequest } from './request.ts';
import { type BrokerResponse, checkResponse, problemResponse, tokenResponse, whoamiResponse } from './response.ts';

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
  readonly sourceIp?: string | undefined;
  /** Epoch milliseconds; the answer must be out by then. */
  readonly deadline: number;
}

interface Dependencies {
  readonly broker: TokenBroker;
  readonly accessRules: readonly AccessRule[];
  /** As `createAuthorize` takes it. */
  readonly principalOrgId?: string | undefined;
  readonly audit: Audit;
  /** Gives what the work gives, `undefined` when that has not come in so many milliseconds. */
  readonly inTime: <Result>(ms: number, work: Promise<Result>) => Promise<Result | undefined>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Answers a request and writes one audit record; the only place where a problem becomes HTTP. Never throws. */
export function createTokenEndpoint({ broker, accessRules, principalOrgId, audit, inTime, now }: Dependencies) {
  return async (request: BrokerRequest): Promise<BrokerResponse> => {
    const startedAt = now();
    const { requestId, caller, sourceIp } = request;
    const record: Draft = { requestId, caller, sourceIp, trace: newTrace() };
    try {
      // The deadline binds all that a call begins; this also ends its wait for what another call has begun.
      const answer = await inTime(answerEnd(request.deadline) - startedAt, answerTo(request, record));
      if (answer === undefined)
        throw new Problem('token-endpoint-timeout', 'No answer came in time.', { retryAfterSeconds: 1 });
      audit({ outcome: 'issued', ...record, milliseconds: now() - startedAt });
      return answer;
    } catch (error) {
      const opaque = 'The broker failed. Tell its operators the request_id.';
      const problem = error instanceof Problem ? error : new Problem('internal', opaque, { cause: error });
      audit({ ...record, outcome: problem.type, milliseconds: now() - startedAt, cause: problem.cause });
      return problemResponse(problem, requestId);
    }
  };

  async function answerTo(request: BrokerRequest, record: Draft): Promise<BrokerResponse> {
    const { caller, method, path, query, contentType, body, deadline } = request;
    if (caller === undefined) throw accessDenied();
    if (path !== '/token' && path !== '/check' && path !== '/whoami') {
      throw new Problem('not-found', 'The broker answers POST /token, POST /check and POST /whoami.');
    }
    if (method !== 'POST') throw new Problem('method-not-allowed', 'Send a POST.');
    if (query !== '') {
      throw new Problem('invalid-request', 'Query parameters are not supported: send members in the body.');
    }
    record.operation = path === '/token' ? 'token' : path === '/check' ? 'check' : 'whoami';
    if (body === undefined) throw new Problem('invalid-request', 'The body is not valid base64.');

    if (record.operation === 'whoami') {
      parseWhoamiRequest(body);
      record.outcome = 'identified';
      return whoamiResponse(caller, rulesOf(accessRules, caller, principalOrgId));
    }
    if (record.operation === 'check') {
      const wanted = parseCheckRequest(contentType, body);
      record.pair = wanted.pair;
      const result = await broker.check(caller, wanted, deadline, record.trace);
      record.outcome = result.finding;
      record.credentialVersion = result.version;
      return checkResponse(wanted, result, now());
    }
    const wanted = parseIssueRequest(contentType, body);
    record.pair = wanted.pair;
    record.forced = wanted.refused !== undefined;
    record.minTtl = wanted.minTtlMs / 1_000;
    const startedAt = now();
    const issued = await broker.issue(caller, wanted, deadline, record.trace);
    record.cache = issued.cache;
    record.fingerprint = issued.token.fingerprint;
    record.credentialVersion = issued.token.credentialVersion;
    record.expirySource = issued.token.expirySource;
    return tokenResponse(issued, startedAt, now());
  }
}

type Draft = Pick<AuditRecord, 'requestId' | 'trace'> & {
  -readonly [Member in keyof AuditRecord]?: AuditRecord[Member];
};
