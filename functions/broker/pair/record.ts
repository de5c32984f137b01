import type { ProblemType } from '../../contract.ts';
import type { ShapeReport } from '../problem.ts';
import type { ServiceToken } from '../token-response/read.ts';

/**
 * The whole state of a pair that all environments share. Times are epoch milliseconds and come from the clocks of other
 * environments, so every reader passes a record through `capTimes` first.
 */
export interface PairRecord {
  /** Counts the leases; only taking one increments it. 0: no environment ever took one. */
  readonly fence: number;
  readonly leaseOwner: string | undefined;
  /** 0: the lease is free. */
  readonly leaseUntil: number;
  readonly token: StoredToken | undefined;
  /**
   * Until then the record holds a token that this environment can neither open nor replace; 0 when it can be opened or
   * holds none, `Infinity` while this environment has no sealing key.
   */
  readonly closedUntil: number;
  /** When a lease was last taken for callers; a check leaves it as it is. */
  readonly attemptedAt: number;
  /** When a refused token was last replaced, or when a lease to replace it was taken. */
  readonly forcedAt: number;
  /** By secret version. */
  readonly rejected: ReadonlyMap<string, Rejection>;
  /** By `holdKey`. */
  readonly held: ReadonlyMap<string, Wait>;
  readonly pause: Wait | undefined;
  readonly checked: CheckedVersion | undefined;
  /** An operator has stopped the client. */
  readonly disabled: boolean;
}

/** The token of a pair, with what decides how long it is issued. */
export interface StoredToken extends ServiceToken {
  /** The first 16 hexadecimal digits of the token's SHA-256. */
  readonly fingerprint: string;
  /** The secret version that it was requested with. */
  readonly credentialVersion: string;
  /** When the token request began. */
  readonly issuedAt: number;
  /** The longest life time seen of it: the same one issued again with less left of it must not shrink the windows. */
  readonly lifetimeSeenMs: number;
  /** From then on one environment at a time tries to get the successor. */
  readonly refreshAt: number;
  /** The service issued this very token again after it had been refused: refusing it once more changes nothing. */
  readonly sameTokenAgain: boolean;
}

/** One latch: the rejected requests that a secret version has cost. */
export interface Rejection {
  readonly count: number;
  /** When the last one was counted. */
  readonly at: number;
  /** The lease under which it was counted, so that one request counts once. */
  readonly fence: number;
}

/**
 * Until when no token request is sent, and the problem that all environments answer with. A pause stops the whole pair;
 * a hold only one secret version, because sending the same again does not help.
 */
export interface Wait {
  readonly until: number;
  /** How many waits there have been since the last success, this one included. */
  readonly step: number;
  readonly problem: StoredProblem;
}

export interface StoredProblem {
  readonly type: ProblemType;
  readonly detail: string;
  readonly shape?: ShapeReport | undefined;
}

/** What the last token request of a check of AWSPENDING or AWSPREVIOUS found. */
export interface CheckedVersion {
  readonly version: string;
  readonly at: number;
  readonly finding: (typeof CHECKED_FINDINGS)[number];
}

/** The findings that a token request can lead to. */
export const CHECKED_FINDINGS = ['accepted', 'rejected', 'throttled', 'unreachable', 'misconfigured'] as const;

/** The store did not answer in time; the cause is the name of what went wrong, nothing of its content. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

export const EMPTY_RECORD: PairRecord = {
  fence: 0,
  leaseOwner: undefined,
  leaseUntil: 0,
  token: undefined,
  closedUntil: 0,
  attemptedAt: 0,
  forcedAt: 0,
  rejected: new Map(),
  held: new Map(),
  pause: undefined,
  checked: undefined,
  disabled: false,
};

/** A version and the settings that it is sent with: another release with other settings has holds of its own. */
export function holdKey(version: string, settingsDigest: string): string {
  return `${version}:${settingsDigest}`;
}

/**
 * The record with nothing in it later than now, and with no pause or hold longer than the longest, however wrong the clock that wrote
 * it. A time that lies further ahead than any clock goes wrong counts for nothing, so that it stops no pair for good. A
 * lease needs no cap: an environment that waits for it watches it for its own length.
 */
export function capTimes(record: PairRecord, now: number): PairRecord {
  const { rejected, held, pause, checked } = record;
  return {
    ...record,
    attemptedAt: pastTime(record.attemptedAt, now),
    forcedAt: pastTime(record.forcedAt, now),
    rejected: new Map([...rejected].map(([version, latch]) => [version, { ...latch, at: pastTime(latch.at, now) }])),
    held: new Map([...held].flatMap(([key, hold]) => capUntil(key, hold, MAX_HOLD_MS, now))),
    pause: pause && capUntil('', pause, MAX_PAUSE_MS, now)[0]?.[1],
    checked: checked && { ...checked, at: pastTime(checked.at, now) },
  };
}

/** A time that has passed: at most now, and 0 when no clock can be that wrong. */
export function pastTime(time: number, now: number): number {
  return time > now + MAX_CLOCK_ERROR_MS ? 0 : Math.min(time, now);
}

function capUntil(key: string, wait: Wait, maxMs: number, now: number): readonly (readonly [string, Wait])[] {
  if (wait.until > now + maxMs + MAX_CLOCK_ERROR_MS) return [];
  return [[key, { ...wait, until: Math.min(wait.until, now + maxMs) }]];
}

/** No pause is longer, also when a service asks for more with `Retry-After`. */
export const MAX_PAUSE_MS = 300_000;
export const MAX_HOLD_MS = 60 * 60_000;
const MAX_CLOCK_ERROR_MS = 60 * 60_000;
