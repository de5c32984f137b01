import { AwsRefusal, OutOfTime, type SignalledCall } from '../../../functions/aws/calls.ts';
import { createCircuitBreaker, PROBE_WAIT_MS } from '../../../functions/aws/pair-table/circuit-breaker.ts';
import type { PairRecord, StoredToken } from '../../../functions/broker/pair/record.ts';
import {
  type CallTerms,
  type PairStore,
  StoreUnavailable,
  type TaggedRecord,
} from '../../../functions/broker/pair/store.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';
import { closedToken } from '../pair/pair-examples.ts';
import { createReferencePairStore, type ReferencePairStore } from '../pair/reference-pair-store.ts';
import type { VirtualClock } from '../virtual-clock.ts';
import { type Asker, drawn, faultsOf, type StoreFault, type Surroundings } from './surroundings.ts';

interface Dependencies {
  readonly shared: ReferencePairStore;
  readonly surroundings: Surroundings;
  readonly clock: VirtualClock;
  readonly counts: { readonly storeCalls: Record<string, number> };
}

/**
 * The shared store as each instance reaches it: through the real circuit breakers, with a latency, metered keys and faults. It
 * stores and shows tokens as the adapter does: a token of another sealed format is closed.
 */
export function createRemoteStore({ shared, surroundings, clock, counts }: Dependencies) {
  const meters = { read: createMeter(clock.now, 3_000), replace: createMeter(clock.now, 1_000) };

  return ({ number, state, now, sleep }: Asker): PairStore => {
    if (!surroundings.isShared) return createReferencePairStore();
    /** Set by the breaker right before each call. */
    let limitMs = Infinity;
    const limits = {
      async limitTime<Result>(timeoutMs: number, call: SignalledCall<Result>) {
        limitMs = timeoutMs;
        if (limitMs <= 0) throw new OutOfTime();
        const answer = call(NEVER_ABORTED);
        return limitMs === PROBE_WAIT_MS ? Promise.race([answer, sleep(limitMs).then(outOfTime)]) : answer;
      },
    };
    const breakers = {
      read: createCircuitBreaker('GetItem', now, limits),
      replace: createCircuitBreaker('UpdateItem', now, limits),
    };

    return {
      async read(pair, terms) {
        const costOf = () => Math.ceil(itemKb(shared.peek(pair)) / 4);
        const seen = await send('read', pair, terms, costOf, () => shared.read(pair, terms));
        const { token } = seen.record;
        const isOpen = token?.accessToken === undefined || formatOf(token) === state.format;
        return isOpen ? seen : { ...seen, record: { ...seen.record, token: closedToken(token) } };
      },

      replace(pair, seen, next, terms) {
        const { token } = next;
        const isSealed = token !== seen.record.token && token?.accessToken !== undefined;
        if (isSealed && state.format !== 1) FORMATS.set(token, state.format);
        const costOf = () => Math.max(itemKb(shared.peek(pair)), itemKb(next));
        return send('replace', pair, terms, costOf, async () => {
          const result = await shared.replace(pair, seen, next, terms);
          surroundings.onWrite?.({ from: number, pair, before: seen.record, next, isWritten: result !== undefined });
          return result;
        });
      },
    };

    async function send<Result extends TaggedRecord | undefined>(
      operation: keyof PairStore,
      pair: Pair,
      terms: CallTerms,
      costOf: () => number,
      effect: () => Promise<Result>,
    ): Promise<Result> {
      const fault = surroundings.storeFault?.(operation, number);
      try {
        if (fault === 'no-key') throw new StoreUnavailable('lasting', 'no sealing key');
        return await breakers[operation](terms, async () => {
          counts.storeCalls[operation] = (counts.storeCalls[operation] ?? 0) + 1;
          const endsAt = now() + limitMs;
          const work = (isBusy: boolean) => () => {
            if (isBusy || !meters[operation](pair, costOf())) throw new Throttled();
            return effect();
          };
          const [first, second] = faultsOf(fault);
          const attempted = attempt(first, work(first === 'busy'), endsAt);
          if (second === undefined) return attempted;
          await attempted.catch(ignore);
          return attempt(second, work(second === 'busy'), endsAt);
        });
      } catch (error) {
        surroundings.onStoreFailure?.(number);
        throw error;
      }
    }

    /** Half of the latency there, half of it back, and faults on the way. */
    async function attempt<Result>(fault: StoreFault | undefined, work: () => Promise<Result>, endsAt: number) {
      const latencyMs = fault === 'late' ? LATE_MS : drawn(surroundings.storeLatencyMs);
      const leftMs = endsAt - now();
      if (fault === 'crash') return new Promise<never>(() => undefined);
      if (fault === 'refused') throw new AwsRefusal('AccessDeniedException', 400);
      // A call that is on its way arrives, also when its instance has ended.
      const arrival = fault === 'hanging' ? new Promise<never>(() => undefined) : arrive(fault, work, latencyMs / 2);
      if (fault === 'hanging' || latencyMs > leftMs) {
        arrival.catch(ignore);
        await sleep(leftMs);
        throw new OutOfTime();
      }
      const [told] = await Promise.allSettled([arrival]);
      if (fault === 'freeze') await sleep(DELAY_MS);
      else if (latencyMs > 0) await sleep(latencyMs / 2);
      if (told.status === 'rejected') throw told.reason;
      if (fault === 'answer-lost') throw new Error('answer lost');
      return told.value;
    }
  };

  async function arrive<Result>(fault: StoreFault | undefined, work: () => Promise<Result>, afterMs: number) {
    await clock.sleep(fault === 'delay' ? DELAY_MS : afterMs);
    if (fault === 'unavailable') throw new Error('down');
    const result = await work();
    if (fault === 'repeated') await work();
    return result;
  }

  function itemKb({ token }: PairRecord): number {
    return token?.accessToken === undefined ? 1 : surroundings.tokenKb;
  }
}

/** By the token of a record: the format that it is sealed in, when that is not the first. */
const FORMATS = new WeakMap<StoredToken, number>();
export const formatOf = (token: StoredToken) => FORMATS.get(token) ?? 1;

class Throttled extends Error {
  override readonly name = 'ThrottlingException';
}

/** DynamoDB serves each key this many units a second, and those of one idle second at once. A throttled call costs nothing. */
function createMeter(now: () => number, unitsPerSecond: number) {
  const levels = new Map<string, { readonly units: number; readonly at: number }>();
  return (pair: Pair, cost: number): boolean => {
    const key = pairKey(pair);
    const { units, at } = levels.get(key) ?? { units: unitsPerSecond, at: 0 };
    const left = Math.min(unitsPerSecond, units + ((now() - at) * unitsPerSecond) / 1_000);
    const isServed = left >= cost;
    levels.set(key, { units: isServed ? left - cost : left, at: now() });
    return isServed;
  };
}

const ignore = () => undefined;
const outOfTime = () => Promise.reject(new OutOfTime());
const NEVER_ABORTED = new AbortController().signal;
/** Half of it passes before the effect. */
const LATE_MS = 4_000;
const DELAY_MS = 6_100;
