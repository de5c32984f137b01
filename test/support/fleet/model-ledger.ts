import { holdKey, isIssuable, type PairRecord, type Wait } from '../../../functions/broker/pair/record.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';
import { SETTINGS_DIGEST } from '../broker-world.ts';
import type { createFleet } from './fleet.ts';
import { type Hosts, LONGEST_CALL_MS, MAX_SKEW_MS } from './model-hosts.ts';
import type { SentRequest, Write } from './surroundings.ts';

interface Lease {
  readonly id: string;
  readonly from: number;
  /** The record that it was taken of. */
  readonly before: PairRecord;
  /** True time. */
  readonly takenAt: number;
  readonly forced: boolean;
  readonly isCheck: boolean;
  readonly chargedVersion: string | undefined;
  /** When the pair's leases for callers before it were taken, the last one and the last forced one. */
  readonly previous: Pace;
  /** The one that was made under it. */
  request?: SentRequest;
  isEnded: boolean;
}

interface Pace {
  readonly takenAt: number;
  readonly forcedAt: number;
}

interface Rejected {
  readonly request: SentRequest;
  isCounted: boolean;
  /** Its call has ended, and whatever that has left behind. */
  isOver: boolean;
  /** The version has worked since, or an operator lets it be tried again. */
  isForgiven: boolean;
}

/** All that has truly happened to one pair. */
interface Page {
  /** Those of the last seconds. */
  leases: readonly Lease[];
  /** Of the leases for callers. */
  pace: Pace;
  lastRequest?: SentRequest | undefined;
  /** Until when its service has asked it to wait, and by which request. */
  askedToWait?: { readonly until: number; readonly by: SentRequest } | undefined;
  /** Rejected requests by version, since that last worked. */
  readonly counts: Map<string, number>;
  /** Its service has refused a credential at all. */
  wasRejected: boolean;
  /** When its token was withdrawn and not published again. */
  withdrawnAt?: number | undefined;
  disabledAt?: number | undefined;
  /** The fingerprint of the last token that a caller got. */
  lastToken?: string | undefined;
}

