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
  /** The fingerprint of the last token that a caller got. */
  lastToken?: string | undefined;
}

/** Keeps the books of leases, token requests and rejections as they truly happened: their pace, and the lock-out budget. */
export function keepLedger({ clock, owners, services, surroundings }: ReturnType<typeof createFleet>, hosts: Hosts) {
  const pages = new Map<string, Page>();
  const { judge, wasAlone, hasAnyClockJumped } = hosts;

  if (surroundings.isShared) surroundings.onWrite = seeWrite;

  return {
    pageOf,
    seeRequest,

    /** An operator's retry: the pair may be tried at once. */
    forgive(pair: Pair, versions: Iterable<string>) {
      for (const version of versions) prove(pair, version);
    },

    /** The item of the pair is lost: all that the fleet knew of it begins anew. */
    forget(pair: Pair) {
      const { lastToken, ...page } = pageOf(pair);
      const leases = page.leases.map((lease) => ({ ...lease, isLost: true }) as const);
      pages.set(pairKey(pair), { leases, rejections: [], lastToken, pace: NEVER });
    },

    /** An instance has heard that the version is rejected; one that dies, or that the store leaves alone, may keep that to itself. */
    seeRejection(request: SentRequest) {
      const { pair, version } = request;
      const page = pageOf(pair);
      page.rejections = [...page.rejections, request];
      const told = page.rejections.filter((each) => each.version === version && !wasAlone(each.from, each.at));
      // To a clock that is minutes off, leases that live are over: instances of which one has it send at the same time.
      const isLockedOut = told.length > LOCK_OUT_BUDGET && !hasAnyClockJumped();
      judge(`${pairKey(pair)} ${version}`, { 'was rejected too often': isLockedOut });
    },
  };

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
    for (const { by } of next.rejected.values()) if (by !== next.lease?.id) end(page, by);
    for (const version of before.rejected.keys()) if (!next.rejected.has(version)) prove(pair, version);
    if (isPublished) prove(pair, next.token.credentialVersion);
    if (isPublished) page.withdrawnAt = undefined;
    if (before.token !== undefined && next.token === undefined) page.withdrawnAt = clock.now();
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
    const isLive = holder !== undefined && takenAt - holder.takenAt < LEASE_MS - MAX_SKEW_MS;
    judge(`the lease ${id}`, {
      'was taken while another lived': isLive && holder.from !== from && !hasAnyClockJumped(),
      'is the second of its name': page.leases.some((each) => each.id === id),
    });

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

  /** A token request was sent. */
  function seeRequest(request: SentRequest): void {
    const { from, pair, version, at } = request;
    const page = pageOf(pair);
    // An instance may have several calls at once.
    const open = page.leases.filter((each) => each.from === from && !each.request && !each.isEnded && isRecent(each));
    const lease = open.findLast(({ chargedVersion }) => chargedVersion === version) ?? open.at(-1);
    const isExcused = wasAlone(from, at);
    judge(`instance ${from} (${lease?.id}) sent ${version} of ${pairKey(pair)}`, {
      'twice in one call': isSecondOfCall(request),
      'in spite of its own latch': !hasAnyClockJumped() && isLatched(request, page),
      'without a lease': !isExcused && lease === undefined,
      ...(lease && !isExcused && complaintsOfUse(lease, version)),
      ...(lease && !lease.isLost && !isExcused && !hasAnyClockJumped() && complaintsOfPace(lease, request, page)),
    });
    if (lease === undefined) return;
    lease.request = request;
    if (!lease.isLost) page.lastRequest = request;
  }

  function isSecondOfCall({ from, pair, version }: SentRequest): boolean {
    const calls = hosts.callsOf(from).filter((call) => pairKey(call.pair) === pairKey(pair));
    const sent = calls.length === 1 ? calls[0]?.sent : undefined;
    return sent !== undefined && sent.push(version) > new Set(sent).size;
  }

  /** An instance that knows of a rejection, told or not, gives the version a while. Calls at the same time cannot know of each other's. */
  function isLatched({ from, version, at }: SentRequest, { rejections }: Page): boolean {
    const own = rejections.filter((last) => last.from === from && last.version === version);
    return own.some((last) => at - last.at > LONGEST_CALL_MS && at - last.at < LATCH_MS - LONGEST_CALL_MS);
  }

  /** A success clears the earlier rejections. */
  function prove(pair: Pair, version: string): void {
    const page = pageOf(pair);
    page.rejections = page.rejections.filter((each) => each.version !== version);
  }

  function complaintsOfUse({ before, chargedVersion }: Lease, version: string) {
    const isLasting = (wait?: Wait) => !hasAnyClockJumped() && (wait?.until ?? 0) > clock.now() + MAX_SKEW_MS;
    return {
      'without a charge': before.rejected.has(version) && chargedVersion !== version,
      'although it is disabled': before.disabled !== undefined,
      'during a pause': isLasting(before.pause),
      'during its hold': isLasting(before.held.get(holdKey(version, SETTINGS_DIGEST))),
    };
  }

  /** How often, and when, the fleet sends token requests; for as long as all clocks and the store are well. */
  function complaintsOfPace(lease: Lease, { pair, at }: SentRequest, { lastRequest: last }: Page) {
    const { before, forced, isCheck, previous, takenAt } = lease;
    const isAnswered = !last || last.latencyMs > SHORT_MS || wasAlone(last.from, last.at);
    const { token } = before;
    const isServed = token !== undefined && (token.accessToken !== undefined || token.closed !== 'no-bytes');
    const isLiving = isServed && isIssuable(token, takenAt + MAX_SKEW_MS) && !forced;
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
const LEASE_MS = 6_000;
/** Rejected requests per pair and version. */
const LOCK_OUT_BUDGET = 3;
const LATCH_MS = 15 * 60_000;
/** Short enough for a lease to outlast it by the clock of every instance. */
const SHORT_MS = 1_500;
