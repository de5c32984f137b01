import type { PairRecord, Pause } from './record.ts';
import type { Acquisition, Publication, RejectedRequest } from './store.ts';

/** Whether the lease may be taken: I know the latest fence, and its lease is over or was watched to its end; or it is mine. */
export function mayAcquire(record: PairRecord, acquisition: Acquisition): boolean {
  const { seenFence, owner, now, outwaited } = acquisition;
  if (isMine(record, acquisition)) return true;
  return record.fence === seenFence && (outwaited || record.leaseOwner === owner || record.leaseUntil <= now);
}

/** The record under a new lease; once it is taken, taking it again changes nothing. */
export function acquired(record: PairRecord, acquisition: Acquisition): PairRecord {
  if (isMine(record, acquisition)) return record;
  const { seenFence, owner, now, until, forced, chargedVersion } = acquisition;
  const fence = seenFence + 1;
  return {
    ...record,
    fence,
    leaseOwner: owner,
    leaseUntil: until,
    attemptedAt: now,
    forcedAt: forced ? now : record.forcedAt,
    rejected: chargedVersion === undefined ? record.rejected : counted(record.rejected, chargedVersion, fence, now),
  };
}

/** My own lease, the answer to which was lost. */
function isMine(record: PairRecord, { owner, seenFence }: Acquisition): boolean {
  return record.leaseOwner === owner && record.fence === seenFence + 1;
}

/**
 * The record before my lease. When the answer to taking it was lost, the store shows my own writes: they are taken back
 * to what I saw, and what others wrote in between stays.
 */
export function beforeMine(shown: PairRecord, seen: PairRecord, { owner, chargedVersion }: Acquisition): PairRecord {
  if (shown.leaseOwner !== owner) return shown;
  const { fence, leaseOwner, leaseUntil, attemptedAt, forcedAt } = seen;
  const rejected = new Map(shown.rejected);
  const [charged, known] = [shown, seen].map((record) => record.rejected.get(chargedVersion ?? ''));
  if (chargedVersion !== undefined && known && (charged?.count ?? 0) <= known.count + 1) {
    rejected.set(chargedVersion, known);
  }
  return { ...shown, fence, leaseOwner, leaseUntil, attemptedAt, forcedAt, rejected };
}

/** The record with its new token; the version that brought it is proven, so its latch ends. */
export function published(record: PairRecord, publication: Publication): PairRecord {
  const rejected = without(record.rejected, [publication.token.credentialVersion]);
  return released({ ...record, ...publication, rejected, pause: undefined, foreignUntil: 0 });
}

export function paused(record: PairRecord, pause: Pause): PairRecord {
  return released({ ...record, pause });
}

/** The record with one rejected request more, unless it has been counted; my lease ends, another's does not. */
export function rejected(
  record: PairRecord,
  fence: number,
  { version, at, goneVersions }: RejectedRequest,
): PairRecord {
  const isCounted = record.rejected.get(version)?.fence === fence;
  const latches = isCounted ? record.rejected : counted(record.rejected, version, fence, at);
  const next = { ...record, rejected: without(latches, goneVersions) };
  return record.fence === fence ? released(next) : next;
}

/** The record without my lease, and without the latch of a version that has just worked. */
export function released(record: PairRecord, provenVersion?: string): PairRecord {
  const rejected = provenVersion === undefined ? record.rejected : without(record.rejected, [provenVersion]);
  return { ...record, rejected, leaseOwner: undefined, leaseUntil: 0 };
}

function counted(rejected: PairRecord['rejected'], version: string, fence: number, at: number) {
  const count = (rejected.get(version)?.count ?? 0) + 1;
  return new Map(rejected).set(version, { count, at, fence });
}

function without(rejected: PairRecord['rejected'], versions: readonly string[]) {
  return new Map([...rejected].filter(([version]) => !versions.includes(version)));
}
