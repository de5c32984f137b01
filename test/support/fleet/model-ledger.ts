import { holdKey, isIssuable, isLatched, type PairRecord, type Wait } from '../../../functions/broker/pair/record.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';
import { SETTINGS_DIGEST } from '../broker-world.ts';
import type { createFleet } from './fleet.ts';
import { type Hosts, LONGEST_CALL_MS, MAX_SKEW_MS } from './model-hosts.ts';
import type { SentRequest, ServiceAnswer, Write } from './surroundings.ts';

interface Lease {
  readonly id: string;
  /** By the clock of its instance. */
  readonly until: number;
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
  /** The service has rejected its request, and the table has counted that, before or after it. */
  isRejected?: true;
  isCounted: boolean;
  /** The item was lost since: requests under this lease and under later leases cross. */
  isLost?: true;
}

interface Pace {
  readonly takenAt: number;
  readonly forcedAt: number;
}

/** All that has truly happened to one pair. */
interface Page {
  /** Those of the last seconds. */
  leases: readonly Lease[];
  /** Of the leases for callers. */
  pace: Pace;
  lastRequest?: SentRequest | undefined;
  /** Rejected requests, each since its version last worked or an operator let it be tried again. */
  rejections: readonly SentRequest[];
  /** When its token was withdrawn and not published again. */
  withdrawnAt?: number | undefined;
  disabledAt?: number | undefined;
  /** The last stop that has ended. */
  stop?: { readonly at: number; readonly endedAt: number };
  /** The fingerprint of the last token that a caller got. */
  lastToken?: string | undefined;
}

