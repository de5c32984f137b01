import { MemoryCache } from '../lru-cache.ts';
import { LOCAL_LATCH_MS } from './latch.ts';
import { type Pair, pairKey } from './pair.ts';
import { EMPTY_RECORD, type PairRecord, type Rejection } from './record.ts';
import type { PairStore } from './store.ts';
import { acquired, mayAcquire, paused, published, released } from './transitions.ts';

/**
 * What one environment knows of its pairs: the last state of each shared record, trusted for a minute. It is a store
 * by the same rules as well, the one to go on with while the shared store is down.
 */
export interface PairMemory extends PairStore {
  /** The state, however old: memory has but one. */
  read(pair: Pair): Promise<PairRecord>;
  /** The state as it was less than a minute ago. */
  recall(pair: Pair): PairRecord | undefined;
  /** Keeps what the shared store holds; what others may have changed in it was last looked at when `knownAt` says. */
  remember(pair: Pair, record: PairRecord, knownAt?: number): void;
  /** Takes over what a shared record says besides its token, which this environment cannot open. */
  adopt(pair: Pair, record: PairRecord): void;
  /** The record with the latches that only this environment knows laid over it. */
  withOwnLatches(pair: Pair, record: PairRecord): PairRecord;
  /** Latches a version here because the shared store could not be told; ends by itself. */
  latch(pair: Pair, version: string): void;
}

export function createPairMemory(now: () => number): PairMemory {
  const states = new MemoryCache<State>(MAX_PAIRS);
  const stateOf = (pair: Pair) => states.get(pairKey(pair)) ?? NOTHING_KNOWN;

  const withLatches = (latches: State['latches'], record: PairRecord) => {
    if (latches.size === 0) return record;
    const living = [...latches].filter(([, at]) => now() - at < LOCAL_LATCH_MS);
    if (living.length === 0) return record;
    const own = living.map(([version, at]): [string, Rejection] => {
      const shared = record.rejected.get(version);
      return [version, { count: shared?.count ?? 1, at: Math.max(at, shared?.at ?? 0), fence: shared?.fence ?? 0 }];
    });
    return { ...record, rejected: new Map([...record.rejected, ...own]) };
  };
  const recordOf = ({ record, latches }: State) => withLatches(latches, record);

  const remember = (pair: Pair, record: PairRecord, knownAt = now()) => {
    states.set(pairKey(pair), { ...stateOf(pair), record, knownAt });
  };

  const latch = (pair: Pair, version: string) => {
    const state = stateOf(pair);
    states.set(pairKey(pair), {
      ...state,
      latches: new Map([...state.latches].slice(-MAX_LATCHES)).set(version, now()),
    });
  };

  /** Changes the record if the fence is still the one that the writer knows. */
  const change = async (pair: Pair, fence: number, next: (record: PairRecord) => PairRecord) => {
    const { record } = stateOf(pair);
    if (record.fence !== fence) return false;
    remember(pair, next(record));
    return true;
  };

  return {
    remember,
    withOwnLatches: (pair, record) => withLatches(stateOf(pair).latches, record),
    adopt(pair, { disabled, pause, rejected }) {
      const own = stateOf(pair).record;
      remember(pair, {
        ...own,
        disabled,
        pause: pause ?? own.pause,
        rejected,
      });
    },
    latch,
    recall(pair) {
      const state = stateOf(pair);
      const age = now() - state.knownAt;
      // A clock that was set back makes an age negative: nobody can tell how old the state is.
      return age >= 0 && age < TRUST_MS ? recordOf(state) : undefined;
    },
    read: async (pair) => recordOf(stateOf(pair)),
    acquire: async (pair, acquisition) => {
      const state = stateOf(pair);
      const { record } = state;
      if (!mayAcquire(record, acquisition)) return undefined;
      const before = recordOf(state);
      remember(pair, acquired(record, { ...acquisition, chargedVersion: undefined }));
      return { ...before, fence: acquisition.seenFence };
    },
    publish: (pair, fence, publication) => change(pair, fence, (record) => published(record, publication)),
    pause: (pair, fence, pause) => change(pair, fence, (record) => paused(record, pause)),
    reject: async (pair, fence, { version }) => {
      latch(pair, version);
      await change(pair, fence, (record) => released(record));
    },
    release: async (pair, fence, provenVersion) =>
      void (await change(pair, fence, (record) => released(record, provenVersion))),
  };
}

interface State {
  readonly record: PairRecord;
  readonly knownAt: number;
  /** When each version was latched here. */
  readonly latches: ReadonlyMap<string, number>;
}

const NOTHING_KNOWN: State = { record: EMPTY_RECORD, knownAt: -Infinity, latches: new Map() };

const MAX_PAIRS = 1_000;
const MAX_LATCHES = 8;
const TRUST_MS = 60_000;
