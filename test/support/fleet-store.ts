import type { Pair } from '../../functions/broker/pair/pair.ts';
import { type PairRecord, pastTime, type StoredToken, StoreUnavailable } from '../../functions/broker/pair/record.ts';
import type { PairStore } from '../../functions/broker/pair/store.ts';
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
  /** The sealed format of this environment's release; others cannot open what it publishes. */
  readonly format: number;
  /** Epoch milliseconds, by this environment's clock. */
  readonly now: () => number;
  readonly faultOf: (operation: keyof PairStore) => StoreFault | undefined;
  /** Ends with its environment. */
  readonly sleep: (ms: number) => Promise<void>;
}

/** The shared store as each environment reaches it: half of the latency there, half of it back, and faults on the way. */
export function createStoreAccess({ shared, clock, latencyMs }: Options): (way: Way) => PairStore {
  /** By the token of a record: the format that it is sealed in. */
  const formats = new WeakMap<StoredToken, number>();

  return ({ format, now, faultOf, sleep }) => {
    /** As the adapter sees a record: what another format has sealed is closed. */
    const opened = (record: PairRecord): PairRecord => {
      const { token, attemptedAt } = record;
      if (token === undefined || (formats.get(token) ?? format) === format) return record;
      const latest = Math.max(pastTime(attemptedAt, now()), pastTime(token.issuedAt, now()));
      return { ...record, token: undefined, closedUntil: latest + REPLACED_AFTER_MS };
    };
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
      read: remote('read', async (...args) => opened(await shared.read(...args)), recordAsSeen),
      acquire: remote('acquire', async (...args) => {
        const before = await shared.acquire(...args);
        return before && opened(before);
      }),
      end: remote('end', (pair, lease, ending, deadline) => {
        if (ending.kind === 'publish') formats.set(ending.token, format);
        return shared.end(pair, lease, ending, deadline);
      }),
      reject: remote('reject', shared.reject),
    };
  };
}

function recordAsSeen(fault: StoreFault | undefined, record: PairRecord): PairRecord {
  return fault === 'no-key' ? { ...record, token: undefined, closedUntil: Infinity } : record;
}

/** What the adapter gives the store on an open connection. */
const STORE_BUDGET_MS = 150;
const LATE_MS = 2_000;
/** When the adapter lets a record be replaced that it cannot open. */
const REPLACED_AFTER_MS = 60_000;