/** Keeps the books of leases, token requests and rejections as they truly happened: their pace, and the lock-out budget. */
export function keepLedger({ clock, owners, services, surroundings }: ReturnType<typeof createFleet>, hosts: Hosts) {
  const pages = new Map<string, Page>();
  const { judge } = hosts;

  Object.assign(surroundings, { onWrite: seeWrite, onRequest: seeRequest, onHeard: seeAnswer });

  return {
    pageOf,

    /** An operator's retry: the pair may be tried at once. */
    forgive(pair: Pair, versions: Iterable<string>) {
      for (const version of versions) prove(pair, version);
    },

    /** The item of the pair is lost: all that the fleet knew of it begins anew. */
    forget(pair: Pair) {
      const { lastToken, leases } = pageOf(pair);
      for (const lease of leases) lease.isLost = true;
      pages.set(pairKey(pair), { leases, rejections: [], lastToken, pace: NEVER });
    },
  };

  /** The service has answered, perhaps with a rejection of the version. */
  function seeAnswer(request: SentRequest, { response: { status } }: ServiceAnswer): void {
    if (status !== 400 && status !== 401) return;
    const page = pageOf(request.pair);
    page.rejections = [...page.rejections, request];
    const lease = page.leases.find((each) => each.request === request);
    if (lease !== undefined) lease.isRejected = true;
    judgeRejections(request.pair, request.version);
  }

  /** Rejections that the table does not know are those of holders that died, and of outcomes that it did not take. */
  function judgeRejections(pair: Pair, version: string): void {
    const { rejections, leases } = pageOf(pair);
    const isKnown = (request: SentRequest) => leases.find((each) => each.request === request)?.isCounted ?? true;
    const known = rejections.filter((each) => each.version === version && isKnown(each));
    judge(`${pairKey(pair)} ${version}`, { 'was rejected too often': known.length > LOCK_OUT_BUDGET });
  }

  function pageOf(pair: Pair): Page {
    const page = pages.get(pairKey(pair)) ?? { leases: [], pace: NEVER, rejections: [] };
    pages.set(pairKey(pair), page);
    return page;
  }

  /** A write of an instance has reached the shared record. */
  function seeWrite({ from, pair, before, next, isWritten }: Write): void {
    const page = pageOf(pair);
    const isNew = next.lease !== undefined && next.lease.id !== before.lease?.id;
    // A holder that could not write has had its answer all the same.
    if (next.lease === undefined) end(page, before.lease?.id);
    if (!isWritten) return;
    const isOwn = before.lease !== undefined && owners.get(before.lease.id) === from;
    const isPublished = next.token !== undefined && next.token !== before.token;
    const isSettled = isPublished || next.pause !== before.pause || next.held !== before.held;
    judge(`instance ${from}`, { [`settled ${pairKey(pair)} without a lease of its own`]: isSettled && !isOwn });
    if (isNew) grant(pair, before, next);
    seeLatches(pair, next);
    for (const version of before.rejected.keys()) if (!next.rejected.has(version)) prove(pair, version);
    if (isPublished) prove(pair, next.token.credentialVersion);
    if (isPublished) page.withdrawnAt = undefined;
    if (before.token !== undefined && next.token === undefined) page.withdrawnAt = clock.now();
  }

  function seeLatches(pair: Pair, { lease, rejected }: PairRecord): void {
    const page = pageOf(pair);
    for (const [version, { by }] of rejected) {
      if (by !== lease?.id) end(page, by);
      for (const each of page.leases) each.isCounted ||= each.id === by;
      judgeRejections(pair, version);
    }
  }

  function end({ leases }: Page, leaseId: string | undefined): void {
    const lease = leases.find(({ id }) => id === leaseId);
    if (lease !== undefined) lease.isEnded = true;
  }

  function grant(pair: Pair, before: PairRecord, { lease, attemptedAt, forcedAt, rejected }: PairRecord): void {
    if (lease === undefined) return;
    const { id } = lease;
    const page = pageOf(pair);
    const takenAt = clock.now();
    const from = owners.get(id) ?? -1;
    const holder = page.leases.find((each) => each.id === before.lease?.id);
    const isLive = takenAt + hosts.skewOf(from) < (before.lease?.until ?? 0);
    // An instance that has watched the lease for its whole length does not believe the other clock.
    const isWatched = holder !== undefined && takenAt - holder.takenAt >= LEASE_MS;
    judge(`the lease ${id}`, {
      'was taken while another lived': isLive && !isWatched && holder !== undefined && holder.from !== from,
      'is the second of its name': page.leases.some((each) => each.id === id),
    });

    const forced = forcedAt !== before.forcedAt;
    const isCheck = attemptedAt === before.attemptedAt;
    const chargedVersion = [...rejected].find(([, { by }]) => by === id)?.[0];
    const about = { before, takenAt, forced, isCheck, chargedVersion, previous: page.pace };
    const isCounted = chargedVersion !== undefined;
    page.leases = [...page.leases.filter(isNeeded), { ...lease, from, ...about, isEnded: false, isCounted }];
    if (!isCheck) page.pace = { takenAt, forcedAt: forced ? takenAt : page.pace.forcedAt };
  }

  function isRecent({ takenAt }: Lease): boolean {
    return clock.now() - takenAt < LONGEST_CALL_MS;
  }

  /** A rejection that the table does not know is remembered as such. */
  function isNeeded(lease: Lease): boolean {
    return isRecent(lease) || (lease.isRejected === true && !lease.isCounted);
  }

  /** A token request was sent. */
  function seeRequest(request: SentRequest): void {
    const { from, pair, version } = request;
    const page = pageOf(pair);
    // An instance may have several calls at once.
    const open = page.leases.filter((each) => each.from === from && !each.request && !each.isEnded && isRecent(each));
    const lease = open.findLast(({ chargedVersion }) => chargedVersion === version) ?? open.at(-1);
    judge(`instance ${from} (${lease?.id}) sent ${version} of ${pairKey(pair)}`, {
      'twice in one call': isSecondOfCall(request),
      'without a lease': lease === undefined,
      'after its lease': lease !== undefined && clock.now() + hosts.skewOf(from) > lease.until - RESERVE_MS,
      ...(lease && complaintsOfUse(lease, version)),
      ...(lease && !lease.isLost && complaintsOfPace(lease, request, page)),
    });
    if (lease === undefined) return;
    lease.request = request;
    onlyCall(request)?.isKept.push(() => lease.isRejected === true && !lease.isCounted && !lease.isLost);
    if (!lease.isLost) page.lastRequest = request;
  }

  /** The call of a request, if no other call of the instance can have sent it. */
  function onlyCall({ from, pair }: SentRequest) {
    const calls = hosts.callsOf(from).filter((call) => pairKey(call.pair) === pairKey(pair));
    return calls.length === 1 ? calls[0] : undefined;
  }

  function isSecondOfCall(request: SentRequest): boolean {
    const { version } = request;
    const sent = onlyCall(request)?.sent;
    return sent !== undefined && sent.push(version) > new Set(sent).size;
  }

  /** A success clears the earlier rejections. */
  function prove(pair: Pair, version: string): void {
    const page = pageOf(pair);
    page.rejections = page.rejections.filter((each) => each.version !== version);
  }

  function complaintsOfUse({ before, chargedVersion, takenAt }: Lease, version: string) {
    const isLasting = (wait?: Wait) => (wait?.until ?? 0) > clock.now() + MAX_SKEW_MS;
    const latch = before.rejected.get(version);
    return {
      'in spite of its latch': isLatched(latch, takenAt + MAX_SKEW_MS),
      'without a charge': before.rejected.has(version) && chargedVersion !== version,
      'although it is disabled': before.disabled !== undefined,
      'during a pause': isLasting(before.pause),
      'during its hold': isLasting(before.held.get(holdKey(version, SETTINGS_DIGEST))),
    };
  }

  /** How often, and when, the fleet sends token requests. */
  function complaintsOfPace(lease: Lease, { pair, at }: SentRequest, { lastRequest: last }: Page) {
    const { before, forced, isCheck, previous, takenAt } = lease;
    const isAnswered = !last || last.latencyMs > SHORT_MS;
    const { token } = before;
    const isLiving = token?.accessToken && isIssuable(token, takenAt + MAX_SKEW_MS) && !forced;
    const isWithin = (ms: number, earlier: number) => takenAt - earlier < ms - MAX_SKEW_MS;
    return {
      'while another was under way': !isAnswered && at < last.at + last.latencyMs,
      'by force too soon': forced && isWithin(30_000, previous.forcedAt),
      'and ended a living token': isLiving && services[pair.service]?.singleActiveToken,
      'and renewed a living token too soon': isLiving && !isCheck && isWithin(15_000, previous.takenAt),
    };
  }
}

const NEVER: Pace = { takenAt: Number.NEGATIVE_INFINITY, forcedAt: Number.NEGATIVE_INFINITY };
export const LEASE_MS = 6_000;
/** An outcome is written in the last part of a lease. */
const RESERVE_MS = 650;
/** Rejected requests per pair and version. */
const LOCK_OUT_BUDGET = 3;
/** Short enough for a lease to outlast it by the clock of every instance. */
const SHORT_MS = 1_500;
