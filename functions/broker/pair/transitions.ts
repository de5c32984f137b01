import type { PairRecord } from './record.ts';
import type { Acquisition, Ending, Lease, RejectedRequest } from './store.ts';

/** The record under a new lease; once it is taken, taking it again changes nothing. */
export function acquired(record: PairRecord, acquisition: Acquisition): PairRecord {
  const { seenFence, owner, now, until, forced, chargedVersion, isCheck } = acquisition;
  const fence = seenFence + 1;
  // The answer to taking it was lost.
  if (record.leaseOwner === owner && record.fence === fence) return record;
  return {
    ...record,
    fence,
    leaseOwner: owner,
    leaseUntil: until,
    attemptedAt: isCheck ? record.attemptedAt : now,
    forcedAt: forced ? now : record.forcedAt,
    rejected: chargedVersion === undefined ? record.rejected : counted(record.rejected, chargedVersion, fence, now),
  };
}

/**
 * The record before my lease. When the answer to taking it was lost, the store shows my own writes: they are taken back
 * to what I saw, and what others wrote in between stays.
 */
export function beforeMine(shown: PairRecord, seen: PairRecord, { owner, chargedVersion }: Acquisition): PairRecord {
  if (shown.leaseOwner !== owner) return shown;
  const { fence, leaseOwner, leaseUntil, attemptedAt, forcedAt } = seen;
  const version = chargedVersion ?? '';
  const known = seen.rejected.get(version);
  const isMine = known !== undefined && (shown.rejected.get(version)?.count ?? 0) <= known.count + 1;
  const rejected = isMine ? new Map(shown.rejected).set(version, known) : shown.rejected;
  // Shown as the last attempt, my own would keep a token that I cannot open closed for another minute.
  const closedUntil = Math.min(shown.closedUntil, seen.closedUntil);
  return { ...shown, fence, leaseOwner, leaseUntil, attemptedAt, forcedAt, rejected, closedUntil };
}

/** The record after my lease, with what came of it. */
export function ended(record: PairRecord, ending: Ending): PairRecord {
  const free = { ...record, leaseOwner: undefined, leaseUntil: 0 };
  const { checked = record.checked } = ending;
  switch (ending.kind) {
    case 'publish': {
      const { token, holdKey } = ending;
      return { ...proven(free, token.credentialVersion, holdKey), token, pause: undefined, closedUntil: 0, checked };
    }
    case 'prove':
      return { ...proven(free, ending.version, ending.holdKey), checked };
    case 'pause':
      return { ...free, pause: ending.pause, checked };
    case 'hold':
      return { ...free, held: without(record.held, ending.expiredKeys).set(ending.key, ending.hold), checked };
    case 'withdraw':
      return { ...free, token: undefined, closedUntil: 0 };
    case 'release':
      return free;
  }
}

/** The record with one rejected request more, unless it has been counted; my lease ends, another's does not. */
export function rejected(record: PairRecord, lease: Lease, rejection: RejectedRequest): PairRecord {
  const { version, at, goneVersions, checked = record.checked } = rejection;
  const isCounted = record.rejected.get(version)?.fence === lease.fence;
  const latches = isCounted ? record.rejected : counted(record.rejected, version, lease.fence, at);
  const next = { ...record, rejected: without(latches, goneVersions) };
  const isHeld = record.fence === lease.fence && record.leaseOwner === lease.owner;
  return isHeld ? ended({ ...next, checked }, { kind: 'release' }) : next;
}

/** A version that has worked is neither latched nor held any longer. */
function proven(record: PairRecord, version: string, holdKey: string): PairRecord {
  return { ...record, rejected: without(record.rejected, [version]), held: without(record.held, [holdKey]) };
}

function counted(rejected: PairRecord['rejected'], version: string, fence: number, at: number) {
  const count = (rejected.get(version)?.count ?? 0) + 1;
  return new Map(rejected).set(version, { count, at, fence });
}

function without<Value>(entries: ReadonlyMap<string, Value>, keys: readonly string[]): Map<string, Value> {
  return new Map([...entries].filter(([key]) => !keys.includes(key)));
}
