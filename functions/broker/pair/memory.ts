import { LruCache } from '../lru-cache.ts';
import { type Pair, pairKey } from '../pair.ts';
import { isWithin } from '../time.ts';
import { isIssuable } from './freshness.ts';
import { EMPTY_RECORD, type PairRecord } from './record.ts';

/** The last record that one environment knows of each of its pairs. */
export class PairMemory {
  readonly #entries = new LruCache<Entry>(MAX_PAIRS, MAX_BYTES, bytesOf);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The record as the table held it less than a minute ago. */
  trusted(pair: Pair): PairRecord | undefined {
    const { record, readAt } = this.#entryOf(pair);
    return isWithin(TRUST_MS, readAt, this.#now()) ? record : undefined;
  }

  /** The record, however old it is and however it came here: for an environment that is alone. */
  last(pair: Pair): PairRecord {
    return this.#entryOf(pair).record;
  }

  /**
   * The record of the table with what only this environment knows: for 15 minutes the rejections that it could not tell
   * the table, and beside a token that it cannot open its own token and the limits of its own requests.
   */
  withOwn(pair: Pair, shared: PairRecord): PairRecord {
    const { record: own, untold } = this.#entryOf(pair);
    const now = this.#now();
    const rejected = new Map(shared.rejected);
    for (const [version, at] of untold) {
      const isNews = now - at < UNTOLD_MS && (rejected.get(version)?.at ?? -Infinity) < at;
      // Under a fence that no lease has.
      if (isNews) rejected.set(version, { count: 1, at, fence: -1 });
    }
    if (shared.closedUntil === 0) return { ...shared, rejected };

    const { token, held, pause, forcedAt } = own;
    return {
      ...shared,
      rejected,
      held: new Map([...shared.held, ...held]),
      pause: pause !== undefined && pause.until > (shared.pause?.until ?? 0) ? pause : shared.pause,
      forcedAt: Math.max(shared.forcedAt, forcedAt),
      ...(token !== undefined && isIssuable(token, now) && { token }),
    };
  }

  /** Keeps what the table held when a read or a confirmed write began; without `readAt` what was decided alone. */
  remember(pair: Pair, record: PairRecord, readAt = -Infinity): void {
    this.#entries.set(pairKey(pair), { ...this.#entryOf(pair), record, readAt });
  }

  /** Keeps a rejection that the table could not be told. */
  rememberUntold(pair: Pair, version: string): void {
    const entry = this.#entryOf(pair);
    const untold = new Map([...entry.untold].slice(1 - MAX_UNTOLD)).set(version, this.#now());
    this.#entries.set(pairKey(pair), { ...entry, untold });
  }

  #entryOf(pair: Pair): Entry {
    return this.#entries.get(pairKey(pair)) ?? { record: EMPTY_RECORD, readAt: -Infinity, untold: new Map() };
  }
}

interface Entry {
  readonly record: PairRecord;
  readonly readAt: number;
  /** By version: when it was rejected. */
  readonly untold: ReadonlyMap<string, number>;
}

/** Counts what a service chooses the length of, with two bytes for a character; all else is small. */
function bytesOf({ record: { token, held, pause } }: Entry): number {
  const rest = JSON.stringify([token?.scope, token?.passThrough, [...held.values()], pause]).length;
  return 2 * ((token?.accessToken.reveal().length ?? 0) + rest);
}

const MAX_PAIRS = 1_000;
/** An eighth of what the function has; 1 000 tokens of 2 kB take 4 MB. */
const MAX_BYTES = 64 * 1_024 * 1_024;
const MAX_UNTOLD = 8;
const TRUST_MS = 60_000;
const UNTOLD_MS = 15 * 60_000;