/** Keeps the books of leases, token requests and rejections as they truly happened: their pace, and the lock-out budget. */
export function keepLedger(
  { shared, clock, owners, services, surroundings }: ReturnType<typeof createFleet>,
  hosts: Hosts,
) {
  const pages = new Map<string, Page>();
  const names = new Set<string>();
  let rejections: Rejected[] = [];
  let lately: { readonly pair: Pair; readonly at: number }[] = [];
  const { accuse, wasAlone, hasAnyClockJumped } = hosts;

  if (surroundings.isShared) surroundings.onWrite = seeWrite;

  return {
    pageOf,
    seeRequest,

    /** An operator's retry: the pair may be tried at once. */
    forgive(pair: Pair, versions: Iterable<string>) {
      for (const version of versions) prove(pair, version);
      pageOf(pair).askedToWait = undefined;
    },

    /** The item of the pair is lost: all that the fleet knew of it begins anew. */
    forget(pair: Pair) {
      prove(pair);
      const { leases, counts, wasRejected, lastToken } = pageOf(pair);
      pages.set(pairKey(pair), { leases, counts, wasRejected, lastToken, pace: NEVER });
    },

    /** The instance has heard that the version is rejected. */
    seeRejection(request: SentRequest) {
      const { leases } = pageOf(request.pair);
      pageOf(request.pair).wasRejected = true;
      const rejection: Rejected = { request, isCounted: isSpent(request), isOver: false, isForgiven: false };
      rejections.push(rejection);
      if (leases.some((lease) => lease.request === request && lease.chargedVersion === request.version))
        count(rejection);
    },

    /** The service has sent a caller a Retry-After, and the instance could write it to the shared record. */
    seeRetryAfter(by: SentRequest, seconds: number) {
      const page = pageOf(by.pair);
      const now = clock.now();
      if (hasAnyClockJumped() || wasAlone(by.from, by.at) || now - by.at > SHORT_MS) return;
      if (page.leases.some(({ request, isCheck }) => request === by && isCheck)) return;
      page.askedToWait = { until: now + Math.min(seconds, MAX_PAUSE_SECONDS) * 1_000 - 2 * MAX_SKEW_MS, by };
    },

    /** Looks into the rejections that were not counted in the record although their calls are over. */
    settle() {
      for (const each of rejections) {
        if (each.isOver || clock.now() - each.request.at <= LONGEST_CALL_MS) continue;
        if (!each.isCounted && !isSpent(each.request) && hosts.get(each.request.from)) checkUncounted(each.request);
        each.isOver = true;
      }
      const isOfUse = ({ isOver, isCounted, request }: Rejected) =>
        !isOver || (!isCounted && clock.now() - request.at < OWN_LATCH_MS + LONGEST_CALL_MS);
      if (rejections.length > 0) rejections = rejections.filter(isOfUse);
    },

    /** The pairs that were leased in the last minutes. */
    leasedPairs() {
      lately = lately.filter(({ at }) => clock.now() - at < LATELY_MS);
      return lately.map(({ pair }) => pair);
    },
  };

  function pageOf(pair: Pair): Page {
    const page = pages.get(pairKey(pair)) ?? { leases: [], pace: NEVER, counts: new Map(), wasRejected: false };
    pages.set(pairKey(pair), page);
    return page;
  }

  function of(pair: Pair, version?: string): Rejected[] {
    const isOf = ({ request }: Rejected) =>
      pairKey(request.pair) === pairKey(pair) && (version === undefined || request.version === version);
    return rejections.filter(isOf);
  }

  /** A write of an instance has reached the shared record. */
  function seeWrite({ from, pair, before, next, isWritten }: Write): void {
    const page = pageOf(pair);
    const isNew = next.lease !== undefined && next.lease.id !== before.lease?.id;
    // A holder that could not write has had its answer all the same.
    const held = page.leases.find(({ id }) => id === before.lease?.id);
    if (held !== undefined && next.lease === undefined) held.isEnded = true;
    if (!isWritten) return;
    const isOwn = before.lease !== undefined && owners.get(before.lease.id) === from;
    const isPublished = next.token !== undefined && next.token !== before.token;
    const isSettled = isPublished || next.pause !== before.pause || next.held !== before.held;
    if (isSettled && !isOwn) accuse(`instance ${from} settled ${pairKey(pair)} without a lease of its own`);
    if (isNew) grant(pair, before, next);
    for (const [version, latch] of next.rejected) {
      if (latch !== before.rejected.get(version) && !(isNew && latch.by === next.lease.id))
        tell(pair, version, latch.by);
    }
    for (const version of before.rejected.keys()) if (!next.rejected.has(version)) prove(pair, version);
    if (isPublished) prove(pair, next.token.credentialVersion);
    if (isPublished) page.withdrawnAt = undefined;
    if (before.token !== undefined && next.token === undefined) page.withdrawnAt = clock.now();
  }

  function grant(pair: Pair, before: PairRecord, { lease, attemptedAt, forcedAt, rejected }: PairRecord): void {
    if (lease === undefined) return;
    const { id } = lease;
    const page = pageOf(pair);
    const takenAt = clock.now();
    const from = owners.get(id) ?? -1;
    const holder = page.leases.find((each) => each.id === before.lease?.id);
    const isLive = holder !== undefined && takenAt - holder.takenAt < LEASE_MS - MAX_SKEW_MS;
    if (isLive && holder.from !== from && !hasAnyClockJumped()) accuse(`${id} took the living lease of ${holder.id}`);
    if (names.has(id)) accuse(`${id} is the name of two leases`);
    names.add(id);
    lately.push({ pair, at: takenAt });

    const forced = forcedAt !== before.forcedAt;
    const isCheck = attemptedAt === before.attemptedAt;
    const chargedVersion = [...rejected].find(([, { by }]) => by === id)?.[0];
    const about = { before, takenAt, forced, isCheck, chargedVersion, previous: page.pace };
    page.leases = [...page.leases.filter(isRecent), { id, from, ...about, isEnded: false }];
    if (!isCheck) page.pace = { takenAt, forcedAt: forced ? takenAt : page.pace.forcedAt };
  }

  function isRecent({ takenAt }: Lease): boolean {
    return clock.now() - takenAt < LONGEST_CALL_MS;
  }

  /** The record says already that the version has no chance left: nothing needs to be told. */
  function isSpent({ pair, version }: SentRequest): boolean {
    return (shared.peek(pair).rejected.get(version)?.count ?? 0) >= LOCK_OUT_BUDGET;
  }

  /** A rejection stands in the shared record. */
  function tell(pair: Pair, version: string, by: string): void {
    const own = pageOf(pair).leases.find(({ id }) => id === by);
    if (own !== undefined) own.isEnded = true;
    const mine = of(pair, version).findLast((each) => !each.isOver && each.request.from === owners.get(by));
    if (mine !== undefined && !mine.isCounted) count(mine);
  }

  /** A token request was sent. */
  function seeRequest(request: SentRequest): void {
    const { from, pair, version, at } = request;
    const page = pageOf(pair);
    checkCall(request);
    // An instance may have several calls at once.
    const open = page.leases.filter((each) => each.from === from && !each.request && !each.isEnded && isRecent(each));
    const lease = open.findLast(({ chargedVersion }) => chargedVersion === version) ?? open.at(-1);
    const isExcused = wasAlone(from, at);
    if (lease === undefined) {
      if (!isExcused) accuse(`instance ${from} sent ${version} of ${pairKey(pair)} without a lease`);
      return;
    }
    const who = `instance ${from} (${lease.id})`;
    if (!isExcused) checkUse(lease, version, who);
    if (!isExcused && !hasAnyClockJumped()) checkPace(lease, request, page, who);
    lease.request = request;
    page.lastRequest = request;
  }

  /** No call sends a version twice. */
  function checkCall({ from, pair, version }: SentRequest): void {
    const calls = [...(hosts.get(from)?.calls ?? [])].filter((call) => pairKey(call.pair) === pairKey(pair));
    const [only] = calls.length === 1 ? calls : [];
    if (only?.sent.includes(version)) accuse(`instance ${from} sent ${version} of ${pairKey(pair)} twice in one call`);
    only?.sent.push(version);
  }

  /** A success clears the earlier rejections, of all versions where none is named. */
  function prove(pair: Pair, version?: string): void {
    if (version === undefined) pageOf(pair).counts.clear();
    else pageOf(pair).counts.delete(version);
    for (const each of of(pair, version)) each.isForgiven = true;
  }

  function count(rejection: Rejected): void {
    rejection.isCounted = true;
    const { from, at, pair, version } = rejection.request;
    // Calls that the store leaves alone at the same time send each for itself.
    if (wasAlone(from, at)) return;
    const { counts } = pageOf(pair);
    const total = (counts.get(version) ?? 0) + 1;
    counts.set(version, total);
    // To a clock that is minutes off, leases that live are over: instances of which one has it send at the same time.
    if (total > LOCK_OUT_BUDGET && !hasAnyClockJumped())
      accuse(`${pairKey(pair)} ${version} was rejected ${total} times`);
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
  function checkPace(lease: Lease, { pair, at }: SentRequest, { lastRequest, askedToWait }: Page, who: string): void {
    const { before, forced, isCheck, previous, takenAt } = lease;
    const key = pairKey(pair);
    const isShort = lastRequest !== undefined && lastRequest.latencyMs <= SHORT_MS;
    if (isShort && !wasAlone(lastRequest.from, lastRequest.at) && at < lastRequest.at + lastRequest.latencyMs) {
      accuse(`${who} sent a request of ${key} while another was under way`);
    }
    const isTold = askedToWait !== undefined && hosts.storeFailedAt(askedToWait.by.from) < askedToWait.by.at;
    if (isTold && at < askedToWait.until) accuse(`${who} sent a request of ${key} although told to wait`);

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
  function checkUncounted({ from, pair, version, at }: SentRequest): void {
    const what = `${version} of ${pairKey(pair)}`;
    if (!wasAlone(from, at)) accuse(`instance ${from} kept the rejection of ${what} to itself`);
    const own = of(pair, version).filter((each) => each.isOver && !each.isCounted && !each.isForgiven);
    // Calls that run at the same time cannot know of each other's.
    const isTooSoon = ({ request }: Rejected) =>
      request.from === from && at - request.at > LONGEST_CALL_MS && at - request.at < OWN_LATCH_MS;
    if (own.some(isTooSoon) && !hasAnyClockJumped()) accuse(`instance ${from} sent ${what} in spite of its own latch`);
  }
}

const NEVER: Pace = { takenAt: Number.NEGATIVE_INFINITY, forcedAt: Number.NEGATIVE_INFINITY };
const LEASE_MS = 6_000;
/** Rejected requests per pair and version. */
const LOCK_OUT_BUDGET = 3;
const OWN_LATCH_MS = 15 * 60_000 - LONGEST_CALL_MS;
/** Short enough for a lease to outlast it by the clock of every instance. */
const SHORT_MS = 1_500;
const MAX_PAUSE_SECONDS = 300;
const LATELY_MS = 300_000;
