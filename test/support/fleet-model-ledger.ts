import { isIssuable } from '../../functions/broker/freshness.ts';
import { type Pair, pairKey } from '../../functions/broker/pair.ts';
import type { PairRecord } from '../../functions/broker/pair-record.ts';
import type { createFleet, SeenRequest } from './fleet.ts';

type Fleet = ReturnType<typeof createFleet>;

/** What may excuse an environment at some moment: the ledger asks, and accuses only whom nothing excuses. */
export interface Excuses {
  /** A call of this environment to the store failed since then. */
  readonly hasStoreFailed: (environment: number, since: number) => boolean;
  readonly isDead: (environment: number) => boolean;
  /** A check asks for a request whatever lives. */
  readonly isChecking: (environment: number, pair: Pair) => boolean;
  /** A clock of the fleet has been wrong by more than the skew. */
  readonly hasAnyClockJumped: () => boolean;
  readonly accuse: (of: string) => void;
}

type Request = Omit<SeenRequest, 'outcome'>;

interface Lease {
  readonly owner: string;
  readonly before: PairRecord;
  readonly takenAt: number;
  readonly forced: boolean;
  readonly chargedVersion: string | undefined;
  isUsed: boolean;
}

interface Rejected {
  readonly from: number;
  readonly pair: Pair;
  readonly version: string;
  readonly at: number;
  isCounted: boolean;
}

