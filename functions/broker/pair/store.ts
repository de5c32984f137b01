import type { Pair } from '../pair.ts';
import { Problem } from '../problem.ts';
import type { PairRecord } from './record.ts';

/** The shared store of records. Every call ends by its deadline or throws `StoreUnavailable`. */
export interface PairStore {
  /** Reads strongly consistently. */
  read(pair: Pair, terms: CallTerms): Promise<TaggedRecord>;
  /**
   * Compare-and-set: writes every member of `next` but `disabled`, if the record still has the entity tag that was
   * seen. Returns the new record, or `undefined` when another write came first. A `token` that is the same object
   * as the seen token stays untouched.
   */
  replace(pair: Pair, seen: TaggedRecord, next: PairRecord, terms: CallTerms): Promise<TaggedRecord | undefined>;
}

export interface CallTerms {
  /** Epoch milliseconds. A call that is cut off at this time says nothing about the store. */
  readonly deadline: number;
  /** The call writes an outcome that no other call can write. The circuit breaker lets it through even when open. */
  readonly settles?: boolean;
}

/** A record and its entity tag. The tag is random and new with every write, or `undefined` without a record. */
export interface TaggedRecord {
  readonly record: PairRecord;
  readonly tag: string | undefined;
}

/**
 * The store did not do what it was asked for: the problem of a call that needs it. A `replace` may have happened, or
 * may still happen, unless the failure is lasting. `reason` contains no data. `cause` is a word for the log.
 */
export class StoreUnavailable extends Problem {
  /**
   * `silent`: no usable answer in time. `busy`: the call was throttled. `lasting`: another call would fail too, because
   * the circuit is open, the store refuses the call, or the sealing key is missing.
   */
  readonly kind: 'silent' | 'busy' | 'lasting';
  readonly reason: string;

  /** @param retryMs milliseconds until another call is made, if that is known */
  constructor(kind: StoreUnavailable['kind'], reason: string, cause?: unknown, retryMs = 0) {
    const retryAfterSeconds = Math.max(MIN_RETRY_S, Math.ceil(retryMs / 1_000));
    super('table-unavailable', `The broker cannot reach its table: ${reason}.`, { retryAfterSeconds, cause });
    this.kind = kind;
    this.reason = reason;
  }
}

/** Waiting calls hold the function's concurrency, so callers should come back later. */
const MIN_RETRY_S = 5;
