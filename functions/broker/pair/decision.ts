import type { SecretStage } from '../../contract.ts';
import type { CacheUse, Trace } from '../audit.ts';
import type { StagedVersions } from '../credential/secret.ts';
import type { IssueRequest } from '../http/request.ts';
import { Problem } from '../problem.ts';
import type { Service } from '../service.ts';
import { goneProblem } from './choose-version.ts';
import { RENEWAL_MS } from './deadlines.ts';
import { isBelowMinTtl, isIssuable } from './freshness.ts';
import { waitProblem } from './latch-and-pause.ts';
import type { Pair } from './pair.ts';
import type { PairRecord, StoredToken, Wait } from './record.ts';

/** One call of one caller that concerns a pair. */
export interface Call {
  readonly pair: Pair;
  readonly service: Service;
  /** Of what a service's settings say of its token requests: part of the keys of holds. */
  readonly settingsDigest: string;
  /** Which version is checked; left out by a call for a token. */
  readonly stage?: SecretStage | undefined;
  /** Epoch milliseconds, like all times. */
  readonly startedAt: number;
  readonly deadline: number;
  /** Unique: signs the leases that this call takes. */
  readonly owner: string;
  readonly trace: Trace;
}

/** What one call knows when it decides what to do next. */
export interface View {
  readonly record: PairRecord;
  /** The shared record is out of reach or cannot be opened: the environment goes by what it knows itself. */
  readonly isAlone: boolean;
  /** The record is the one that memory holds. */
  readonly isMemory: boolean;
  /** Read when the environment is alone, and for a check; left out otherwise. */
  readonly versions?: StagedVersions | undefined;
  /** The lease is free, mine, or was watched for its whole length. */
  readonly leaseIsOver: boolean;
  /** The lease still names a holder that was watched for its whole length. */
  readonly observedExpired: boolean;
  /** This call has not tried to renew the token yet. */
  readonly mayRenew: boolean;
}

/** What to do next for one call. */
export type Step<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** The answer serves; the call that gets the lease tries to replace it first. */
  | { readonly kind: 'renew'; readonly answer: Answer; readonly timeoutMs: number }
  /** Only a new token serves; `forced`: because the living one was refused. */
  | { readonly kind: 'request'; readonly forced: boolean }
  /** The answer serves once the living token is removed from the record. */
  | { readonly kind: 'withdraw'; readonly answer: Answer }
  /** Another call is about to bring what is needed. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'fail'; readonly problem: Problem };

/** A call's own way to decide; what it returns is carried out by `acquireToken`. */
export type Decide<Answer> = (view: View) => Step<Answer>;

/** A token for a caller, and where it came from. */
export interface Issue {
  readonly token: StoredToken;
  readonly cache: CacheUse;
}

/** Decides one step of a call for a token; the order of the checks is the order of what matters to the caller. */
export function decide(view: View, { pair, service }: Call, request: IssueRequest, now: number): Step<Issue> {
  const { record, versions } = view;
  if (record.disabled) return fail(clientDisabled());
  const gone = versions && goneProblem(versions, pair);
  if (gone !== undefined) return fail(gone);

  const token = livingToken(record, now);
  const isRefused = token !== undefined && token.fingerprint === request.refused && !token.sameTokenAgain;
  if (token !== undefined && !isRefused) return issueOrRenew(token, view, service, request.minTtlMs, now);

  if (isPaused(record, now)) return fail(waitProblem(record.pause, now));
  if (!view.leaseIsOver) return { kind: 'wait' };
  const forceableAt = record.forcedAt + FORCE_INTERVAL_MS;
  if (isRefused && now < forceableAt) return fail(refusedAgain(forceableAt - now));
  return { kind: 'request', forced: isRefused };
}

function issueOrRenew(token: StoredToken, view: View, service: Service, minTtlMs: number, now: number): Step<Issue> {
  const { record, isAlone, leaseIsOver, mayRenew } = view;
  const answer: Issue = { token, cache: isAlone || view.isMemory ? 'memory' : 'shared' };
  const isLocked = record.closedUntil > now && !isAlone;
  if (!mayRenew || !leaseIsOver || isLocked || service.singleActiveToken || isPaused(record, now)) {
    return { kind: 'answer', answer };
  }
  const quietMs = now - record.attemptedAt;
  if (isBelowMinTtl(token, minTtlMs, now) && quietMs >= MIN_TTL_INTERVAL_MS) {
    return { kind: 'renew', answer, timeoutMs: service.requestTimeoutMs };
  }
  if (now >= token.refreshAt && quietMs >= RENEWAL_INTERVAL_MS) {
    return { kind: 'renew', answer, timeoutMs: RENEWAL_MS };
  }
  return { kind: 'answer', answer };
}

/** The token that may still be issued. */
export function livingToken({ token }: PairRecord, now: number): StoredToken | undefined {
  return token !== undefined && isIssuable(token, now) ? token : undefined;
}

function isPaused(record: PairRecord, now: number): record is PairRecord & { readonly pause: Wait } {
  return record.pause !== undefined && now < record.pause.until;
}

function fail(problem: Problem): { readonly kind: 'fail'; readonly problem: Problem } {
  return { kind: 'fail', problem };
}

function clientDisabled(): Problem {
  return new Problem('client-disabled', 'An operator has disabled this client. Only an operator can enable it again.');
}

function refusedAgain(waitMs: number): Problem {
  return new Problem('refused-again', 'This token is the successor of one that was refused less than 30 seconds ago.', {
    retryAfterSeconds: Math.ceil(waitMs / 1_000),
  });
}

/** A refused token is replaced at most this often. */
const FORCE_INTERVAL_MS = 30_000;
const MIN_TTL_INTERVAL_MS = 30_000;
/** After any attempt no environment renews for this long. */
const RENEWAL_INTERVAL_MS = 15_000;
