import type { SecretVersion } from '../credential/secret.ts';
import { Problem } from '../problem.ts';
import type { Service } from '../service.ts';
import type { Renewal, RenewToken } from '../token-request/renew-token.ts';
import type { Call } from './call.ts';
import { createLeaseEnding, type HeldLease } from './lease-ending.ts';
import type { PairMemory } from './memory.ts';
import { pauseAfter, pauseProblem } from './pause.ts';
import { capTimes, type PairRecord, type StoredToken } from './record.ts';
import { type PairStore, storeUntil } from './store.ts';
import { acquired, beforeMine } from './transitions.ts';

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
  const { memory, renewToken, now } = dependencies;
  const ending = createLeaseEnding(dependencies);

  return async (call: Call, plan: LeasePlan): Promise<LeaseOutcome> => {
    const { pair, service, owner } = call;
    if (!hasTime(call)) return { kind: 'stood-down' };
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
    const before = await storeUntil(plan.store, call.deadline).acquire(pair, acquisition);
    if (before === undefined) return { kind: 'stood-down' };

    const found = beforeMine(before, plan.seen, acquisition);
    const record = memory.withOwnLatches(pair, capTimes(found, now()));
    const mine = acquired(record, acquisition);
    const lease = { store: plan.store, mine };
    // A token that this environment cannot open must not be replaced; one that it has must not be forgotten for it.
    const isClosed = record.isLocked || record.foreignUntil > now();
    if (!isClosed) memory.remember(pair, mine, takenAt);
    const version = isClosed ? undefined : await confirm(call, plan, record, lease);
    if (version === undefined || !isCharged(record, version, chargedVersion) || !hasTime(call)) {
      await ending.release(call, lease);
      return { kind: 'stood-down' };
    }

    const renewal = await attempt(call, plan, { version, lease, until: acquisition.until });
    if (renewal === 'rejected') {
      await ending.reject(call, lease, version);
      return { kind: 'rejected' };
    }
    if (plan.publishes) await ending.publish(call, lease, renewal);
    else await ending.prove(call, lease, renewal.token.credentialVersion);
    return { kind: 'token', token: renewal.token };
  };

  /** A request that nobody waits for would be sent in vain, and its pause would keep the others waiting. */
  function hasTime(call: Call): boolean {
    return call.deadline - now() >= MIN_REQUEST_MS;
  }

  async function confirm(call: Call, plan: LeasePlan, record: PairRecord, lease: HeldLease) {
    try {
      return await plan.confirm({ ...record, leaseUntil: 0 });
    } catch (error) {
      await ending.release(call, lease);
      throw error;
    }
  }

  async function attempt(call: Call, { forced, patienceMs }: LeasePlan, order: Order): Promise<Renewal> {
    const { lease, version, until } = order;
    const { mine } = lease;
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
        await ending.release(call, lease);
        throw error;
      }
      const pause = pauseAfter(error, mine.pause, now());
      await ending.pause(call, lease, pause);
      throw pauseProblem(pause, now(), error.cause);
    }
  }
}

interface Order {
  readonly version: SecretVersion;
  readonly lease: HeldLease;
  readonly until: number;
}

/** A version that has been rejected before may be sent only under the lease that used up its next chance. */
function isCharged(record: PairRecord, { versionId }: SecretVersion, chargedVersion: string | undefined): boolean {
  return versionId === chargedVersion || !record.rejected.has(versionId);
}

/** Publishing fits before the lease ends, with half a second for clocks that differ. */
const PUBLISH_RESERVE_MS = 650;

const MIN_REQUEST_MS = 250;
