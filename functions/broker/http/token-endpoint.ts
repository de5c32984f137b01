import { PROBLEMS } from '../../vocabulary.ts';
import { type Audit, type AuditRecord, newTrace } from '../audit.ts';
import { accessDenied, type Caller, type RulesOf } from '../authorize.ts';
import type { CheckRequest, CheckResult } from '../check-credential.ts';
import type { Issue } from '../pair/decision.ts';
import { Problem } from '../problem.ts';
import type { TokenBroker } from '../token-broker.ts';
import { oauthError, oauthToken } from './oauth.ts';
import {
  type Dialect,
  parseCheckRequest,
  parseIssueRequest,
  parseOAuthForm,
  parseWhoamiRequest,
  readOAuthForm,
} from './request.ts';

/** One request to the broker, independent of the event that contains it. */
export interface BrokerRequest {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly contentType: string | undefined;
  /** A text or bytes as they were sent, `undefined` when the transport encoding is broken. */
  readonly body: string | Uint8Array | undefined;
  /** `undefined` when the request was not signed by an AWS role. */
  readonly caller: Caller | undefined;
  /** The ARN of a signer that is not a role. */
  readonly signer?: string | undefined;
  readonly sourceIp?: string | undefined;
  /** The latest time for the answer, in epoch milliseconds. */
  readonly deadline: number;
}

/** One answer of the broker, independent of its host. */
export interface BrokerResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Dependencies {
  readonly broker: TokenBroker;
  readonly rulesOf: RulesOf;
  /** Identifies the access rules. Only roles that have a rule see it. */
  readonly rulesDigest?: string | undefined;
  readonly audit: Audit;
  readonly now: () => number;
}

/** Answers requests and writes one audit record for each. Only this file turns a problem into HTTP. Never throws. */
export function createTokenEndpoint(dependencies: Dependencies) {
  const { broker, rulesOf, rulesDigest, audit, now } = dependencies;
  return async (request: BrokerRequest): Promise<BrokerResponse> => {
    const startedAt = now();
    const { requestId, method, path, contentType, body, caller, signer, sourceIp } = request;
    const isToken = method === 'POST' && path === '/token' && body !== undefined;
    const form = isToken ? readOAuthForm(contentType, body) : undefined;
    const record: Draft = { requestId, caller, signer, sourceIp, trace: newTrace() };
    try {
      const answer = await answerTo(request, form, record);
      audit({ ...record, outcome: answer.outcome, milliseconds: now() - startedAt });
      return answer.response;
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem('internal', OPAQUE, { cause: error });
      audit({ ...record, outcome: problem.type, milliseconds: now() - startedAt, cause: problem.cause });
      return problemResponse(problem, requestId, form && 'oauth');
    }
  };

  async function answerTo(request: BrokerRequest, form: URLSearchParams | undefined, record: Draft): Promise<Answer> {
    const { caller, method, path, query, contentType, body, deadline } = request;
    if (caller === undefined) throw accessDenied(request.signer);
    const operation = OPERATIONS.find((name) => path === `/${name}`);
    if (operation === undefined) {
      throw new Problem('not-found', 'The broker answers POST /token, POST /check and POST /whoami.');
    }
    if (method !== 'POST') throw new Problem('method-not-allowed', 'Send a POST.');
    if (query !== '') throw new Problem('invalid-request', NO_QUERY);
    record.operation = operation;
    if (body === undefined) throw new Problem('invalid-request', 'The body is not valid base64.');

    if (operation === 'whoami') {
      parseWhoamiRequest(body);
      return { outcome: 'identified', response: whoamiResponse(caller) };
    }
    if (operation === 'check') {
      const wanted = parseCheckRequest(contentType, body);
      record.pair = wanted.pair;
      const result = await broker.check(caller, wanted, deadline, record.trace);
      record.credentialVersion = result.version;
      record.cause = result.cause;
      record.credentialExpiry = result.credentialExpiry;
      return { outcome: result.finding, response: checkResponse(wanted, result, now()) };
    }
    // The members are parsed only when the caller is known.
    const wanted = form === undefined ? parseIssueRequest(contentType, body) : parseOAuthForm(form);
    record.pair = wanted.pair;
    record.forced = wanted.refused !== undefined;
    record.minTtl = wanted.minTtlMs / 1_000;
    const startedAt = now();
    const issued = await broker.issue(caller, wanted, deadline, record.trace);
    record.cache = issued.cache;
    record.fingerprint = issued.token.fingerprint;
    record.credentialVersion = issued.token.credentialVersion;
    record.expirySource = issued.token.expirySource;
    return { outcome: 'issued', response: tokenResponse(issued, startedAt, now(), form && 'oauth') };
  }

  function whoamiResponse(caller: Caller): BrokerResponse {
    const { partition, account, role } = caller;
    const own = rulesOf(caller);
    const rules = own.map(({ clients, services, operations }) => ({ clients, services, operations }));
    const identity = { role: `arn:${partition}:iam::${account}:role/${role}`, account, rules };
    return respond(200, { ...identity, ...(own.length > 0 && { rules_digest: rulesDigest }) });
  }
}

