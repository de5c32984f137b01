import type { Call } from './call.ts';
import type { PairMemory } from './pair-memory.ts';
import { capTimes, type PairRecord, type Rejection, type StoredToken } from './pair-record.ts';
import { type PairStore, type Publication, StoreUnavailable } from './pair-store.ts';
import { acquired, beforeMine, paused, published, rejected, released } from './pair-transitions.ts';
import { pauseAfter, pauseProblem } from './pause.ts';
import { Problem } from './problem.ts';
import type { Renewal, RenewToken } from './renewal.ts';
import type { SecretVersion } from './secret.ts';
import type { Service } from './service.ts';

/** What a call means to do with a lease, decided from the record that it saw. */
export interface LeasePlan {
  readonly store: PairStore;
  readonly seen: PairRecord;
  readonly outwaited: boolean;
  readonly version: SecretVersion;
  /** Replaces the record's token, which the service has refused. */
  readonly forced: boolean;
  /** How long the caller waits for the token request. */
  readonly patienceMs: number;
  /** A token of a version that is only tried out is not for the callers. */
  readonly publishes: boolean;
  /** Decides once more, from the record before the lease; `undefined` when there is nothing to send any more. */
  readonly confirm: (record: PairRecord) => Promise<SecretVersion | undefined>;
}

export type LeaseOutcome =
  | { readonly kind: 'token'; readonly token: StoredToken }
  /** Somebody was faster, or what the lease showed changes the decision; nothing was sent. */
  | { readonly kind: 'stood-down' }
  /** The service rejected the version; it is latched. */
  | { readonly kind: 'rejected' };

