import { type Pair, pairKey } from '../../functions/broker/pair/pair.ts';
import { holdKey, type PairRecord } from '../../functions/broker/pair/record.ts';
import { SETTINGS_DIGEST } from './broker-world.ts';
import type { createFleet } from './fleet.ts';
import { isSamePair, LONGEST_CALL_MS, MAX_SKEW_MS, type Witness } from './fleet-model-witness.ts';
import type { SentRequest } from './fleet-surroundings.ts';

type Fleet = ReturnType<typeof createFleet>;
export interface Lease {
  readonly owner: string;
  /** The record that it was taken of. */
  readonly before: PairRecord;
  /** True time. */
  readonly takenAt: number;
  readonly forced: boolean;
  readonly isCheck: boolean;
  readonly chargedVersion: string | undefined;
  /** When the pair's leases for callers before it were taken, the last one and the last forced one. */
  readonly previous: { readonly takenAt: number; readonly forcedAt: number };
  isUsed: boolean;
  isEnded: boolean;
}

interface Rejected extends SentRequest {
  isCounted: boolean;
  /** The version has worked since, or an operator lets it be tried again. */
  isForgiven: boolean;
}

/** Keeps the books of leases and of rejections as they truly happened: one request per lease, and the lock-out budget. */
export function keepLedger({ shared, clock, owners }: Fleet, witness: Witness) {
  /** By pair and fence. */
  const granted = new Map<string, Lease>();
  /** By environment and pair. */
  const leases = new Map<string, Lease[]>();
  /** The latest of each pair. */
  const latest = new Map<string, Lease>();
  /** Rejected requests since the version last worked, by pair and version. */
  const counts = new Map<string, number>();
  /** Requests under a lease that used up a chance of their version. */
  const chargedRequests = new Set<SentRequest>();
  /** The pairs of which a service has refused a credential at all. */
  const heard = new Set<string>();
  const uncounted: Rejected[] = [];
  let pending: Rejected[] = [];
  /** When the token of a pair was withdrawn and not published again. */
  const withdrawnAt = new Map<string, number>();
  const { acquire, end, reject } = shared;
  const { accuse } = witness;

  shared.acquire = async (pair, acquisition, deadline) => {
    const before = await acquire(pair, acquisition, deadline);
    if (before === undefined) return undefined;
    const { owner, forced, isCheck, chargedVersion } = acquisition;
    const name = leaseName(pair, shared.peek(pair).fence);
    const holder = granted.get(name);
    if (holder?.owner === owner) return before;
    if (holder !== undefined) accuse(`two leases are ${name}`);

    const previous = previousTimes(latest.get(pairKey(pair)));
    const lease = {
      owner,
      before,
      takenAt: clock.now(),
      forced,
      isCheck,
      chargedVersion,
      previous,
      isUsed: false,
      isEnded: false,
    };
    granted.set(name, lease);
    const key = leaseKey(owners.get(owner), pair);
    leases.set(key, [...(leases.get(key) ?? []), lease]);
    latest.set(pairKey(pair), lease);
    return before;
  };

  shared.end = async (pair, lease, ending, deadline) => {
    const isMine = await end(pair, lease, ending, deadline);
    const mine = grantedTo(pair, lease);
    if (mine !== undefined) mine.isEnded = true;
    if (!isMine) return false;
    if (mine === undefined) accuse(`${lease.owner} ended a lease that it did not take`);
    if (ending.kind === 'publish') {
      prove(pair, ending.token.credentialVersion);
      withdrawnAt.delete(pairKey(pair));
    }
    if (ending.kind === 'prove') prove(pair, ending.version);
    if (ending.kind === 'withdraw') withdrawnAt.set(pairKey(pair), clock.now());
    return true;
  };

  shared.reject = async (pair, lease, rejection, deadline) => {
    await reject(pair, lease, rejection, deadline);
    const own = grantedTo(pair, lease);
    if (own !== undefined) own.isEnded = true;
    const from = own && owners.get(lease.owner);
    const mine = pending.findLast(
      (each) => each.from === from && isSamePair(each.pair, pair) && each.version === rejection.version,
    );
    if (mine !== undefined && !mine.isCounted) count(mine);
    for (const version of rejection.goneVersions) counts.delete(countKey(pair, version));
  };

  return {
    hasHeardRejection: (pair: Pair) => heard.has(pairKey(pair)),

    withdrawnAt: (pair: Pair) => withdrawnAt.get(pairKey(pair)),

    /** An operator's retry. */
    forgive: prove,

    /** A token request was sent; gives the lease that it was sent under, if any. */
    seeRequest(request: SentRequest): Lease | undefined {
      const { from, pair, version, at } = request;
      const lease = leaseFor(request);
      if (!witness.hasStoreFailed(from, at - LONGEST_CALL_MS)) {
        if (lease !== undefined) checkUse(lease, request);
        else accuse(`environment ${from} sent ${version} of ${pairKey(pair)} without a lease`);
      }
      if (lease === undefined) return undefined;
      lease.isUsed = true;
      if (lease.chargedVersion === version) chargedRequests.add(request);
      return lease;
    },

    /** The environment has heard that the version is rejected. */
    seeRejection(request: SentRequest) {
      heard.add(pairKey(request.pair));
      const rejection: Rejected = { ...request, isCounted: false, isForgiven: false };
      pending.push(rejection);
      if (chargedRequests.has(request)) count(rejection);
    },

    /** Looks into the rejections that were not counted in the record although their calls are over. */
    settle() {
      const isOver = ({ at }: Rejected) => clock.now() - at > LONGEST_CALL_MS;
      const over = pending.filter(isOver);
      pending = pending.filter((each) => !isOver(each));
      for (const each of over) if (!each.isCounted && !witness.isDead(each.from)) checkUncounted(each);
    },
  };

  function grantedTo(pair: Pair, { owner, fence }: { readonly owner: string; readonly fence: number }) {
    const lease = granted.get(leaseName(pair, fence));
    return lease?.owner === owner ? lease : undefined;
  }

  /** An environment may have several calls at once. */
  function leaseFor({ from, pair, version, at }: SentRequest): Lease | undefined {
    const key = leaseKey(from, pair);
    const open = (leases.get(key) ?? []).filter(
      ({ isUsed, isEnded, takenAt }) => !isUsed && !isEnded && at - takenAt < LONGEST_CALL_MS,
    );
    leases.set(key, open);
    return open.findLast(({ chargedVersion }) => chargedVersion === version) ?? open.at(-1);
  }

  /** What was rejected before does not count any more. */
  function prove(pair: Pair, version: string): void {
    counts.delete(countKey(pair, version));
    for (const each of [...pending, ...uncounted]) {
      each.isForgiven ||= isSamePair(each.pair, pair) && each.version === version;
    }
  }

  function count(rejection: Rejected): void {
    rejection.isCounted = true;
    const key = countKey(rejection.pair, rejection.version);
    const total = (counts.get(key) ?? 0) + 1;
    counts.set(key, total);
    if (total > LOCK_OUT_BUDGET) accuse(`${key} was rejected ${total} times`);
  }

  function checkUse({ before, chargedVersion, owner }: Lease, { version, from }: SentRequest): void {
    const who = `environment ${from} (${owner})`;
    if (before.rejected.has(version) && chargedVersion !== version) accuse(`${who} sent ${version} without a charge`);
    if (before.disabled) accuse(`${who} sent ${version} although it is disabled`);
    if (witness.hasAnyClockJumped()) return;
    const isLasting = (wait: { readonly until: number } | undefined) => (wait?.until ?? 0) > clock.now() + MAX_SKEW_MS;
    if (isLasting(before.pause)) accuse(`${who} sent ${version} during a pause`);
    if (isLasting(before.held.get(holdKey(version, SETTINGS_DIGEST)))) accuse(`${who} sent ${version} during its hold`);
  }

  /** The store was not told: only a store that failed excuses that, and then the environment latches by itself. */
  function checkUncounted(rejection: Rejected): void {
    const { from, pair, version, at } = rejection;
    const what = `${version} of ${pairKey(pair)}`;
    if (!witness.hasStoreFailed(from, at - LONGEST_CALL_MS)) {
      accuse(`environment ${from} kept the rejection of ${what} to itself`);
    }
    const isTooSoon = uncounted.some(
      (other) =>
        !other.isForgiven &&
        other.from === from &&
        isSamePair(other.pair, pair) &&
        other.version === version &&
        // Calls that run at the same time cannot know of each other's.
        at - other.at > LONGEST_CALL_MS &&
        at - other.at < OWN_LATCH_MS,
    );
    if (isTooSoon && !witness.hasAnyClockJumped()) accuse(`environment ${from} sent ${what} in spite of its own latch`);
    uncounted.push(rejection);
  }
}

function previousTimes(lease: Lease | undefined): Lease['previous'] {
  if (lease === undefined) return { takenAt: Number.NEGATIVE_INFINITY, forcedAt: Number.NEGATIVE_INFINITY };
  if (lease.isCheck) return lease.previous;
  return { takenAt: lease.takenAt, forcedAt: lease.forced ? lease.takenAt : lease.previous.forcedAt };
}

/** Rejected requests per pair and version. */
const LOCK_OUT_BUDGET = 3;
const OWN_LATCH_MS = 15 * 60_000 - LONGEST_CALL_MS;

function leaseKey(environment: number | undefined, pair: Pair): string {
  return `${environment} ${pairKey(pair)}`;
}

function leaseName(pair: Pair, fence: number): string {
  return `${pairKey(pair)} ${fence}`;
}

function countKey(pair: Pair, version: string): string {
  return `${pairKey(pair)} ${version}`;
}
