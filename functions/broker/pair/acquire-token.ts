import { Problem } from '../problem.ts';
import type { RenewToken } from '../token-request/renew-token.ts';
import type { Call } from './call.ts';
import type { Goal, Pursue } from './goal.ts';
import { createLeaseWatch } from './lease-watch.ts';
import { createLeasedRequest, type LeaseOutcome, type LeasePlan, leaseMs } from './leased-request.ts';
import type { PairMemory } from './memory.ts';
import { capTimes, type PairRecord } from './record.ts';
import { type PairStore, StoreUnavailable, storeUntil } from './store.ts';

interface Dependencies {
  readonly memory: PairMemory;
  /** The shared cache; left out, this environment is by itself. */
  readonly store?: PairStore | undefined;
  /** The same with more time for a call, for whom the store has answered already; left out, there is no more. */
  readonly patientStore?: PairStore | undefined;
  readonly renewToken: RenewToken;
  readonly stagedVersions: (call: Call) => Promise<ReadonlySet<string> | undefined>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** Looks and acts until the goal is reached; every round begins with what all environments share. */
export function createPursuit(dependencies: Dependencies): Pursue {
  const { memory, store: shared = memory, patientStore = shared, now, sleep, random } = dependencies;
  const requestUnderLease = createLeasedRequest(dependencies);

  return async (call, goal, since = -Infinity) => {
    const watch = createLeaseWatch(call.owner, leaseMs(call.service), now);
    let store = shared;
    let consistency: 'eventual' | 'strong' = 'eventual';
    let readSince = since;
    let preparation: ReturnType<typeof goal.prepare> | undefined;
    let latest: typeof preparation;
    let polls = 0;
    let failures = 0;
    let lostAnswers = 0;
    let lockedLooks = 0;

    while (now() < call.deadline) {
      const preparing = preparation ?? goal.prepare(readSince);
      preparation = undefined;
      latest = preparing;
      const [record, prepared] = await Promise.all([readRecord(call, store, consistency), preparing]);
      if (record === undefined && watch.remainingMs() > 0) {
        await poll(call, polls++, watch.remainingMs());
        continue;
      }
      if (record === undefined || isForeign(record, store) || (await isOutdone(call, record))) {
        if (record !== undefined) memory.adopt(call.pair, record);
        store = memory;
        preparation = preparing;
        continue;
      }

      if (store === shared) store = patientStore;
      watch.see(record);
      const isAlone = store === memory;
      const move = await goal.look({ record, prepared, leaseIsOver: watch.isOver(record), readSince, isAlone });
      if (move.kind === 'done') return move.result;
      if (move.kind === 'wait') {
        await poll(call, polls++, watch.remainingMs());
        consistency = 'eventual';
        continue;
      }
      if (record.isLocked) {
        // No lease is worth taking for a token that cannot be shared. The key may have been late; others may be on it.
        lockedLooks += 1;
        if (lockedLooks < MAX_LOCKED_LOOKS) {
          await poll(call, polls++);
          continue;
        }
        memory.adopt(call.pair, record);
        store = memory;
        continue;
      }

      // Whoever has something else to serve does not wait long for the store.
      const isOptional = move.otherwise !== undefined;
      const plan = {
        ...move,
        store: isOptional && !isAlone ? shared : store,
        seen: record,
        outwaited: watch.isOutwaited(record),
      };
      const outcome = await tryLease(call, plan, isOptional);
      if (outcome.kind === 'token') return move.onToken(outcome.token);
      const fallback = move.otherwise?.();
      if (fallback !== undefined) return fallback;
      // The lease may be mine although I was not told: one more look before I go alone and the others wait for it.
      if (outcome.kind === 'unavailable' && lostAnswers++ > 0) store = memory;
      if (outcome.kind === 'rejected') readSince = now();
      consistency = 'strong';
      failures += 1;
      if (failures > MAX_FAILURES_AT_ONCE) await poll(call, polls++);
    }
    const rest = latest && (await lookAlone(call, goal, await latest, readSince));
    if (rest !== undefined) return rest;
    throw new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds: 1 });
  };

  /** Out of time: what this environment knows by itself may still serve, or tells why nothing does. */
  async function lookAlone<Result, Prepared>(
    call: Call,
    goal: Goal<Result, Prepared>,
    prepared: Prepared,
    readSince: number,
  ): Promise<Result | undefined> {
    const record = capTimes(await memory.read(call.pair), now());
    const move = await goal.look({ record, prepared, leaseIsOver: true, readSince, isAlone: true });
    if (move.kind === 'done') return move.result;
    return move.kind === 'lease' ? move.otherwise?.() : undefined;
  }

  /** It holds a token that this environment cannot open and must not replace. */
  function isForeign(record: PairRecord, store: PairStore): boolean {
    return store !== memory && record.foreignUntil > now();
  }

  /** It cannot be opened, and this environment has a living token of its own. */
  async function isOutdone(call: Call, record: PairRecord): Promise<boolean> {
    if (!record.isLocked) return false;
    const { token } = await memory.read(call.pair);
    return token !== undefined && now() < token.expiresAt;
  }

  /** The record with its times capped; `undefined` when the store is not available. */
  async function readRecord(call: Call, store: PairStore, consistency: 'eventual' | 'strong') {
    try {
      const record = capTimes(await storeUntil(store, call.deadline).read(call.pair, consistency), now());
      if (store === memory || isForeign(record, store)) return record;
      if (!record.isLocked) memory.remember(call.pair, record);
      return memory.withOwnLatches(call.pair, record);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      call.trace.warnings.add('shared-cache-unavailable');
      return undefined;
    }
  }

  /** While something else serves, no failure matters to the caller. */
  async function tryLease(call: Call, plan: LeasePlan, isOptional: boolean): Promise<LeaseOutcome | Unavailable> {
    try {
      return await requestUnderLease(call, plan);
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        call.trace.warnings.add('shared-cache-unavailable');
        return { kind: 'unavailable' };
      }
      if (error instanceof Problem && isOptional) return { kind: 'stood-down' };
      throw error;
    }
  }

  async function poll(call: Call, polls: number, leaseLeftMs = Infinity): Promise<void> {
    const pollMs = Math.min(MAX_POLL_MS, FIRST_POLL_MS * 2 ** polls) * (1 + random()) * 0.5;
    // Nobody sleeps on when the lease ends; not all wake at once.
    const wakeMs = leaseLeftMs + random() * FIRST_POLL_MS;
    await sleep(Math.max(0, Math.min(pollMs, wakeMs, call.deadline - now())));
  }
}

interface Unavailable {
  readonly kind: 'unavailable';
}

/** A store that contradicts itself must not be asked again and again without a breath. */
const MAX_FAILURES_AT_ONCE = 3;

const MAX_LOCKED_LOOKS = 2;

const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 500;