interface Dependencies {
  readonly memory: PairMemory;
  /** The shared cache; left out, this environment is by itself. */
  readonly store?: PairStore | undefined;
  readonly renewToken: RenewToken;
  /** The versions of a client's secret that carry a stage; `undefined` when not every stage could be read. */
  readonly stagedVersions: (call: Call) => Promise<ReadonlySet<string> | undefined>;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** How long a lease lasts: the token request and what belongs to it, with room to spare. */
export function leaseMs({ requestTimeoutMs }: Service): number {
  return requestTimeoutMs + 2_000;
}

/**
 * Takes the lease, makes the one token request that it allows, and says in the shared record what came of it.
 *
 * @throws Problem why there is no token, after everybody has been told to pause
 * @throws StoreUnavailable nobody knows whether the lease was taken; nothing was sent
 */
export function createLeasedRequest(dependencies: Dependencies) {
  const { memory, store: shared, renewToken, stagedVersions, random, now } = dependencies;

  return async (call: Call, plan: LeasePlan): Promise<LeaseOutcome> => {
    const { pair, service, owner } = call;
    const takenAt = now();
    const chargedVersion = plan.seen.rejected.has(plan.version.versionId) ? plan.version.versionId : undefined;
    const acquisition = {
      seenFence: plan.seen.fence,
      owner,
      now: takenAt,
      until: takenAt + leaseMs(service),
      outwaited: plan.outwaited,
      forced: plan.forced,
      chargedVersion,
    };
    const before = await plan.store.acquire(pair, acquisition);
    if (before === undefined) return { kind: 'stood-down' };

    const found = beforeMine(before, plan.seen, acquisition);
    const record = memory.withOwnLatches(pair, capTimes(found, now()));
    const mine = acquired(record, acquisition);
    memory.remember(pair, mine, takenAt);
    const isForeign = (record.isLocked || record.foreignUntil > now()) && plan.store !== memory;
    const version = isForeign ? undefined : await confirm(call, plan, record, mine.fence);
    if (version === undefined || !isCharged(record, version, chargedVersion)) {
      await tell(call, () => plan.store.release(pair, mine.fence));
      return { kind: 'stood-down' };
    }

    const renewal = await attempt(call, plan, { version, mine, until: acquisition.until });
    if (renewal === 'rejected') {
      await reject(call, plan.store, mine, version);
      return { kind: 'rejected' };
    }
    await keep(call, plan, mine, renewal);
    return { kind: 'token', token: renewal.token };
  };

  async function confirm(call: Call, plan: LeasePlan, record: PairRecord, fence: number) {
    try {
      return await plan.confirm({ ...record, leaseUntil: 0 });
    } catch (error) {
      await tell(call, () => plan.store.release(call.pair, fence));
      throw error;
    }
  }

  async function attempt(call: Call, { store, forced, patienceMs }: LeasePlan, order: Order): Promise<Renewal> {
    const { mine, version, until } = order;
    try {
      return await renewToken({
        pair: call.pair,
        service: call.service,
        version,
        record: mine,
        forced,
        deadline: Math.min(call.deadline, until - PUBLISH_RESERVE_MS, now() + patienceMs),
        trace: call.trace,
      });
    } catch (error) {
      if (!(error instanceof Problem)) {
        await tell(call, () => store.release(call.pair, mine.fence));
        throw error;
      }
      const pause = pauseAfter(error, mine.pause, now());
      const isMine = await tell(call, () => store.pause(call.pair, mine.fence, pause));
      if (isMine !== false) memory.remember(call.pair, paused(mine, pause), mine.attemptedAt);
      throw pauseProblem(pause, now(), error.cause);
    }
  }

  async function keep(call: Call, { store, publishes }: LeasePlan, mine: PairRecord, renewal: Publication) {
    if (!publishes) {
      const { credentialVersion } = renewal.token;
      await tell(call, () => store.release(call.pair, mine.fence, credentialVersion));
      memory.remember(call.pair, released(mine, credentialVersion), mine.attemptedAt);
      return;
    }
    const isMine = await tell(call, () => store.publish(call.pair, mine.fence, renewal));
    if (isMine !== false) memory.remember(call.pair, published(mine, renewal), mine.attemptedAt);
  }

  async function reject(call: Call, store: PairStore, mine: PairRecord, { versionId }: SecretVersion): Promise<void> {
    const isCrowded = mine.rejected.size >= MAX_LATCHES;
    const staged = isCrowded ? await stagedVersions(call) : undefined;
    const isGone = ([id, { at }]: readonly [string, Rejection]) => !staged?.has(id) && now() - at > KEPT_LATCH_MS;
    const goneVersions = staged === undefined ? [] : [...mine.rejected].filter(isGone).map(([id]) => id);
    const request = { version: versionId, at: now(), goneVersions };
    memory.remember(call.pair, rejected(mine, mine.fence, request), mine.attemptedAt);
    const isTold = await tell(call, async () => {
      await store.reject(call.pair, mine.fence, request);
      return true;
    });
    if (isTold === undefined) memory.latch(call.pair, versionId);
    // The others must know as well, although this environment went by itself; the fence is one that nobody has.
    if (store === memory && shared !== undefined) {
      const fence = -1 - Math.floor(random() * MAX_FENCE);
      await tell(call, () => shared.reject(call.pair, fence, request));
    }
  }

  /** A write whose failure changes nothing for this caller; `undefined` when nobody knows whether it has happened. */
  async function tell<Result>(call: Call, write: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      call.trace.remarks.add('shared-cache-unavailable');
      return undefined;
    }
  }
}

interface Order {
  readonly version: SecretVersion;
  /** The record under my lease. */
  readonly mine: PairRecord;
  readonly until: number;
}

/** A version that has been rejected before may be sent only under the lease that used up its next chance. */
function isCharged(record: PairRecord, { versionId }: SecretVersion, chargedVersion: string | undefined): boolean {
  return versionId === chargedVersion || !record.rejected.has(versionId);
}

const MAX_FENCE = 2 ** 40;

/** Publishing fits before the lease ends, with half a second for clocks that differ. */
const PUBLISH_RESERVE_MS = 650;

/** Latches of the last hour count as checks of pending versions, whatever has become of the version. */
const KEPT_LATCH_MS = 60 * 60_000;

/** Above this many latches the ones of versions without a stage are forgotten. */
const MAX_LATCHES = 4;
