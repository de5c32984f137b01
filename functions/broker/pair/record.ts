import { type ClosedReason, hardMarginMs } from '../../vocabulary.ts';
import { Problem } from '../problem.ts';
import type { ServiceToken } from '../token-response/read.ts';

/** All that the instances share of a pair: one value, replaced as a whole. Times are epoch milliseconds of their clocks. */
export interface PairRecord {
  /** The right to make the one token request; `id` is unique for each attempt. */
  readonly lease: { readonly id: string; readonly until: number } | undefined;
  readonly token: StoredToken | ClosedToken | undefined;
  /** When a lease was last taken for a caller; a check leaves it as it is. */
  readonly attemptedAt: number;
  /** When a lease to replace a refused token was last taken. */
  readonly forcedAt: number;
  /** By secret version. */
  readonly rejected: ReadonlyMap<string, Rejection>;
  /** By `holdKey`. */
  readonly held: ReadonlyMap<string, Wait>;
  readonly pause: Wait | undefined;
  /** The finding of the last trial, or of a request beside a token that must stay. */
  readonly checked:
    | { readonly version: string; readonly at: number; readonly finding: (typeof CHECKED_FINDINGS)[number] }
    | undefined;
  /** An operator has stopped the client; written by operators only. */
  readonly disabled: { readonly since: number } | undefined;
}

/** What of a token may be read without its seal. */
export interface VisibleToken extends Pick<ServiceToken, 'tokenType' | 'expiresAt' | 'expirySource'> {
  /** The first 16 hexadecimal digits of the token's SHA-256. */
  readonly fingerprint: string;
  /** The secret version that it was requested with. */
  readonly credentialVersion: string;
  /** When the token request began. */
  readonly issuedAt: number;
  /** The longest life time seen of it: the same one issued again with less left of it must not shrink the windows. */
  readonly lifetimeSeenMs: number;
  /** From then on one instance at a time tries to get the successor. */
  readonly refreshAt: number;
  /** The service issued this very token again after it had been refused: refusing it once more changes nothing. */
  readonly sameTokenAgain: boolean;
}

/** The token of a pair, with the times that decide how long it is issued. */
export interface StoredToken extends VisibleToken, ServiceToken {}

/** A token that this instance cannot issue. */
export interface ClosedToken extends VisibleToken {
  readonly accessToken?: undefined;
  readonly closed: ClosedReason;
}

/** One latch: how many rejected requests a version has cost, when, and under which lease the last one was counted. */
export interface Rejection {
  readonly count: number;
  readonly at: number;
  readonly by: string;
}

/** Until when a token request would not help, and the problem told meanwhile: a pause of the pair, or a version's hold. */
export interface Wait {
  readonly until: number;
  /** How many waits there have been since the last success, this one included. */
  readonly step: number;
  readonly problem: Pick<Problem, 'type' | 'detail'> & Partial<Pick<Problem, 'shape'>>;
  /** The request brought no answer. */
  readonly unheard?: true | undefined;
}

/** The findings that a token request can lead to. */
export const CHECKED_FINDINGS = ['accepted', 'rejected', 'throttled', 'unreachable', 'misconfigured'] as const;

export const EMPTY_RECORD: PairRecord = {
  lease: undefined,
  token: undefined,
  attemptedAt: 0,
  forcedAt: 0,
  rejected: new Map(),
  held: new Map(),
  pause: undefined,
  checked: undefined,
  disabled: undefined,
};

/** A version and the settings that it is sent with: another release with other settings has holds of its own. */
export function holdKey(version: string, settingsDigest: string): string {
  return `${version}:${settingsDigest}`;
}

/** Whether a caller may still receive the token. */
export function isIssuable(token: Pick<VisibleToken, 'expiresAt' | 'lifetimeSeenMs'>, now: number): boolean {
  return token.expiresAt - now > hardMarginMs(token.lifetimeSeenMs);
}

/** The token, when this instance can open it. */
export function openToken({ token }: Partial<PairRecord>): StoredToken | undefined {
  return token?.accessToken === undefined ? undefined : token;
}

