import type { Trace } from '../audit.ts';
import type { Pair } from '../pair.ts';
import type { PairRecord } from './record.ts';

/**
 * Where the records live. Every call is over by `deadline` (epoch milliseconds), or throws `StoreUnavailable`: after that a
 * `replace` may have happened, or may still happen.
 */
export interface PairStore {
  /** Strongly consistent. */
  read(pair: Pair, deadline: number): Promise<TaggedRecord>;
  /**
   * Compare-and-set: writes `next`, all but `disabled`, if the record still has the entity tag that was seen. Gives the record as
   * it is then; `undefined` when another write came first. A `token` that is the same object as the seen one stays untouched.
   */
  replace(pair: Pair, seen: TaggedRecord, next: PairRecord, deadline: number): Promise<TaggedRecord | undefined>;
}

/** A record and its entity tag: random, new with every write; `undefined` where there is no record yet. */
export interface TaggedRecord {
  readonly record: PairRecord;
  readonly tag: string | undefined;
}

/** The store did not answer in time; the cause is the name of what went wrong, nothing of its content. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The result of a call of the store, or the fallback when it did not answer: then the audit line has a warning. */
export async function whenAvailable<Result, Fallback>(trace: Trace, call: () => Promise<Result>, fallback: Fallback) {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    trace.warnings.add('shared-cache-unavailable');
    return fallback;
  }
}
