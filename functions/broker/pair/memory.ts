import { LruCache } from '../lru-cache.ts';
import { type Pair, pairKey } from '../pair.ts';
import { isWithin } from '../time.ts';
import { livingToken } from './freshness.ts';
import { EMPTY_RECORD, type PairRecord, type Rejection, type StoredToken, withoutFutureTimes } from './record.ts';

/** The last record that one instance has of each of its pairs, and its own outcomes that the table was not told. */
export class PairMemory {
  readonly #entries = new LruCache<Entry>(MAX_PAIRS, MAX_BYTES, bytesOf);
  /** Apart and many more, so that no number of pairs makes an instance that is alone forget its latches. */
  readonly #untold = new LruCache<PairRecord['rejected']>(MAX_LATCHED_PAIRS);
  readonly #now: () => number;
  #changes = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The record as the table held it less than `forMs` ago. */
  trusted(pair: Pair, forMs = TRUST_MS): PairRecord | undefined {
    const { record, readAt } = this.#entryOf(pair);
    return isWithin(forMs, readAt, this.#now()) ? record : undefined;
  }

  /** The record as the table last held it, however long ago. */
  last(pair: Pair): PairRecord {
    return this.#entryOf(pair).record;
  }

  /** To be called before the table is asked: the record is trusted from then on. */
  begin(): Beginning {
    return { at: this.#now(), changes: this.#changes };
  }

  /**
   * Keeps the record that a read, or a confirmed write, gave. One that was overtaken is not kept. After a confirmed write the
   * table speaks for itself again, unless its token cannot be opened here: then the instance's own serves on.
   */
  remember(pair: Pair, record: PairRecord, began: Beginning, isWritten = false): void {
    const before = this.#entryOf(pair);
    if (before.changedAt > began.changes) return;
    const isClosed = record.token !== undefined && record.token.accessToken === undefined;
    const last = before.record.token?.accessToken === undefined ? before.opened : before.record.token;
    // Only beside a closed token: one that was withdrawn must not come back.
    const opened = isClosed ? last : undefined;
    const own = isWritten && !isClosed ? EMPTY_RECORD : before.own;
    const usable = withoutFutureTimes(record, this.#now());
    this.#entries.set(pairKey(pair), { record: usable, own, opened, readAt: began.at, changedAt: ++this.#changes });
  }

  /** Keeps the outcome of a request that the table was not told; the token of another call stays beside a failure. */
  keepOwn(pair: Pair, outcome: PairRecord): void {
    const entry = this.#entryOf(pair);
    const token = outcome.token?.accessToken === undefined ? entry.own.token : outcome.token;
    this.#entries.set(pairKey(pair), { ...entry, own: { ...outcome, token } });
  }

  /** Keeps when this instance last tried to renew the token, with or without a lease. */
  keepAttempt(pair: Pair, attemptedAt: number): void {
    const entry = this.#entryOf(pair);
    this.#entries.set(pairKey(pair), { ...entry, own: { ...entry.own, attemptedAt } });
  }

  keepRejection(pair: Pair, version: string, rejection: Rejection): void {
    const key = pairKey(pair);
    const kept = [...(this.#untold.get(key) ?? [])].filter(([name]) => name !== version).slice(1 - MAX_VERSIONS);
    this.#untold.set(key, new Map([...kept, [version, rejection]]));
  }

  /**
   * Adds what the table does not have: rejections that could not be written, and, until a write is confirmed again or while the
   * table's token cannot be opened, the instance's own token, holds, pause, attempts and trial.
   */
  withOwn(pair: Pair, shared: PairRecord): PairRecord {
    const now = this.#now();
    const { own, opened } = this.#entryOf(pair);
    const rejected = new Map(shared.rejected);
    for (const [version, latch] of this.#untold.get(pairKey(pair)) ?? []) {
      const known = rejected.get(version);
      if (isWithin(UNTOLD_MS, latch.at, now) && (known?.at ?? 0) < latch.at) {
        rejected.set(version, { ...latch, count: Math.max(known?.count ?? 0, latch.count) });
      }
    }
    return {
      ...shared,
      rejected,
      held: own.held.size === 0 ? shared.held : new Map([...shared.held, ...own.held]),
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

/** When the table was asked, on the clock and in changes of the memory. */
interface Beginning {
  readonly at: number;
  readonly changes: number;
}

interface Entry {
  readonly record: PairRecord;
  /** Its token can be opened; its lease, its rejections and its flag do not count. */
  readonly own: PairRecord;
  /** The token as it was before it could not be opened here any more. */
  readonly opened?: StoredToken | undefined;
  readonly readAt: number;
  readonly changedAt: number;
}

const NO_ENTRY: Entry = { record: EMPTY_RECORD, own: EMPTY_RECORD, readAt: -Infinity, changedAt: 0 };

/** Counts the members whose length a service chooses, with two bytes for a character; all else is small. */
function bytesOf({ record, own, opened: before }: Entry): number {
  const lengths = [record, own, { ...EMPTY_RECORD, token: before }].map(({ token, held, pause }) => {
    const opened = token?.accessToken === undefined ? undefined : token;
    const rest = JSON.stringify([opened?.scope, opened?.passThrough, [...held.values()], pause]).length;
    return (opened?.accessToken.reveal().length ?? 0) + rest;
  });
  return 2 * lengths.reduce((sum, length) => sum + length, 0);
}

const MAX_PAIRS = 1_000;
/** An eighth of what the function has; 1 000 tokens of 2 kB take 4 MB. */
const MAX_BYTES = 64 * 1_024 * 1_024;
const MAX_LATCHED_PAIRS = 10_000;
const MAX_VERSIONS = 8;
const TRUST_MS = 60_000;
const UNTOLD_MS = 24 * 60 * 60_000;
