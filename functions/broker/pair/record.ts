import type { ProblemType } from '../../contract.ts';
import type { ShapeReport } from '../problem.ts';
import type { IssuedToken } from './issued-token.ts';

/**
 * The whole state of a pair that all environments share. Times are epoch milliseconds and were written by somebody
 * else's clock, so whoever reads a record passes it through `capTimes` first.
 */
export interface PairRecord {
  /** Counts the leases; only taking one increments it. 0: nobody ever took one. */
  readonly fence: number;
  readonly leaseOwner: string | undefined;
  /** 0: nobody holds the lease. */
  readonly leaseUntil: number;
  readonly token: StoredToken | undefined;
  /** Until then the record holds a token that this code or its key cannot open and must not replace; else 0. */
  readonly foreignUntil: number;
  /** Without the sealing key the token can be neither opened nor replaced; all the rest is there. */
  readonly isLocked: boolean;
  /** The longest life time seen for the pair. */
  readonly lifetimeSeenMs: number;
  /** When the last lease was taken. */
  readonly attemptedAt: number;
  /** When a refused token was last replaced, or tried to be. */
  readonly forcedAt: number;
  /** By secret version. */
  readonly rejected: ReadonlyMap<string, Rejection>;
  readonly pause: Pause | undefined;
  /** An operator has stopped the client. */
  readonly disabled: boolean;
  /** How often a token of an assumed life time was refused in its first half, since the last halving. */
  readonly earlyRefusals: number;
  /** The assumed life time after halvings; 0: as the settings say. */
  readonly assumedLifetimeMs: number;
}

export interface StoredToken extends IssuedToken {
  /** From then on one environment at a time tries to get the successor. */
  readonly refreshAt: number;
  /** The service gave this very token again after it had been refused: refusing it once more changes nothing. */
  readonly refusalIsIdle: boolean;
}

/** One latch: the rejected requests that a secret version has cost. */
export interface Rejection {
  readonly count: number;
  /** When the last one was counted. */
  readonly at: number;
  /** The lease under which it was counted, so that one request counts once. */
  readonly fence: number;
}

/** Until when nobody sends a token request for the pair, and the problem that everybody answers with. */
export interface Pause {
  readonly until: number;
  /** How many pauses there have been since the last success, this one included. */
  readonly step: number;
  readonly problem: StoredProblem;
}

export interface StoredProblem {
  readonly type: ProblemType;
  readonly detail: string;
  readonly shape?: ShapeReport | undefined;
}

export const EMPTY_RECORD: PairRecord = {
  fence: 0,
  leaseOwner: undefined,
  leaseUntil: 0,
  token: undefined,
  foreignUntil: 0,
  isLocked: false,
  lifetimeSeenMs: 0,
  attemptedAt: 0,
  forcedAt: 0,
  rejected: new Map(),
  pause: undefined,
  disabled: false,
  earlyRefusals: 0,
  assumedLifetimeMs: 0,
};

/**
 * Whatever clock wrote a record, nothing in it is later than now, and no pause longer than the longest. What lies further
 * ahead than any clock goes wrong is nonsense and counts for nothing, so that it holds nobody up for good. A lease needs
 * no cap: whoever meets it watches it for its own length.
 */
export function capTimes(record: PairRecord, now: number): PairRecord {
  const past = (time: number) => (time > now + MAX_CLOCK_ERROR_MS ? 0 : Math.min(time, now));
  const { pause, rejected } = record;
  return {
    ...record,
    attemptedAt: past(record.attemptedAt),
    forcedAt: past(record.forcedAt),
    rejected: new Map([...rejected].map(([version, latch]) => [version, { ...latch, at: past(latch.at) }])),
    pause: pause && capPause(pause, now),
  };
}

function capPause(pause: Pause, now: number): Pause | undefined {
  if (pause.until > now + MAX_PAUSE_MS + MAX_CLOCK_ERROR_MS) return undefined;
  return { ...pause, until: Math.min(pause.until, now + MAX_PAUSE_MS) };
}

/** No pause is longer, whatever a service asks for with `Retry-After`. */
export const MAX_PAUSE_MS = 300_000;
const MAX_CLOCK_ERROR_MS = 60 * 60_000;
