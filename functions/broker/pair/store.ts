import type { Pair } from '../pair.ts';
import type { PairRecord } from './record.ts';

/**
 * The shared store of records. Every call ends by `deadline` (epoch milliseconds) or throws. After `StoreUnavailable` a
 * `replace` may have happened, or may still happen. After `StoreBusy` it has not happened.
 */
export interface PairStore {
  /** Reads strongly consistently. A patient read waits as long for the store as an instance's first call. */
  read(pair: Pair, deadline: number, isPatient?: boolean): Promise<TaggedRecord>;
  /**
   * Compare-and-set: writes every member of `next` but `disabled`, if the record still has the entity tag that was
   * seen. Returns the new record, or `undefined` when another write came first. A `token` that is the same object
   * as the seen token stays untouched.
   */
  replace(pair: Pair, seen: TaggedRecord, next: PairRecord, deadline: number): Promise<TaggedRecord | undefined>;
}

/** A record and its entity tag. The tag is random and new with every write, or `undefined` without a record. */
export interface TaggedRecord {
  readonly record: PairRecord;
  readonly tag: string | undefined;
}

/** The store did not answer in time. The message names the failure and contains no data. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The store throttled the call. Nothing was done, and the same call works a little later. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy';
}
