import { LruCache } from '../lru-cache.ts';
import { type ClientName, type Pair, pairKey } from '../pair.ts';
import { isWithin } from '../time.ts';
import { EMPTY_RECORD, livingToken, type PairRecord, withoutFutureTimes } from './record.ts';
import type { TaggedRecord } from './store.ts';

export type PairMemory = ReturnType<typeof createPairMemory>;

/** Remembers the last record of each pair. Contains nothing that the table did not return or confirm. */
export function createPairMemory(now: () => number) {
  const entries = new LruCache<Entry>(MAX_PAIRS, MAX_BYTES, bytesOf);
  const tries = new LruCache<number>(MAX_PAIRS);
  const entryOf = (pair: Pair) => entries.get(pairKey(pair)) ?? NO_ENTRY;

  /** Returns the last record. A later try of this instance counts as an attempt. */
  function last(pair: Pair): PairRecord {
    const { record } = entryOf(pair);
    return { ...record, attemptedAt: Math.max(record.attemptedAt, tries.get(pairKey(pair)) ?? 0) };
  }

  /** Returns the record that the table had less than a minute ago. */
  function trusted(pair: Pair): PairRecord | undefined {
    return isWithin(TRUST_MS, entryOf(pair).readAt, now()) ? last(pair) : undefined;
  }

  return {
    last,
    trusted,

    /**
     * Returns the part of the last record that counts without the table: a living token, and for a minute the
     * operators' flag. For a minute latches, holds and the pause count too, unless the lease of another call may
     * change them.
     */
    recall(pair: Pair): PairRecord {
      const token = livingToken(last(pair), now());
      const recent = trusted(pair) ?? EMPTY_RECORD;
      const isLeased = (recent.lease?.until ?? 0) > now();
      return isLeased ? { ...EMPTY_RECORD, token, disabled: recent.disabled } : { ...recent, token };
    },

    /** Notes a try to renew a token. Without a lease the table has no trace of it, and renewals would not back off. */
    noteTry(pair: Pair): void {
      tries.set(pairKey(pair), now());
    },

    /**
     * Calls the table and keeps the record that a read or a confirmed write returns. The record is trusted from the
     * start of the call, unless another call has changed the memory since. A token that cannot be opened here does not
     * replace a living token. A stop drops it.
     */
    async remember(pair: Pair, call: () => Promise<TaggedRecord | undefined>) {
      const [readAt, before] = [now(), entryOf(pair)];
      const seen = await call();
      if (seen === undefined || entryOf(pair) !== before) return seen;
      const record = withoutFutureTimes(seen.record, now());
      const isClosed = record.token !== undefined && record.token.accessToken === undefined;
      if (isClosed && !record.disabled && livingToken(before.record, now()) !== undefined) return seen;
      const token = record.disabled ? undefined : record.token;
      entries.set(pairKey(pair), { record: { ...record, token }, readAt });
      return seen;
    },

    /** Forgets the tokens of a client. From then on only the table can return them. */
    dropTokens(client: ClientName): void {
      for (const key of entries.keys().filter((name) => name.startsWith(pairKey({ client, service: '' })))) {
        const { record, readAt } = entries.get(key) ?? NO_ENTRY;
        entries.set(key, { record: { ...record, token: undefined }, readAt });
      }
    },
  };
}

interface Entry {
  readonly record: PairRecord;
  readonly readAt: number;
}

const NO_ENTRY: Entry = { record: EMPTY_RECORD, readAt: -Infinity };

/** Counts two bytes for each character of the members whose length a service chooses. All other members are small. */
function bytesOf({ record: { token, held, pause } }: Entry): number {
  const { accessToken, scope, passThrough } = token?.accessToken ? token : {};
  const visible = JSON.stringify([[...held.values(), pause], scope, passThrough]).length;
  return 2 * ((accessToken?.reveal().length ?? 0) + visible);
}

const MAX_PAIRS = 1_000;
/** An eighth of the function's memory. 1 000 tokens of 2 kB take 4 MB. */
const MAX_BYTES = 64 * 1_024 * 1_024;
const TRUST_MS = 60_000;
