import type { Pair } from '../../functions/broker/pair/pair.ts';
import type { PairRecord } from '../../functions/broker/pair/record.ts';
import { type PairStore, StoreUnavailable } from '../../functions/broker/pair/store.ts';
import type { ReferencePairStore } from './reference-pair-store.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** What goes wrong with one call to the shared store. */
export type StoreFault =
  /** Refused at once. */
  | 'unavailable'
  /** It had its effect, and its answer never came. */
  | 'answer-lost'
  /** The answer was lost, and the store was told again, as its client does: the effect happens twice. */
  | 'repeated'
  /** No answer within the time budget, and no effect. */
  | 'hanging'
  /** No answer within the time budget; the effect comes two seconds later. */
  | 'late'
  /** A read sees the record without what is sealed in it: the environment has no key. */
  | 'no-key';

interface Options {
  readonly shared: ReferencePairStore;
  readonly clock: VirtualClock;
  readonly latencyMs: () => number;
}

interface Way {
  readonly faultOf: (operation: keyof PairStore) => StoreFault | undefined;
  /** Ends with its environment. */
  readonly sleep: (ms: number) => Promise<void>;
}

/** The shared store as each environment reaches it: half of the latency there, half of it back, and faults on the way. */
export function createStoreAccess({ shared, clock, latencyMs }: Options): (way: Way) => PairStore {
  return ({ faultOf, sleep }) => {
    const remote =
      <Rest extends unknown[], Result>(
        operation: keyof PairStore,
        call: (pair: Pair, ...rest: Rest) => Promise<Result>,
        distort?: (fault: StoreFault | undefined, result: Result) => Result,
      ) =>
      async (pair: Pair, ...rest: Rest): Promise<Result> => {
        const fault = faultOf(operation);
        const happen = () => call(pair, ...rest);
        if (fault === 'late') void clock.sleep(LATE_MS).then(happen);
        if (fault === 'hanging' || fault === 'late') {
          await sleep(STORE_BUDGET_MS);
          throw new StoreUnavailable('no answer in time');
        }
        await sleep(latencyMs() / 2);
        if (fault === 'unavailable') throw new StoreUnavailable('down');
        if (fault === 'repeated') await happen();
        const latest = await happen();
        const result = distort?.(fault, latest) ?? latest;
        await sleep(latencyMs() / 2);
        if (fault === 'answer-lost') throw new StoreUnavailable('answer lost');
        return result;
      };

    return {
      read: remote('read', shared.read, recordAsSeen),
      acquire: remote('acquire', shared.acquire),
      end: remote('end', shared.end),
      reject: remote('reject', shared.reject),
    };
  };
}

function recordAsSeen(fault: StoreFault | undefined, record: PairRecord): PairRecord {
  return fault === 'no-key' ? { ...record, token: undefined, lifetimeSeenMs: 0, closedUntil: Infinity } : record;
}

/** What the adapter gives the store on an open connection. */
const STORE_BUDGET_MS = 150;
const LATE_MS = 2_000;
