import { holdKey, isIssuable, type PairRecord, type Wait } from '../../../functions/broker/pair/record.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';
import { SETTINGS_DIGEST } from '../broker-world.ts';
import type { createFleet } from './fleet.ts';
import { type Hosts, LONGEST_CALL_MS, MAX_SKEW_MS } from './model-hosts.ts';
import type { SentRequest } from './surroundings.ts';

interface Lease {
  readonly id: string;
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

/** Keeps the books of leases, token requests and rejections as they truly happened: their pace, and the lock-out budget. */
export function keepLedger({ shared, clock, owners, services }: ReturnType<typeof createFleet>, hosts: Hosts) {
  /** By id. */
  const granted = new Map<string, Lease>();
  /** By instance and pair. */
  const leases = new Map<string, Lease[]>();
  /** The latest of each pair. */
  const latest = new Map<string, Lease>();
  /** Rejected requests since the version last worked, by pair and version. */
  const counts = new Map<string, number>();
  /** Requests under a lease that used up a chance of their version. */
  const chargedRequests = new Set<SentRequest>();
  /** Requests of checks; those of trials pause no caller. */
  const checkRequests = new Set<SentRequest>();
  /** The pairs of which a service has refused a credential at all. */
  const heard = new Set<string>();
  const uncounted: Rejected[] = [];
  let pending: Rejected[] = [];
  /** When the token of a pair was withdrawn and not published again. */
  const withdrawnAt = new Map<string, number>();
  /** The last request of each pair, and when its answer comes. */
  const lastRequests = new Map<string, SentRequest & { readonly endsAt: number }>();
  /** Until when a service has asked each pair to wait, and by which request. */
  const askedToWait = new Map<string, { readonly until: number; readonly by: SentRequest }>();
  const { replace } = shared;
  const { accuse, hasStoreFailed, hasAnyClockJumped } = hosts;

  shared.replace = async (pair, seen, next, deadline) => {
    const before = seen.record;
    const isNew = next.lease !== undefined && next.lease.id !== before.lease?.id;
    const written = await replace(pair, seen, next, deadline);
    // A holder that could not write has had its answer all the same.
    const ended = next.lease === undefined ? granted.get(before.lease?.id ?? '') : undefined;
    if (ended !== undefined) ended.isEnded = true;
    if (written === undefined) return undefined;
    if (isNew) grant(pair, before, next);
    for (const [version, { by }] of next.rejected) {
      if (next.rejected.get(version) !== before.rejected.get(version) && !(isNew && by === next.lease.id)) {
        tell(pair, version, by);
      }
    }
    if (next.token !== before.token && next.token !== undefined) {
      prove(pair, next.token.credentialVersion);
      withdrawnAt.delete(pairKey(pair));
    }
    for (const version of before.rejected.keys()) if (!next.rejected.has(version)) prove(pair, version);
    if (before.token !== undefined && next.token === undefined) withdrawnAt.set(pairKey(pair), clock.now());
    return written;
  };

  return {
    hasHeardRejection: (pair: Pair) => heard.has(pairKey(pair)),

    withdrawnAt: (pair: Pair) => withdrawnAt.get(pairKey(pair)),

    /** An operator's retry: the pair may be tried at once. */
    forgive(pair: Pair, versions: Iterable<string>) {
      for (const version of versions) prove(pair, version);
      askedToWait.delete(pairKey(pair));
    },

    /** The item of the pair is lost: all that the fleet knew of it begins anew. */
    forget(pair: Pair) {
      for (const each of [...pending, ...uncounted]) if (pairKey(each.pair) === pairKey(pair)) each.isForgiven = true;
      for (const key of counts.keys()) if (key.startsWith(`${pairKey(pair)} `)) counts.delete(key);
      for (const books of [latest, lastRequests, askedToWait, withdrawnAt]) books.delete(pairKey(pair));
    },

    isCheck: (request: SentRequest) => checkRequests.has(request),

    /** A token request was sent. */
    seeRequest(request: SentRequest) {
      const { from, pair, version, at, latencyMs } = request;
      const lease = leaseFor(request);
      const isExcused = hasStoreFailed(from, at - LONGEST_CALL_MS);
      if (lease === undefined) {
        if (!isExcused) accuse(`instance ${from} sent ${version} of ${pairKey(pair)} without a lease`);
        return;
      }
      const who = `instance ${from} (${lease.id})`;
      if (!isExcused) checkUse(lease, version, who);
      lease.isUsed = true;
      if (lease.chargedVersion === version) chargedRequests.add(request);
      if (lease.isCheck) checkRequests.add(request);

      const last = lastRequests.get(pairKey(pair));
      lastRequests.set(pairKey(pair), { ...request, endsAt: at + latencyMs });
      if (!isExcused && !hasAnyClockJumped()) checkPace(lease, request, last, who);
    },

    /** The instance has heard that the version is rejected. */
    seeRejection(request: SentRequest) {
      heard.add(pairKey(request.pair));
      const rejection: Rejected = { ...request, isCounted: false, isForgiven: false };
      pending.push(rejection);
      if (chargedRequests.has(request)) count(rejection);
    },

    /** The service has sent a caller a Retry-After, and the instance could write it to the shared record. */
    seeRetryAfter(by: SentRequest, seconds: number) {
      const { pair, from, at } = by;
      const now = clock.now();
      if (hasAnyClockJumped() || hasStoreFailed(from, at - LONGEST_CALL_MS) || now - at > SHORT_MS) return;
      if (checkRequests.has(by)) return;
      const until = now + Math.min(seconds, MAX_PAUSE_SECONDS) * 1_000 - 2 * MAX_SKEW_MS;
      askedToWait.set(pairKey(pair), { until, by });
    },

    /** Looks into the rejections that were not counted in the record although their calls are over. */
    settle() {
      const isOver = ({ at }: Rejected) => clock.now() - at > LONGEST_CALL_MS;
      const over = pending.filter(isOver);
      pending = pending.filter((each) => !isOver(each));
      for (const each of over) if (!each.isCounted && !hosts.isDead(each.from)) checkUncounted(each);
    },
  };

  function grant(pair: Pair, before: PairRecord, { lease, attemptedAt, forcedAt, rejected }: PairRecord): void {
    if (lease === undefined) return;
    const { id } = lease;
    const number = owners.get(id);
    const holder = granted.get(before.lease?.id ?? '');
    const isOwn = holder !== undefined && owners.get(holder.id) === number;
    const isLive = holder !== undefined && clock.now() - holder.takenAt < LEASE_MS - MAX_SKEW_MS;
    if (isLive && !isOwn && !hasAnyClockJumped()) accuse(`${id} took the living lease of ${holder.id}`);
    if (granted.has(id)) accuse(`${id} is the name of two leases`);

    const taken: Lease = {
      id,
      before,
      takenAt: clock.now(),
      forced: forcedAt !== before.forcedAt,
      isCheck: attemptedAt === before.attemptedAt,
      chargedVersion: [...rejected].find(([, { by }]) => by === id)?.[0],
      previous: previousTimes(latest.get(pairKey(pair))),
      isUsed: false,
      isEnded: false,
    };
    granted.set(id, taken);
    const key = keyOf(pair, number);
    leases.set(key, [...(leases.get(key) ?? []), taken]);
    latest.set(pairKey(pair), taken);
  }

  /** A rejection stands in the shared record. */
  function tell(pair: Pair, version: string, by: string): void {
    const own = granted.get(by);
    if (own !== undefined) own.isEnded = true;
    const from = owners.get(by);
    const mine = pending.findLast((each) => each.from === from && isOf(each, pair, version));
    if (mine !== undefined && !mine.isCounted) count(mine);
  }

  /** An instance may have several calls at once. */
  function leaseFor({ from, pair, version, at }: SentRequest): Lease | undefined {
    const key = keyOf(pair, from);
    const open = (leases.get(key) ?? []).filter(
      ({ isUsed, isEnded, takenAt }) => !isUsed && !isEnded && at - takenAt < LONGEST_CALL_MS,
    );
    leases.set(key, open);
    return open.findLast(({ chargedVersion }) => chargedVersion === version) ?? open.at(-1);
  }

  /** A success clears the earlier rejections. */
  function prove(pair: Pair, version: string): void {
    counts.delete(keyOf(pair, version));
    for (const each of [...pending, ...uncounted]) each.isForgiven ||= isOf(each, pair, version);
  }

  function count(rejection: Rejected): void {
    rejection.isCounted = true;
    // Calls that the store leaves alone at the same time send each for itself.
    if (hasStoreFailed(rejection.from, rejection.at - LONGEST_CALL_MS)) return;
    const key = keyOf(rejection.pair, rejection.version);
    const total = (counts.get(key) ?? 0) + 1;
    counts.set(key, total);
    // To a clock that is minutes off, leases that live are over: instances of which one has it send at the same time.
    if (total > LOCK_OUT_BUDGET && !hasAnyClockJumped()) accuse(`${key} was rejected ${total} times`);
  }

  function checkUse({ before, chargedVersion }: Lease, version: string, who: string): void {
    if (before.rejected.has(version) && chargedVersion !== version) accuse(`${who} sent ${version} without a charge`);
    if (before.disabled) accuse(`${who} sent ${version} although it is disabled`);
    if (hasAnyClockJumped()) return;
    const isLasting = (wait: Wait | undefined) => (wait?.until ?? 0) > clock.now() + MAX_SKEW_MS;
    if (isLasting(before.pause)) accuse(`${who} sent ${version} during a pause`);
    if (isLasting(before.held.get(holdKey(version, SETTINGS_DIGEST)))) accuse(`${who} sent ${version} during its hold`);
  }

  /** How often, and when, the fleet sends token requests; for as long as all clocks and the store are well. */
  function checkPace(
    { before, forced, isCheck, previous, takenAt }: Lease,
    { pair, at }: SentRequest,
    last: (SentRequest & { readonly endsAt: number }) | undefined,
    who: string,
  ): void {
    const key = pairKey(pair);
    const wasAlone = last === undefined || hasStoreFailed(last.from, last.at - LONGEST_CALL_MS);
    if (!wasAlone && last.endsAt - last.at <= SHORT_MS && at < last.endsAt) {
      accuse(`${who} sent a request of ${key} while another was under way`);
    }
    const asked = askedToWait.get(key);
    const isTold = asked !== undefined && !hasStoreFailed(asked.by.from, asked.by.at);
    if (isTold && at < asked.until) accuse(`${who} sent a request of ${key} although told to wait`);

    const { token } = before;
    const isServed = token !== undefined && (token.accessToken !== undefined || token.closed !== 'no-bytes');
    const isLiving = isServed && isIssuable(token, takenAt + MAX_SKEW_MS);
    if (forced && takenAt - previous.forcedAt < 30_000 - MAX_SKEW_MS) accuse(`${who} forced a request too soon`);
    if (!isLiving || forced) return;
    if (services[pair.service]?.singleActiveToken) accuse(`${who} ended a living token`);
    const isQuiet = takenAt - previous.takenAt < 15_000 - MAX_SKEW_MS;
    if (isQuiet && !isCheck) accuse(`${who} refreshed a living token too soon`);
  }

  /** The store was not told: only a store that failed excuses that, and then the instance latches by itself. */
  function checkUncounted(rejection: Rejected): void {
    const { from, pair, version, at } = rejection;
    const what = `${version} of ${pairKey(pair)}`;
    if (!hasStoreFailed(from, at - LONGEST_CALL_MS)) accuse(`instance ${from} kept the rejection of ${what} to itself`);
    // Calls that run at the same time cannot know of each other's.
    const isTooSoon = ({ at: before }: Rejected) => at - before > LONGEST_CALL_MS && at - before < OWN_LATCH_MS;
    const own = uncounted.filter((each) => !each.isForgiven && each.from === from && isOf(each, pair, version));
    if (own.some(isTooSoon) && !hasAnyClockJumped()) {
      accuse(`instance ${from} sent ${what} in spite of its own latch`);
    }
    uncounted.push(rejection);
  }
}

function previousTimes(lease: Lease | undefined): Lease['previous'] {
  if (lease === undefined) return { takenAt: Number.NEGATIVE_INFINITY, forcedAt: Number.NEGATIVE_INFINITY };
  if (lease.isCheck) return lease.previous;
  return { takenAt: lease.takenAt, forcedAt: lease.forced ? lease.takenAt : lease.previous.forcedAt };
}

function isOf(request: SentRequest, pair: Pair, version: string): boolean {
  return pairKey(request.pair) === pairKey(pair) && request.version === version;
}

/** A pair together with a version, or an instance. */
function keyOf(pair: Pair, of: string | number | undefined): string {
  return `${pairKey(pair)} ${of}`;
}

const LEASE_MS = 6_000;
/** Rejected requests per pair and version. */
const LOCK_OUT_BUDGET = 3;
const OWN_LATCH_MS = 15 * 60_000 - LONGEST_CALL_MS;
/** Short enough for a lease to outlast it by the clock of every instance. */
const SHORT_MS = 1_500;
const MAX_PAUSE_SECONDS = 300;
