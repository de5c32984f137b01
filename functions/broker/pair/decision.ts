import type { IssueRequest } from '../http/request.ts';
import { Problem } from '../problem.ts';
import type { Sendable } from './choose-version.ts';
import { isBelowMinTtl, isIssuable } from './freshness.ts';
import { pauseProblem } from './pause.ts';
import type { PairRecord, StoredToken } from './record.ts';

/** What to do next for one call. */
export type Step =
  | { readonly kind: 'issue'; readonly token: StoredToken }
  /** The token serves; whoever gets the lease tries to replace it, for as long as `patienceMs` while its caller waits. */
  | { readonly kind: 'renew'; readonly token: StoredToken; readonly patienceMs: number }
  /** Only a new token serves; `force`: because the one that lives was refused. */
  | { readonly kind: 'request' | 'force' }
  /** Only a new token serves, and somebody else is about to bring it. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'fail'; readonly problem: Problem };

export interface Situation {
  readonly record: PairRecord;
  readonly request: IssueRequest;
  readonly sendable: Sendable;
  /** The lease is over, or has been watched for its whole length. */
  readonly leaseIsOver: boolean;
  readonly singleActiveToken: boolean;
  readonly requestTimeoutMs: number;
  readonly now: number;
}

/** Decides one step from what is known; the order of the checks is the order of what matters to the caller. */
export function decide(situation: Situation): Step {
  const { record, request, sendable, leaseIsOver, now } = situation;
  if (record.disabled) return fail(clientDisabled());
  if (sendable.kind === 'none' && sendable.endsTokens) return fail(sendable.problem);

  const token = livingToken(record, now);
  const isRefused = token !== undefined && token.fingerprint === request.refused && !token.refusalIsIdle;
  if (token !== undefined && !isRefused) return issueOrRenew(token, situation);

  if (record.pause !== undefined && now < record.pause.until) return fail(pauseProblem(record.pause, now));
  const isHopeless = sendable.kind === 'none' && sendable.problem.type !== 'secrets-unavailable';
  if (!leaseIsOver && !isHopeless) return { kind: 'wait' };
  if (sendable.kind === 'none') return fail(sendable.problem);
  const forceableAt = record.forcedAt + FORCE_INTERVAL_MS;
  if (isRefused && now < forceableAt) return fail(refusedAgain(forceableAt - now));
  return { kind: isRefused ? 'force' : 'request' };
}

function issueOrRenew(token: StoredToken, situation: Situation): Step {
  const { record, request, sendable, leaseIsOver, singleActiveToken, requestTimeoutMs, now } = situation;
  const quietMs = now - record.attemptedAt;
  const mayRenew =
    !singleActiveToken &&
    sendable.kind === 'version' &&
    leaseIsOver &&
    (record.pause === undefined || now >= record.pause.until);

  const isBelow = isBelowMinTtl(lifeOf(token, record), request.minTtlMs, now);
  if (mayRenew && isBelow && quietMs >= MIN_TTL_INTERVAL_MS) {
    return { kind: 'renew', token, patienceMs: requestTimeoutMs };
  }
  const isSuperseded =
    sendable.version?.stage === 'AWSCURRENT' && sendable.version.versionId !== token.credentialVersion;
  if (mayRenew && (now >= token.refreshAt || isSuperseded) && quietMs >= REFRESH_INTERVAL_MS) {
    return { kind: 'renew', token, patienceMs: refreshPatienceMs(token, situation) };
  }
  return { kind: 'issue', token };
}

/**
 * A second, as a rule. A rejection that nobody waited for is not counted, and many services take longer than that to say
 * no: a version that is new, or whose last request was given up, is waited for until the service has answered. So is
 * one that there is no time to try twice.
 */
function refreshPatienceMs(token: StoredToken, { record, sendable, requestTimeoutMs, now }: Situation): number {
  const isProven = sendable.version?.versionId === token.credentialVersion;
  const wasGivenUp = record.pause?.problem.type === 'token-endpoint-timeout';
  const isLast = !isIssuable(lifeOf(token, record), now + LAST_REFRESH_MS);
  return isProven && !wasGivenUp && !isLast ? REFRESH_PATIENCE_MS : requestTimeoutMs;
}

function livingToken(record: PairRecord, now: number): StoredToken | undefined {
  const { token } = record;
  return token !== undefined && isIssuable(lifeOf(token, record), now) ? token : undefined;
}

function lifeOf({ expiresAt }: StoredToken, { lifetimeSeenMs }: PairRecord) {
  return { expiresAt, lifetimeSeenMs };
}

function fail(problem: Problem): Step {
  return { kind: 'fail', problem };
}

function clientDisabled(): Problem {
  return new Problem(
    'credential-missing',
    'An operator has disabled this client. Only an operator can enable it again.',
  );
}

function refusedAgain(waitMs: number): Problem {
  return new Problem('refused-again', 'This token is the successor of one that was refused less than 30 seconds ago.', {
    retryAfterSeconds: Math.ceil(waitMs / 1_000),
  });
}

/** A refused token is replaced at most this often. */
const FORCE_INTERVAL_MS = 30_000;
const MIN_TTL_INTERVAL_MS = 30_000;
/** After any attempt nobody refreshes for this long. */
const REFRESH_INTERVAL_MS = 15_000;
/** How long the caller that refreshes waits before it gets the token that still lives. */
const REFRESH_PATIENCE_MS = 1_000;
/** That second, the pause after it, and some room. */
const LAST_REFRESH_MS = 3_000;