/** The token that this instance may still issue. */
export function livingToken(record: Partial<PairRecord>, now: number): StoredToken | undefined {
  const token = openToken(record);
  return token && isIssuable(token, now) ? token : undefined;
}

/**
 * The token that no request of this instance may replace: others can open it, and two releases would replace each other's
 * tokens in turn. It is left alone without a sealing key while it lives, else for 60 s after its last use.
 */
export function foreignToken({ token, attemptedAt }: PairRecord, now: number): ClosedToken | undefined {
  if (token?.accessToken !== undefined || token === undefined) return undefined;
  if (token.closed === 'no-key') return now < token.expiresAt ? token : undefined;
  const usedAt = Math.max(notAhead(attemptedAt, now), notAhead(token.issuedAt, now));
  return token.closed === 'unreadable' && now - usedAt < FOREIGN_MS ? token : undefined;
}

/** Whether the service has accepted the version: its requests may then be made without the lease, and its silence is no rejection. */
export function isProven({ token, checked }: PairRecord, version: string): boolean {
  return token?.credentialVersion === version || (checked?.finding === 'accepted' && checked.version === version);
}

/** A rejected version gets two more chances; then only an operator, or a new version, opens the way again. */
export function isLatched(rejection: Rejection | undefined, now: number): boolean {
  if (rejection === undefined) return false;
  const delayMs = CHANCE_DELAYS_MS[rejection.count - 1];
  return delayMs === undefined || now < rejection.at + delayMs;
}

/** Whether the version has no chance left. */
export function isSpent(rejection: Rejection | undefined): boolean {
  return rejection !== undefined && rejection.count > CHANCE_DELAYS_MS.length;
}

/** The problem that a caller sees while a pause or a hold lasts. */
export function waitProblem({ problem, until }: Wait, now: number, cause?: unknown): Problem {
  const { type, detail, shape } = problem;
  return new Problem(type, detail, { shape, retryAfterSeconds: Math.max(1, Math.ceil((until - now) / 1_000)), cause });
}

/**
 * The record without times that no right clock can have written: a time further ahead than its kind can lie counts as
 * missing, and up to there as written. A lease needs its length: see `watch`.
 */
export function withoutFutureTimes(record: PairRecord, now: number): PairRecord {
  const { token, rejected, held, pause, checked } = record;
  const isNear = (wait: Wait, maxMs: number) => wait.until <= now + maxMs + MAX_CLOCK_DIFFERENCE_MS;
  return {
    ...record,
    token: token && notAhead(token.issuedAt, now) > 0 ? token : undefined,
    attemptedAt: notAhead(record.attemptedAt, now),
    forcedAt: notAhead(record.forcedAt, now),
    // Its chance is due; it still counts.
    rejected: new Map([...rejected].map(([version, latch]) => [version, { ...latch, at: notAhead(latch.at, now) }])),
    held: new Map([...held].filter(([, hold]) => isNear(hold, MAX_HOLD_MS))),
    pause: pause && isNear(pause, MAX_PAUSE_MS) ? pause : undefined,
    checked: checked && notAhead(checked.at, now) > 0 ? checked : undefined,
  };
}

function notAhead(time: number, now: number): number {
  return time <= now + MAX_CLOCK_DIFFERENCE_MS ? time : 0;
}

/** No pause is longer, also when a service asks for more with `Retry-After`. */
export const MAX_PAUSE_MS = 300_000;
export const MAX_HOLD_MS = 60 * 60_000;
/** A wait that ended so long ago begins anew at its next one. */
export const KEPT_WAIT_MS = 24 * 60 * 60_000;
/** Two clocks that are each 30 s off. */
export const MAX_CLOCK_DIFFERENCE_MS = 60_000;
const FOREIGN_MS = 60_000;
/** After the first and after the second rejected request. With the first one this makes three: the lock-out budget. */
const CHANCE_DELAYS_MS = [15 * 60_000, 120 * 60_000];
