import { randomUUID } from 'node:crypto';
import { oauthError } from '../../functions/broker/http/oauth.ts';
import type { Dialect } from '../../functions/broker/http/request.ts';
import {
  type BrokerResponse,
  problemResponse,
  respond,
  retryAfter,
} from '../../functions/broker/http/token-endpoint.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { type IssuedToken, TokenBrokerError } from '../index.ts';
import { Refusal } from './access.ts';
import { UNREACHABLE } from './forward.ts';

/** Returns a token in the members of the broker's contract, without `passThrough`. */
export function tokenMembers(token: IssuedToken) {
  return {
    access_token: token.accessToken,
    token_type: token.tokenType,
    expires_in: Math.max(0, Math.floor((token.expiresAt - Date.now()) / 1_000)),
    expires_at: token.expiresAtBroker,
    expiry_source: token.expirySource,
    fingerprint: token.fingerprint,
    scope: token.scope,
  };
}

/** Returns the answer to a failure, and a line for the log unless the caller itself caused the failure. */
export function failureAnswer(error: unknown, dialect: Dialect): { answer: BrokerResponse; line?: string } {
  if (error instanceof Refusal) return { answer: error.answer };
  const request_id = randomUUID();
  if (error instanceof Problem) return { answer: problemResponse(error, request_id, dialect) };
  if (!(error instanceof TokenBrokerError)) {
    // The message of a defect may quote the data that caused it.
    const line = `internal: ${error instanceof Error ? error.name : typeof error} (request ${request_id})`;
    return { answer: problemResponse(new Problem('internal', 'The command has a defect.'), request_id, dialect), line };
  }
  const { type, retryable, retryAfterSeconds, advice, problem } = error;
  const hint = problem || !advice ? '' : `. ${advice}`;
  const detail = error.detail + hint;
  // The status of the broker: 5xx where a repetition makes sense, 424 where an operator must act.
  const isApi = type === UNREACHABLE;
  const status = isApi ? 502 : retryable ? 503 : 424;
  const own = { type, title: `The ${isApi ? 'API' : 'broker'} did not answer`, status, detail, retryable, request_id };
  // The detail of the error also names a refused role and its rules.
  const members = problem ? { ...problem, detail: error.caller ? detail : problem.detail } : own;
  const waiting = retryAfter(retryAfterSeconds);
  const answer =
    dialect === 'oauth'
      ? respond(members.status, { ...members, ...oauthError(members) }, waiting)
      : respond(members.status, members, { 'content-type': 'application/problem+json', ...waiting });
  return { answer, line: error.message + hint };
}
