import type { Trace } from '../audit.ts';
import type { Pair } from '../pair.ts';
import type { PairRecord } from './record.ts';

/**
 * The shared store of records. Every call ends by `deadline` (epoch milliseconds) or throws `StoreUnavailable`. A `replace`
 * that throws may have happened, or may still happen.
 */
export interface PairStore {
  /** Reads strongly consistently. */
  read(pair: Pair, deadline: number): Promise<TaggedRecord>;
  /**
   * Compare-and-set: writes every member of `next` but `disabled`, if the record still has the entity tag that was seen. Returns
   * the new record, or `undefined` when another write came first. A `token` that is the same object as the seen token stays
   * untouched.
   */
  replace(pair: Pair, seen: TaggedRecord, next: PairRecord, deadline: number): Promise<TaggedRecord | undefined>;
}

/** A record and its entity tag, which is random and new with every write; `undefined` while there is no record. */
export interface TaggedRecord {
  readonly record: PairRecord;
  readonly tag: string | undefined;
}

/** The store did not answer in time. The message names the failure and contains no data. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** Returns the result of a store call, or the fallback when the store does not answer. Warns in the audit line. */
export async function whenAvailable<Result, Fallback>(trace: Trace, call: () => Promise<Result>, fallback: Fallback) {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    trace.warnings.add('shared-cache-unavailable');
    return fallback;
  }
}