/** Keeps the books of leases, token requests and rejections as they truly happened, and sees what must never happen. */
export function keepLedger({ shared, clock, owners }: Fleet, excuses: Excuses) {
  /** By pair and fence. */
  const granted = new Map<string, Lease>();
  /** The latest of each environment and pair. */
  const leases = new Map<string, Lease>();
  /** Rejected requests since the version last worked, by pair and version. */
  const counts = new Map<string, number>();
  /** Requests under a lease that used up a chance of their version. */
  const chargedRequests = new Set<Request>();
  let pendingRejections: Rejected[] = [];
  const uncounted: Rejected[] = [];
  /** The pairs of which a service has refused a credential at all. */
  const heard = new Set<string>();
  const { acquire, publish, reject } = shared;
  const { accuse } = excuses;

  shared.acquire = async (pair, acquisition) => {
    const before = await acquire(pair, acquisition);
    if (before === undefined) return undefined;
    const { fence } = shared.peek(pair).latest;
    const { owner, now: takenAt, forced, chargedVersion } = acquisition;
    const lease = { owner, before, takenAt, forced, chargedVersion, isUsed: false };
    const key = `${pairKey(pair)} ${fence}`;
    if ((granted.get(key)?.owner ?? owner) !== owner) accuse(`two leases under fence ${key}`);
    granted.set(key, lease);
    leases.set(leaseKey(owners.get(owner), pair), lease);
    return before;
  };

  shared.publish = async (pair, fence, publication) => {
    const isMine = await publish(pair, fence, publication);
    if (isMine) counts.delete(countKey(pair, publication.token.credentialVersion));
    return isMine;
  };

  shared.reject = async (pair, fence, rejection) => {
    await reject(pair, fence, rejection);
    const from = owners.get(granted.get(`${pairKey(pair)} ${fence}`)?.owner ?? '');
    const mine = pendingRejections.findLast(
      (each) => each.from === from && isSame(each.pair, pair) && each.version === rejection.version,
    );
    if (mine !== undefined && !mine.isCounted) count(mine);
    for (const version of rejection.goneVersions) counts.delete(countKey(pair, version));
  };

  return {
    hasHeardRejection: (pair: Pair) => heard.has(pairKey(pair)),

    /** An operator's retry. */
    forgive(pair: Pair, version: string) {
      counts.delete(countKey(pair, version));
    },

    /** A token request was sent. */
    seeRequest(request: Request) {
      const { from, pair, version, at } = request;
      const lease = leases.get(leaseKey(from, pair));
      const isExcused = excuses.hasStoreFailed(from, at - LONGEST_CALL_MS);
      const isMine = lease !== undefined && !lease.isUsed;
      if (!isExcused) {
        if (!isMine) accuse(`environment ${from} sent ${version} of ${pairKey(pair)} without a lease`);
        else checkUse(lease, request);
      }
      if (isMine) lease.isUsed = true;
      if (isMine && lease.chargedVersion === version) chargedRequests.add(request);
    },

    /** The environment has heard that the version is rejected. */
    seeRejection(request: Request) {
      const { from, pair, version, at } = request;
      heard.add(pairKey(pair));
      const rejection: Rejected = { from, pair, version, at, isCounted: false };
      pendingRejections.push(rejection);
      if (chargedRequests.has(request)) count(rejection);
    },

    /** Looks into the rejections that were not counted in the record although their calls are over. */
    settle() {
      const isOver = ({ at }: Rejected) => clock.now() - at > LONGEST_CALL_MS;
      const over = pendingRejections.filter(isOver);
      pendingRejections = pendingRejections.filter((each) => !isOver(each));
      for (const each of over) {
        if (each.isCounted) continue;
        const { from, pair, version, at } = each;
        if (excuses.isDead(from)) continue;
        if (!excuses.hasStoreFailed(from, at - LONGEST_CALL_MS)) {
          accuse(`environment ${from} kept the rejection of ${version} of ${pairKey(pair)} to itself`);
        }
        const isTooSoon = uncounted.some(
          (other) =>
            other.from === from &&
            isSame(other.pair, pair) &&
            other.version === version &&
            // Calls that run at the same time cannot know of each other's.
            at - other.at > LONGEST_CALL_MS &&
            at - other.at < OWN_LATCH_MS,
        );
        if (isTooSoon && !excuses.hasAnyClockJumped()) {
          accuse(`environment ${from} sent ${version} of ${pairKey(pair)} again in spite of its own latch`);
        }
        uncounted.push(each);
      }
    },
  };

  function count(rejection: Rejected): void {
    rejection.isCounted = true;
    const key = countKey(rejection.pair, rejection.version);
    const total = (counts.get(key) ?? 0) + 1;
    counts.set(key, total);
    if (total > LOCK_OUT_BUDGET) accuse(`${key} was rejected ${total} times`);
  }

  function checkUse(lease: Lease, { pair, version, from }: Request): void {
    if (!excuses.isChecking(from, pair)) checkRate(lease);
    const { before, chargedVersion, owner } = lease;
    const who = `environment ${from} (${owner})`;
    if (before.rejected.has(version) && chargedVersion !== version) accuse(`${who} sent ${version} without a charge`);
    if (before.disabled) accuse(`${who} sent ${version} although it is disabled`);
    const isPaused = before.pause !== undefined && before.pause.until > clock.now() + MAX_SKEW_MS;
    if (isPaused && !excuses.hasAnyClockJumped()) accuse(`${who} sent ${version} during a pause`);
  }

  /** At most one forced request in 30 s, and one refresh in 15 s. */
  function checkRate({ before, owner, forced, takenAt }: Lease): void {
    if (before.leaseOwner === owner || excuses.hasAnyClockJumped()) return;
    const { token, lifetimeSeenMs, forcedAt, attemptedAt } = before;
    if (forced && takenAt - forcedAt < 30_000 - MAX_SKEW_MS) accuse(`${owner} forced a request too soon`);
    const isLiving =
      token !== undefined && isIssuable({ expiresAt: token.expiresAt, lifetimeSeenMs }, takenAt + MAX_SKEW_MS);
    const isTooSoon = takenAt - attemptedAt < 15_000 - MAX_SKEW_MS;
    if (isLiving && !forced && isTooSoon) accuse(`${owner} refreshed a living token too soon`);
  }
}

/** Rejected requests per pair and version. */
const LOCK_OUT_BUDGET = 3;
/** Two environments are at most this far apart. */
const MAX_SKEW_MS = 4_000;
const LONGEST_CALL_MS = 20_000;
const OWN_LATCH_MS = 15 * 60_000 - LONGEST_CALL_MS;

function leaseKey(environment: number | undefined, pair: Pair): string {
  return `${environment} ${pairKey(pair)}`;
}

function countKey(pair: Pair, version: string): string {
  return `${pairKey(pair)} ${version}`;
}

function isSame(one: Pair, other: Pair): boolean {
  return pairKey(one) === pairKey(other);
}
