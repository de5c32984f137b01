import { LruCache } from '../lru-cache.ts';
import { type Pair, pairKey } from '../pair.ts';
import { isWithin } from '../time.ts';
import type { Outcome } from './outcome.ts';
import type { PairRecord, StoredToken } from './record.ts';
import { EMPTY_RECORD, livingToken, openToken, withoutFutureTimes } from './record.ts';
import type { TaggedRecord } from './store.ts';

/** Remembers the last record of each pair, and the instance's own outcomes that are not in the table. */
export class PairMemory {
  readonly #entries = new LruCache<Entry>(MAX_PAIRS, MAX_BYTES, bytesOf);
  /** Separate and larger, so that many pairs do not make an instance that is alone forget its latches. */
  readonly #untold = new LruCache<PairRecord['rejected']>(MAX_LATCHED_PAIRS);
  readonly #now: () => number;
  #changes = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns the record that the table had less than `forMs` ago. */
  trusted(pair: Pair, forMs = TRUST_MS): PairRecord | undefined {
    const { record, readAt } = this.#entryOf(pair);
    return isWithin(forMs, readAt, this.#now()) ? record : undefined;
  }

  /**
   * Calls the table and keeps the record that a read or a confirmed write returns. The record is trusted from the
   * start of the call, unless another call has changed the memory since. A confirmed write ends the instance's own
   * outcomes, unless the table's token cannot be opened here: then the instance's own token serves on.
   */
  async remember(pair: Pair, call: () => Promise<TaggedRecord | undefined>, isWritten = false) {
    const began = { at: this.#now(), changes: this.#changes };
    const seen = await call();
    const before = this.#entryOf(pair);
    if (seen === undefined || before.changedAt > began.changes) return seen;
    const isClosed = seen.record.token !== undefined && openToken(seen.record) === undefined;
    // Only next to a closed token. A withdrawn token must not come back.
    const opened = isClosed ? (openToken(before.record) ?? before.opened) : undefined;
    const own = isWritten && !isClosed ? EMPTY_RECORD : before.own;
    const record = withoutFutureTimes(seen.record, this.#now());
    this.#entries.set(pairKey(pair), { record, own, opened, readAt: began.at, changedAt: ++this.#changes });
    return seen;
  }

  /** Keeps an outcome that is not in the table. A rejection keeps only its latch. */
  keepOutcome(pair: Pair, own: PairRecord, { kind, version }: Pick<Outcome, 'kind' | 'version'>) {
    const rejection = kind === 'rejected' ? own.rejected.get(version) : undefined;
    if (rejection === undefined) return this.keepOwn(pair, own);
    const key = pairKey(pair);
    const kept = [...(this.#untold.get(key) ?? [])].filter(([name]) => name !== version).slice(1 - MAX_VERSIONS);
    this.#untold.set(key, new Map([...kept, [version, rejection]]));
  }

  /** Keeps changes that are not in the table. A failure leaves the token of another call in place. */
  keepOwn(pair: Pair, changes: Partial<PairRecord>): void {
    const entry = this.#entryOf(pair);
    const token = openToken(changes) ?? entry.own.token;
    this.#entries.set(pairKey(pair), { ...entry, own: { ...entry.own, ...changes, token } });
  }

  /**
   * Returns the table's record, by default as remembered, with the rejections that could not be written. Own outcomes
   * count until a write is confirmed again, or while the table's token cannot be opened.
   */
  withOwn(pair: Pair, shared: PairRecord = this.#entryOf(pair).record): PairRecord {
    const { own, opened } = this.#entryOf(pair);
    const untold = this.#untold.get(pairKey(pair)) ?? NONE;
    if (own === EMPTY_RECORD && opened === undefined && untold === NONE) return shared;
    const now = this.#now();
    const rejected = new Map(shared.rejected);
    for (const [version, latch] of untold) {
      const known = rejected.get(version);
      if (isWithin(UNTOLD_MS, latch.at, now) && (known?.at ?? 0) < latch.at) {
        rejected.set(version, { ...latch, count: Math.max(known?.count ?? 0, latch.count) });
      }
    }
    const ownHolds = [...own.held].filter(([key, { until }]) => until > (shared.held.get(key)?.until ?? 0));
    return {
      ...shared,
      rejected,
      held: new Map([...shared.held, ...ownHolds]),
      pause: (own.pause?.until ?? 0) > (shared.pause?.until ?? 0) ? own.pause : shared.pause,
      attemptedAt: Math.max(shared.attemptedAt, own.attemptedAt),
      forcedAt: Math.max(shared.forcedAt, own.forcedAt),
      checked: (own.checked?.at ?? 0) > (shared.checked?.at ?? 0) ? own.checked : shared.checked,
      token: livingToken(shared, now) ?? livingToken(own, now) ?? livingToken({ token: opened }, now) ?? shared.token,
    };
  }

  #entryOf(pair: Pair): Entry {
    return this.#entries.get(pairKey(pair)) ?? NO_ENTRY;
  }
}

interface Entry {
  readonly record: PairRecord;
  /** The token of this record can be opened. Its lease, rejections and flag do not count. */
  readonly own: PairRecord;
  /** The table's token, from the time when it could still be opened here. */
  readonly opened?: StoredToken | undefined;
  readonly readAt: number;
  /** A count of the memory's changes. */
  readonly changedAt: number;
}

const NO_ENTRY: Entry = { record: EMPTY_RECORD, own: EMPTY_RECORD, readAt: -Infinity, changedAt: 0 };

/** Counts two bytes for each character of the members whose length a service chooses. All other members are small. */
function bytesOf({ record, own, opened }: Entry): number {
  const tokens = [openToken(record), openToken(own), opened];
  const waits = [record, own].map(({ held, pause }) => [...held.values(), pause]);
  const visible = JSON.stringify([waits, tokens.map((token) => [token?.scope, token?.passThrough])]).length;
  return 2 * tokens.reduce((sum, token) => sum + (token?.accessToken.reveal().length ?? 0), visible);
}

const NONE: PairRecord['rejected'] = new Map();
const MAX_PAIRS = 1_000;
/** An eighth of the function's memory. 1 000 tokens of 2 kB take 4 MB. */
const MAX_BYTES = 64 * 1_024 * 1_024;
const MAX_LATCHED_PAIRS = 10_000;
const MAX_VERSIONS = 8;
const TRUST_MS = 60_000;
const UNTOLD_MS = 24 * 60 * 60_000;
