import { randomUUID } from 'node:crypto';
import { oauthError, oauthToken } from '../../functions/broker/http/oauth.ts';
import {
  type BrokerResponse,
  problemResponse,
  respond,
  retryAfter,
} from '../../functions/broker/http/token-endpoint.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { type IssuedToken, TokenBrokerError } from '../index.ts';
import { Refusal } from './access.ts';

/** A token in the members of the broker's contract. */
export function tokenAnswer(token: IssuedToken, isOAuth: boolean): BrokerResponse {
  const members = {
    ...token.passThrough,
    access_token: token.accessToken,
    token_type: token.tokenType,
    expires_in: Math.max(0, Math.floor((token.expiresAt - Date.now()) / 1_000)),
    expires_at: token.expiresAtBroker,
    expiry_source: token.expirySource,
    fingerprint: token.fingerprint,
    scope: token.scope,
  };
  return respond(200, isOAuth ? oauthToken(members) : members);
}

/** What a caller is told of a failure; and a line for the log, unless the caller itself has caused it. */
export function failureAnswer(error: unknown, isOAuth: boolean): { answer: BrokerResponse; line?: string } {
  if (error instanceof Refusal) return { answer: error.answer };
  const id = randomUUID();
  if (error instanceof Problem) return { answer: problemResponse(error, id, isOAuth) };
  if (!(error instanceof TokenBrokerError)) {
    // The message of a defect may quote what the code stumbled over.
    const line = `internal: ${error instanceof Error ? error.name : typeof error} (request ${id})`;
    return { answer: problemResponse(new Problem('internal', 'The command has a defect.'), id, isOAuth), line };
  }
  const { type, detail, retryable, retryAfterSeconds, problem, message: line } = error;
  // As the broker has it: 5xx where trying again makes sense, 424 where an operator must act.
  const own = { type, title: 'The broker gave no answer', status: retryable ? 503 : 424, detail, retryable };
  const members = problem ?? { ...own, request_id: id };
  const more = isOAuth ? oauthError(members) : {};
  const headers = isOAuth ? {} : { 'content-type': 'application/problem+json' };
  return {
    answer: respond(members.status, { ...members, ...more }, { ...headers, ...retryAfter(retryAfterSeconds) }),
    line,
  };
}
