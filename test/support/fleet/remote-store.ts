import { type Attempts, type CallTerms, createCircuitBreaker, OutOfTime } from '../../../functions/aws/calls.ts';
import type { ClosedToken, PairRecord, StoredToken } from '../../../functions/broker/pair/record.ts';
import {
  type PairStore,
  StoreBusy,
  StoreUnavailable,
  type TaggedRecord,
} from '../../../functions/broker/pair/store.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';
import { createReferencePairStore, type ReferencePairStore } from '../pair/reference-pair-store.ts';
import type { VirtualClock } from '../virtual-clock.ts';
import { type Asker, drawn, type StoreFault, type Surroundings } from './surroundings.ts';

interface Dependencies {
  readonly shared: ReferencePairStore;
  readonly surroundings: Surroundings;
  readonly clock: VirtualClock;
  readonly counts: { readonly storeCalls: Record<string, number> };
}

/**
 * The shared store as each instance reaches it: through the real circuit breaker, with a latency, metered keys and faults. It
 * stores and shows tokens as the adapter does: a token of another sealed format is closed.
 */
export function createRemoteStore({ shared, surroundings, clock, counts }: Dependencies) {
  const meters = { read: createMeter(clock.now, 3_000), replace: createMeter(clock.now, 1_000) };
  /** By the token of a record: the format that it is sealed in, when that is not the first. */
  const formats = new WeakMap<StoredToken, number>();

  return ({ number, state, now, sleep }: Asker): PairStore => {
    if (!surroundings.isShared) return createReferencePairStore();
    /** Set by the breaker right before each call. */
    let limitMs = Infinity;
    /** A call has failed, and no later call was answered. Only then may the circuit be open. */
    let isFailing = false;
    const noteFailure = () => {
      isFailing = true;
      surroundings.onStoreFailure?.(number);
    };
    const breaker = createCircuitBreaker(now, {
      async limitTime(timeoutMs, call, clockMs = Infinity) {
        limitMs = Math.min(timeoutMs, clockMs);
        if (limitMs > 0) return call(NEVER_ABORTED);
        noteFailure();
        throw new OutOfTime();
      },
    });

    return {
      async read(pair, deadline, isPatient) {
        const fault = surroundings.storeFault?.('read', number);
        const costOf = () => Math.ceil(itemKb(shared.peek(pair)) / 4);
        const seen = await send('read', fault, pair, { deadline, isPatient }, costOf, () =>
          shared.read(pair, deadline),
        );
        const { token } = seen.record;
        if (token === undefined) return seen;
        const isOther = token.accessToken !== undefined && (formats.get(token) ?? 1) !== state.format;
        if (fault !== 'no-key' && !isOther) return seen;
        surroundings.onClosedToken?.(number);
        const closed = fault === 'no-key' ? 'no-key' : 'unreadable';
        return { ...seen, record: { ...seen.record, token: closedToken(token, closed) } };
      },

      async replace(pair, seen, next, deadline) {
        const fault = surroundings.storeFault?.('replace', number);
        const before = seen.record;
        const { token } = next;
        const isSealed = token !== before.token && token?.accessToken !== undefined;
        const hasKey = !isSealed || fault !== 'no-key';
        if (!hasKey && before.token !== undefined && now() < before.token.expiresAt) {
          noteFailure();
          throw new StoreUnavailable('no sealing key');
        }
        if (isSealed && state.format !== 1) formats.set(token, state.format);
        const stored = hasKey ? next : { ...next, token: token && closedToken(token, 'no-bytes') };
        const costOf = () => Math.max(itemKb(shared.peek(pair)), itemKb(stored));
        const terms = { deadline, endsLease: next.lease === undefined, isWrite: true };
        const written = await send('replace', fault, pair, terms, costOf, async () => {
          const result = await shared.replace(pair, seen, stored, Infinity);
          surroundings.onWrite?.({ from: number, pair, before, next: stored, isWritten: result !== undefined });
          return result;
        });
        return written && { ...written, record: { ...written.record, token: hasKey ? written.record.token : token } };
      },
    };

    async function send<Result extends TaggedRecord | undefined>(
      operation: keyof PairStore,
      fault: StoreFault | undefined,
      pair: Pair,
      terms: CallTerms,
      costOf: () => number,
      effect: () => Promise<Result>,
    ): Promise<Result> {
      const work = () => {
        if (fault === 'busy' || !meters[operation](pair, costOf())) throw new Throttled();
        return effect();
      };
      try {
        return await breaker(terms, (_, attempts = { made: 0, throttled: 0 }) => {
          counts.storeCalls[operation] = (counts.storeCalls[operation] ?? 0) + 1;
          return attempt(operation, fault, work, attempts);
        });
      } catch (error) {
        const isOpen = error instanceof StoreUnavailable && error.cause === 'circuit-open';
        if (isOpen && isFailing) surroundings.onStoreFailure?.(number);
        if (error instanceof StoreBusy) surroundings.onStoreBusy?.(number);
        throw error;
      }
    }

    /** Half of the latency there, half of it back, and faults on the way. */
    async function attempt<Result>(
      operation: keyof PairStore,
      fault: StoreFault | undefined,
      work: () => Promise<Result>,
      attempts: Attempts,
    ) {
      const latencyMs = drawn(surroundings.storeLatencyMs);
      attempts.made += 1;
      if (fault === 'crash') return new Promise<never>(() => undefined);
      if (fault === 'hanging' || fault === 'late' || latencyMs > limitMs) return timeOut(fault, work, latencyMs);

      // A call that is on its way arrives, also when its instance has ended.
      const [told] = await Promise.allSettled([arrive(fault, work, latencyMs / 2)]);
      if (fault === 'freeze') await sleep(DELAY_MS);
      else if (latencyMs > 0) await sleep(latencyMs / 2);
      isFailing = false;
      if (told.status === 'rejected') {
        if (told.reason instanceof Throttled) attempts.throttled += 1;
        else noteFailure();
        throw told.reason;
      }
      if (fault === 'lost-then-busy') Object.assign(attempts, { made: 2, throttled: 1 });
      else if (fault !== 'answer-lost') return told.value;
      // A busy read is no failure. A write may have happened.
      if (fault === 'answer-lost' || operation === 'replace') noteFailure();
      throw new Error('answer lost');
    }

    async function timeOut(
      fault: StoreFault | undefined,
      work: () => Promise<unknown>,
      latencyMs: number,
    ): Promise<never> {
      if (fault === 'late') void clock.sleep(LATE_MS).then(work).catch(ignore);
      else if (fault !== 'hanging') void arrive(fault, work, latencyMs / 2).catch(ignore);
      await sleep(limitMs);
      noteFailure();
      throw new OutOfTime();
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

class Throttled extends Error {}

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

function closedToken(token: StoredToken | ClosedToken, closed: ClosedToken['closed']): ClosedToken {
  if (token.accessToken === undefined) return { ...token, closed };
  const { accessToken: _, scope: __, passThrough: ___, ...visible } = token;
  return { ...visible, closed };
}

const ignore = () => undefined;
const NEVER_ABORTED = new AbortController().signal;
const LATE_MS = 2_000;
const DELAY_MS = 6_001;
