import type { Call } from './call.ts';
import type { LeasePlan } from './leased-request.ts';
import type { PairRecord, StoredToken } from './record.ts';

/** What one round of looking leads to. */
export type Move<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  /** Somebody else is about to bring what is needed. */
  | { readonly kind: 'wait' }
  | LeaseMove<Result>;

/** Take the lease and make a token request. */
interface LeaseMove<Result> extends Omit<LeasePlan, 'store' | 'seen' | 'outwaited'> {
  readonly kind: 'lease';
  readonly onToken: (token: StoredToken) => Result;
  /** What serves when it brings nothing; `undefined`, or giving `undefined`, when nothing does. */
  readonly otherwise?: (() => Result | undefined) | undefined;
}

/** What a call looks for. */
export interface Goal<Result, Prepared> {
  /** Runs beside the reading of the record. `readSince`: nothing that was read before then counts. */
  readonly prepare: (readSince: number) => Promise<Prepared>;
  readonly look: (round: Round<Prepared>) => Promise<Move<Result>>;
}

export interface Round<Prepared> {
  readonly record: PairRecord;
  readonly prepared: Prepared;
  readonly leaseIsOver: boolean;
  readonly readSince: number;
  /** The shared store is out of reach; the record is what this environment knows by itself. */
  readonly isAlone: boolean;
}

/** Looks and acts until the goal is reached. `readSince`: nothing that was read before then counts. */
export type Pursue = <Result, Prepared>(
  call: Call,
  goal: Goal<Result, Prepared>,
  readSince?: number,
) => Promise<Result>;
