import { EMPTY_RECORD, type PairRecord } from '../../../functions/broker/pair/record.ts';
import type { Acquisition, PairStore } from '../../../functions/broker/pair/store.ts';
import { acquired, ended, rejected } from '../../../functions/broker/pair/transitions.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';

/** What the shared table holds, in memory: the promises of `PairStore` and nothing else. */
export interface ReferencePairStore extends PairStore {
  /** The record now. */
  peek(pair: Pair): PairRecord;
  /** As an operator would change it. */
  change(pair: Pair, next: (record: PairRecord) => PairRecord): void;
}

export function createReferencePairStore(): ReferencePairStore {
  const records = new Map<string, PairRecord>();
  const peek = (pair: Pair) => records.get(pairKey(pair)) ?? EMPTY_RECORD;
  const change = (pair: Pair, next: (record: PairRecord) => PairRecord) => {
    records.set(pairKey(pair), next(peek(pair)));
  };

  return {
    peek,
    change,
    read: async (pair) => peek(pair),
    async acquire(pair, acquisition) {
      const before = peek(pair);
      if (!mayAcquire(before, acquisition)) return undefined;
      change(pair, (record) => acquired(record, acquisition));
      return { ...before, fence: acquisition.seenFence };
    },
    async end(pair, { owner, fence }, ending) {
      const { leaseOwner, fence: latest } = peek(pair);
      if (latest !== fence || leaseOwner !== owner) return false;
      change(pair, (record) => ended(record, ending));
      return true;
    },
    reject: async (pair, lease, rejection) => change(pair, (record) => rejected(record, lease, rejection)),
  };
}

/** I know the latest fence, and its lease is over or was watched to its end; or the lease is mine, and the answer was lost. */
function mayAcquire({ fence, leaseOwner, leaseUntil }: PairRecord, acquisition: Acquisition): boolean {
  const { seenFence, owner, now, observedExpired } = acquisition;
  if (leaseOwner === owner && fence === seenFence + 1) return true;
  return fence === seenFence && (observedExpired || leaseOwner === owner || leaseUntil <= now);
}
