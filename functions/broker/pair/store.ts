import type { Trace } from '../audit.ts';
import type { Pair } from '../pair.ts';
import { type CheckedVersion, type PairRecord, type StoredToken, StoreUnavailable, type Wait } from './record.ts';

/**
 * Where the record of a pair lives. Every write is one conditional update; a lost condition is an answer, not an error.
 * Every call is over by `deadline` (epoch milliseconds) and throws `StoreUnavailable` when the store is down, slow or
 * throttled; then the caller cannot know whether a write has happened.
 */
export interface PairStore {
  read(pair: Pair, deadline: number): Promise<PairRecord>;
  /**
   * Takes the lease and gives the record before, its fence being the one that I saw; `undefined` when another call was
   * faster. Called twice it takes one lease, and the second answer shows it.
   */
  acquire(pair: Pair, acquisition: Acquisition, deadline: number): Promise<PairRecord | undefined>;
  /** Ends my lease and writes what came of it; `false` when the lease is no longer mine. */
  end(pair: Pair, lease: Lease, ending: Ending, deadline: number): Promise<boolean>;
  /** Counts a rejected request under any fence, once per fence, and ends the lease if it is still mine. */
  reject(pair: Pair, lease: Lease, rejection: RejectedRequest, deadline: number): Promise<void>;
}

/** A lease of mine. Its owner is unique per call, so that I recognise my own lease when the answer was lost. */
export interface Lease {
  readonly owner: string;
  readonly fence: number;
}

export interface Acquisition {
  /** The fence that I read. The lease that I take gets the next one. */
  readonly seenFence: number;
  readonly owner: string;
  readonly now: number;
  readonly until: number;
  /** I have watched the lease under this fence for its whole length: it is over, even if its time says otherwise. */
  readonly observedExpired: boolean;
  /** The request replaces a refused token. */
  readonly forced: boolean;
  /** The version about to be sent has been rejected before: this uses up its next chance. */
  readonly chargedVersion: string | undefined;
  /** The lease is for a check: it leaves `attemptedAt` as it is, so that it postpones no renewal. */
  readonly isCheck: boolean;
}

/** What a lease ends with. `checked` is what a check of a version that is not in use found. */
export type Ending = { readonly checked?: CheckedVersion | undefined } & Outcome;

type Outcome =
  /** Stores the token; ends the pause, and the latch and the hold of the version that brought it. */
  | { readonly kind: 'publish'; readonly token: StoredToken; readonly holdKey: string }
  /** The version worked, and its token is not for callers: ends its latch and its hold. */
  | { readonly kind: 'prove'; readonly version: string; readonly holdKey: string }
  | { readonly kind: 'pause'; readonly pause: Wait }
  /** Stores the hold and drops those that ended long ago. */
  | { readonly kind: 'hold'; readonly key: string; readonly hold: Wait; readonly expiredKeys: readonly string[] }
  /** Removes the token: the secret is gone, or no longer names the service. */
  | { readonly kind: 'withdraw' }
  | { readonly kind: 'release' };

/** `goneVersions` carry no stage any more: their latches are forgotten. */
export interface RejectedRequest {
  readonly version: string;
  readonly at: number;
  readonly goneVersions: readonly string[];
  readonly checked?: CheckedVersion | undefined;
}

/** What a call of the store gives; `undefined` when the store is unavailable, so that a write may or may not have happened. */
export async function whenAvailable<Result>(trace: Trace, call: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    trace.warnings.add('shared-cache-unavailable');
    return undefined;
  }
}
