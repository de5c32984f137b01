import { LruCache } from '../lru-cache.ts';
import { isIssuable } from './freshness.ts';
import { type Pair, pairKey } from './pair.ts';
import { EMPTY_RECORD, type PairRecord } from './record.ts';

/** The last record that one environment knows of each of its pairs. */
export class PairMemory {
  readonly #entries = new LruCache<Entry>(MAX_PAIRS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The record as the table held it less than a minute ago. A clock that was set back makes its age unknown. */
  trusted(pair: Pair): PairRecord | undefined {
    const entry = this.#entries.get(pairKey(pair));
    if (entry === undefined) return undefined;
    const ageMs = this.#now() - entry.readAt;
    return ageMs >= 0 && ageMs < TRUST_MS ? entry.record : undefined;
  }

  /** The record, however old it is and however it came here: for an environment that is alone. */
  last(pair: Pair): PairRecord {
    return this.#entries.get(pairKey(pair))?.record ?? EMPTY_RECORD;
  }

  /** The record with the token that this environment has itself, where it cannot open the one of the record. */
  withOwnToken(pair: Pair, record: PairRecord): PairRecord {
    if (record.closedUntil === 0) return record;
    const { token, lifetimeSeenMs } = this.last(pair);
    const isLiving = token !== undefined && isIssuable({ ...token, lifetimeSeenMs }, this.#now());
    return isLiving ? { ...record, token, lifetimeSeenMs } : record;
  }

  /** Keeps what the table holds; `readAt` says when the reading, or the confirmed write, began. */
  remember(pair: Pair, record: PairRecord, readAt: number): void {
    this.#entries.set(pairKey(pair), { record, readAt });
  }

  /** Keeps what this environment decided alone, which it never trusts without asking again. */
  rememberAlone(pair: Pair, record: PairRecord): void {
    this.remember(pair, record, -Infinity);
  }
}

interface Entry {
  readonly record: PairRecord;
  readonly readAt: number;
}

const MAX_PAIRS = 1_000;
const TRUST_MS = 60_000;
