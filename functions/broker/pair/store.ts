import type { Pair } from './pair.ts';
import type { PairRecord, Pause, StoredToken } from './record.ts';

/**
 * Where the record of a pair lives. Every write is one conditional update; a lost condition is an answer, not an error.
 * All of them reject with `StoreUnavailable` when the store is down, slow or throttled; then nobody knows whether a
 * write has happened.
 */
export interface PairStore {
  /** The record, `EMPTY_RECORD` when there is none. `eventual` may be a moment old. */
  read(pair: Pair, consistency: 'eventual' | 'strong'): Promise<PairRecord>;
  /**
   * Takes the lease and says what the record was before, its fence being the one that I saw; `undefined` when somebody
   * else was faster. Told twice it takes one lease, and the second answer shows it.
   */
  acquire(pair: Pair, acquisition: Acquisition): Promise<PairRecord | undefined>;
  /** Stores the token, ends the pause and the lease; `false` when the fence is no longer mine. */
  publish(pair: Pair, fence: number, publication: Publication): Promise<boolean>;
  /** Stores the pause and ends the lease; `false` when the fence is no longer mine. */
  pause(pair: Pair, fence: number, pause: Pause): Promise<boolean>;
  /** Counts a rejected request whatever the fence, once per fence, and ends the lease if it is still mine. */
  reject(pair: Pair, fence: number, rejection: RejectedRequest): Promise<void>;
  /** Ends the lease if it is still mine, and with it the latch of a version that has just worked. */
  release(pair: Pair, fence: number, provenVersion?: string): Promise<void>;
  /** The same store, whose calls are over by `deadline` (epoch milliseconds); left out by one that needs no time. */
  readonly until?: (deadline: number) => PairStore;
}

/** The store for one call: whatever it does ends by `deadline` (epoch milliseconds). */
export function storeUntil(store: PairStore, deadline: number): PairStore {
  return store.until?.(deadline) ?? store;
}

export interface Acquisition {
  /** The fence that I read. The lease that I take gets the next one. */
  readonly seenFence: number;
  /** Unique per call, so that I recognise my own lease when the answer was lost. */
  readonly owner: string;
  readonly now: number;
  readonly until: number;
  /** I have watched the lease under this fence for its whole length: it is over, whatever its time says. */
  readonly outwaited: boolean;
  /** The request replaces a refused token. */
  readonly forced: boolean;
  /** The version about to be sent has been rejected before: this uses up its next chance. */
  readonly chargedVersion: string | undefined;
}

export interface Publication {
  readonly token: StoredToken;
  readonly lifetimeSeenMs: number;
  readonly earlyRefusals: number;
  readonly assumedLifetimeMs: number;
}

export interface RejectedRequest {
  readonly version: string;
  readonly at: number;
  /** Versions that carry no stage any more: their latches are forgotten. */
  readonly goneVersions: readonly string[];
}

/** The store did not answer in time; the cause is the name of what went wrong, nothing of its content. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
