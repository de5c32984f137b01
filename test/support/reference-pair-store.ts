import { type Pair, pairKey } from '../../functions/broker/pair/pair.ts';
import { EMPTY_RECORD, type PairRecord } from '../../functions/broker/pair/record.ts';
import type { PairStore } from '../../functions/broker/pair/store.ts';
import {
  acquired,
  mayAcquire,
  paused,
  published,
  rejected,
  released,
} from '../../functions/broker/pair/transitions.ts';

/** What the shared table holds, in memory: the promises of `PairStore` and nothing else. */
export interface ReferencePairStore extends PairStore {
  /** The record now, and as it was before the last write: an eventually consistent read may see either. */
  peek(pair: Pair): { readonly latest: PairRecord; readonly before: PairRecord };
  /** As an operator would change it. */
  change(pair: Pair, next: (record: PairRecord) => PairRecord): void;
}

export function createReferencePairStore(): ReferencePairStore {
  const states = new Map<string, { readonly latest: PairRecord; readonly before: PairRecord }>();
  const peek = (pair: Pair) => states.get(pairKey(pair)) ?? { latest: EMPTY_RECORD, before: EMPTY_RECORD };
  const change = (pair: Pair, next: (record: PairRecord) => PairRecord) => {
    const { latest } = peek(pair);
    states.set(pairKey(pair), { latest: next(latest), before: latest });
  };
  const changeUnder = (pair: Pair, fence: number, next: (record: PairRecord) => PairRecord) => {
    const isMine = peek(pair).latest.fence === fence;
    if (isMine) change(pair, next);
    return isMine;
  };

  return {
    peek,
    change,
    read: async (pair) => peek(pair).latest,
    async acquire(pair, acquisition) {
      const { latest } = peek(pair);
      if (!mayAcquire(latest, acquisition)) return undefined;
      change(pair, (record) => acquired(record, acquisition));
      return { ...latest, fence: acquisition.seenFence };
    },
    publish: async (pair, fence, publication) => changeUnder(pair, fence, (record) => published(record, publication)),
    pause: async (pair, fence, pause) => changeUnder(pair, fence, (record) => paused(record, pause)),
    reject: async (pair, fence, request) => change(pair, (record) => rejected(record, fence, request)),
    release: async (pair, fence, provenVersion) =>
      void changeUnder(pair, fence, (record) => released(record, provenVersion)),
  };
}
