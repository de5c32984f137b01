import type { CacheUse } from '../audit.ts';
import type { StagedVersions } from '../credential/secret.ts';
import type { Pair } from '../pair.ts';
import { Problem } from '../problem.ts';
import type { Service } from '../service.ts';
import type { Call } from './call.ts';
import { goneProblem } from './choose-version.ts';
import { RENEWAL_MS } from './deadlines.ts';
import { livingToken, type PairRecord, type StoredToken, waitProblem } from './record.ts';

/** The request of a caller with `POST /token`. */
export interface IssueRequest {
  readonly pair: Pair;
  /** The life time that the token should still have. A target, not a condition. */
  readonly minTtlMs: number;
  /** The fingerprint of a token that the service refused. */
  readonly refused: string | undefined;
}

/** Everything that a call knows when it decides on its next step. */
export interface View {
  /** The record, with the versions that this call has sent counted as latched. */
  readonly record: PairRecord;
  /** The source of the record. */
  readonly cache: Exclude<CacheUse, 'none'>;
  /** Read for a check, and without the table. */
  readonly versions?: StagedVersions | undefined;
  /** No lease of another call can be alive. */
  readonly leaseIsOver: boolean;
}

/** The next step of one call. */
export type Step<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** The answer serves. The call that gets the lease tries to replace it first. */
  | { readonly kind: 'renew'; readonly answer: Answer; readonly timeoutMs: number }
  /** Only a new token serves. `forced`: the living token was refused. */
  | { readonly kind: 'request'; readonly forced: boolean }
  /** The answer serves once the living token is removed from the record. */
  | { readonly kind: 'withdraw'; readonly answer: Answer }
  /** Another call is about to bring a token. */
  | { readonly kind: 'wait' };

/** A token for a caller, and its source. */
export interface Issue {
  readonly token: StoredToken;
  readonly cache: CacheUse;
}

/**
 * Decides one step of a call for a token. Checks first what matters most to the caller.
 *
 * @throws Problem why the caller gets no token
 */
export function decideIssue(view: View, { pair, service }: Call, request: IssueRequest, now: number): Step<Issue> {
  const { record, versions } = view;
  if (record.disabled) {
    throw new Problem('client-disabled', 'An operator has disabled this client. Only an operator can enable it again.');
  }
  const gone = versions && goneProblem(versions, pair);
  if (gone !== undefined) throw gone;

  const token = livingToken(record, now);
  const isNamed = token !== undefined && token.fingerprint === request.refused;
  const isRefused = isNamed && !isAllThereIs(token, record, now);
  if (token !== undefined && !isRefused) return issueOrRenew(token, view, service, request.minTtlMs, now);

  const { pause } = record;
  if (pause !== undefined && now < pause.until) throw waitProblem(pause, now);
  if (!view.leaseIsOver) return { kind: 'wait' };
  if (isRefused) checkRefusal(token, record, now);
  return { kind: 'request', forced: isRefused };
}

/** The service answered a refusal with the same token. It may do so from a cache, so a later refusal counts again. */
function isAllThereIs(token: StoredToken, { forcedAt }: PairRecord, now: number): boolean {
  // The pause is as long as the token was old at the last refusal, so the pauses double.
  const ageMs = forcedAt - (token.expiresAt - token.lifetimeSeenMs);
  const intervalMs = Math.min(MAX_SAME_TOKEN_INTERVAL_MS, Math.max(SAME_TOKEN_INTERVAL_MS, ageMs));
  return token.sameTokenAgain && now - forcedAt < intervalMs;
}

/** @throws Problem `refused-again` for a token that is too new to be replaced */
function checkRefusal({ issuedAt }: StoredToken, { attemptedAt, forcedAt }: PairRecord, now: number): void {
  const successor = { until: forcedAt + FORCE_INTERVAL_MS, detail: SUCCESSOR };
  const published = { until: Math.min(attemptedAt + SETTLING_MS, issuedAt + MAX_SETTLING_MS), detail: PUBLISHED };
  const { until, detail } = successor.until > published.until ? successor : published;
  if (now < until) throw new Problem('refused-again', detail, { retryAfterSeconds: Math.ceil((until - now) / 1_000) });
}

const SUCCESSOR = 'This token is the successor of one that was refused less than 30 seconds ago.';
const PUBLISHED = 'This token is a few seconds old: the service may not know it everywhere yet. Use it again.';

function issueOrRenew(token: StoredToken, view: View, service: Service, minTtlMs: number, now: number): Step<Issue> {
  const { record, cache } = view;
  const answer: Issue = { token, cache };
  const renewal = (timeoutMs: number) => ({ kind: 'renew', answer, timeoutMs }) as const;
  const isLocked = !view.leaseIsOver || now < (record.pause?.until ?? 0);
  if (isLocked || service.singleActiveToken) return { kind: 'answer', answer };
  const quietMs = now - record.attemptedAt;
  // Expects a new token to live as long as the longest token so far.
  const isTooShort = token.expiresAt - now < minTtlMs && minTtlMs <= token.lifetimeSeenMs;
  if (isTooShort && quietMs >= MIN_TTL_INTERVAL_MS) return renewal(service.requestTimeoutMs);
  const isDue = now >= token.refreshAt && quietMs >= RENEWAL_INTERVAL_MS;
  return isDue ? renewal(RENEWAL_MS) : { kind: 'answer', answer };
}

/** The shortest time between two requests that replace a refused token. */
const FORCE_INTERVAL_MS = 30_000;
const SAME_TOKEN_INTERVAL_MS = 60_000;
const MAX_SAME_TOKEN_INTERVAL_MS = 300_000;
/** A service may need this long to spread a new token. A replacement would only begin the delay again. */
const SETTLING_MS = 5_000;
/** The same from the start of the token request. Later leases change the time of the publication. */
const MAX_SETTLING_MS = 9_000;
const MIN_TTL_INTERVAL_MS = 30_000;
/** No instance renews for this long after any attempt. */
const RENEWAL_INTERVAL_MS = 15_000;
