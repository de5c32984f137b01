import type { Problem } from '../problem.ts';
import type { ServiceToken } from '../token-response/read.ts';

/** All that environments share of a pair. Times are epoch milliseconds of other clocks: `capTimes` makes them usable. */
export interface PairRecord {
  /** Counts the leases; only taking one increments it. */
  readonly fence: number;
  readonly leaseOwner: string | undefined;
  /** 0: the lease is free. */
  readonly leaseUntil: number;
  readonly token: StoredToken | undefined;
  /** Until then there is a token that this environment can neither open nor replace; `Infinity` without a sealing key. */
  readonly closedUntil: number;
  /** When a lease was last taken for callers; a check leaves it as it is. */
  readonly attemptedAt: number;
  /** When a lease to replace a refused token was last taken. */
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

/** One latch: how many rejected requests a version has cost, when, and under which lease the last one was counted. */
export interface Rejection {
  readonly count: number;
  readonly at: number;
  readonly fence: number;
}

/** Until when a token request would not help, and the problem told meanwhile: a pause of the pair, or a version's hold. */
export interface Wait {
  readonly until: number;
  /** How many waits there have been since the last success, this one included. */
  readonly step: number;
  readonly problem: StoredProblem;
}

export type StoredProblem = Pick<Problem, 'type' | 'detail'> & Partial<Pick<Problem, 'shape'>>;

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
 * The record with nothing in it later than now, and no longer pause or hold than the longest, however wrong the clock was
 * that wrote it. A time that lies further ahead than any clock goes wrong counts for nothing, so that it stops no pair for
 * good. A lease needs no cap: an environment that waits for it watches it for its own length.
 */
export function capTimes(record: PairRecord, now: number): PairRecord {
  const { rejected, held, pause, checked } = record;
  return {
    ...record,
    attemptedAt: pastTime(record.attemptedAt, now),
    forcedAt: pastTime(record.forcedAt, now),
    rejected: new Map([...rejected].map(([version, latch]) => [version, { ...latch, at: pastTime(latch.at, now) }])),
    held: new Map([...held].map(([key, hold]) => [key, capWait(hold, MAX_HOLD_MS, now)])),
    pause: pause && capWait(pause, MAX_PAUSE_MS, now),
    checked: checked && { ...checked, at: pastTime(checked.at, now) },
  };
}

/** A time that has passed: at most now, and 0 when no clock can be that wrong. */
export function pastTime(time: number, now: number): number {
  return time > now + MAX_CLOCK_ERROR_MS ? 0 : Math.min(time, now);
}

function capWait(wait: Wait, maxMs: number, now: number): Wait {
  return { ...wait, until: maxMs + pastTime(wait.until - maxMs, now) };
}

/** No pause is longer, also when a service asks for more with `Retry-After`. */
export const MAX_PAUSE_MS = 300_000;
export const MAX_HOLD_MS = 60 * 60_000;
const MAX_CLOCK_ERROR_MS = 60 * 60_000;
