import { EMPTY_RECORD, type PairRecord } from '../../../functions/broker/pair/record.ts';
import type { PairStore, TaggedRecord } from '../../../functions/broker/pair/store.ts';
import { withdrawn } from '../../../functions/broker/pair/transitions.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';

/** The shared table as a map with tags: the promises of `PairStore` and nothing else. */
export interface ReferencePairStore extends PairStore {
  /** The record now. */
  peek(pair: Pair): PairRecord;
  /** As an operator would change it: names no tag, and gives the record a new one. */
  change(pair: Pair, next: (record: PairRecord) => PairRecord): void;
  /** An operator's stop, and its end. */
  disable(pair: Pair, since: number): void;
  enable(pair: Pair): void;
  /** Deletes the item, or puts an earlier one back with the tag that it had. */
  restore(pair: Pair, earlier: TaggedRecord | undefined): void;
}

export function createReferencePairStore(): ReferencePairStore {
  const items = new Map<string, TaggedRecord>();
  const read = (pair: Pair): TaggedRecord => items.get(pairKey(pair)) ?? { record: EMPTY_RECORD, tag: undefined };
  const write = (pair: Pair, record: PairRecord): TaggedRecord => {
    const written = { record, tag: `tag-${++tags}` };
    items.set(pairKey(pair), written);
    return written;
  };

  return {
    peek: (pair) => read(pair).record,
    change: (pair, next) => void write(pair, next(read(pair).record)),
    disable: (pair, since) => write(pair, { ...read(pair).record, disabled: read(pair).record.disabled ?? { since } }),
    enable(pair) {
      const { record } = read(pair);
      if (record.disabled) write(pair, { ...withdrawn(record), disabled: undefined });
    },
    restore(pair, earlier) {
      if (earlier === undefined) items.delete(pairKey(pair));
      else items.set(pairKey(pair), earlier);
    },
    read: async (pair) => read(pair),
    async replace(pair, seen, next) {
      const { record, tag } = read(pair);
      if (tag !== seen.tag) return undefined;
      const token = next.token === seen.record.token ? record.token : next.token;
      return write(pair, { ...next, token, disabled: record.disabled });
    },
  };
}

/** No two stores give the same one, as random tags do. */
let tags = 0;