const OPERATIONS = ['token', 'check', 'whoami'] as const;
const OPAQUE = 'The broker failed. Tell its operators the request_id.';
const NO_QUERY = 'Query parameters are not supported: send members in the body.';

/** The audit record of a request that has no outcome yet. */
type Draft = Pick<AuditRecord, 'requestId' | 'trace'> & {
  -readonly [Member in Exclude<keyof AuditRecord, 'outcome'>]?: AuditRecord[Member];
};

interface Answer extends Pick<AuditRecord, 'outcome'> {
  readonly response: BrokerResponse;
}

/** Returns only the members of docs/openapi.yaml. No other part of the service's answer leaves the broker. */
function tokenResponse({ token, cache }: Issue, startedAt: number, now: number, dialect?: Dialect): BrokerResponse {
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
  return respond(200, dialect === 'oauth' ? oauthToken(members) : members, {
    'cache-status': cache === 'none' ? 'token-broker; fwd=miss' : `token-broker; hit; detail=${cache}`,
    'server-timing': `broker;dur=${now - startedAt}`,
  });
}

function checkResponse({ pair, stage }: CheckRequest, result: CheckResult, now: number): BrokerResponse {
  const { finding, detail, cause, version, checkedAt, provenBy, expiresAt, retryAfterSeconds } = result;
  const members = {
    ...pair,
    stage,
    finding,
    detail,
    cause,
    version,
    checked_at: new Date(checkedAt).toISOString(),
    proven_by: provenBy,
    expires_in: expiresAt === undefined ? undefined : secondsLeft(checkedAt, expiresAt, now),
    credential_expires_at: result.credentialExpiry,
  };
  return respond(200, members, retryAfter(retryAfterSeconds));
}

/** Returns a problem (RFC 9457 §3), for OAuth libraries together with the members of an error (RFC 6749 §5.2). */
export function problemResponse(problem: Problem, requestId: string, dialect: Dialect = 'broker'): BrokerResponse {
  const { type, detail, retryAfterSeconds, shape } = problem;
  const { status, retryable, title } = PROBLEMS[type];
  const body = { type, title, status, detail, retryable, request_id: requestId, response_shape: shape };
  const waiting = retryAfter(retryAfterSeconds);
  if (dialect === 'oauth') return respond(status, { ...body, ...oauthError(body, problem.cause) }, waiting);
  const headers = { 'content-type': 'application/problem+json', ...waiting };
  return respond(status, body, type === 'method-not-allowed' ? { ...headers, allow: 'POST' } : headers);
}

/** Returns at most the whole life time. The clock of this instance may be behind the clock of the issuing instance. */
function secondsLeft(issuedAt: number, expiresAt: number, now: number): number {
  return Math.max(0, Math.floor(Math.min(expiresAt - now, expiresAt - issuedAt) / 1_000));
}

export function retryAfter(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { 'retry-after': String(seconds) };
}

export function respond(status: number, members: object, more: Record<string, string> = {}): BrokerResponse {
  const always = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  const headers = { ...always, 'content-type': 'application/json', ...more };
  return { status, headers, body: JSON.stringify(members) };
}
