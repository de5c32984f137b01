import type { Outcome } from './outcome.ts';
import { isSpent, KEPT_WAIT_MS, type PairRecord } from './record.ts';

/** The record under a new lease. A version that was rejected before uses up its next chance before it is sent. */
export function leased(
  record: PairRecord,
  lease: { readonly id: string; readonly until: number },
  use: { readonly version: string; readonly forced: boolean; readonly isCheck: boolean },
  now: number,
): PairRecord {
  return {
    ...record,
    lease,
    attemptedAt: use.isCheck ? record.attemptedAt : now,
    forcedAt: use.forced ? now : record.forcedAt,
    rejected: record.rejected.has(use.version) ? counted(record.rejected, use.version, lease.id, now) : record.rejected,
  };
}

/**
 * The record with the outcome of the request that was made under this lease. Once another lease has replaced it, only a
 * rejection counts; the same record where there is nothing to write.
 */
export function settled(record: PairRecord, id: string, outcome: Outcome): PairRecord {
  const { version, holdKey, at, checked = record.checked } = outcome;
  const isMine = record.lease?.id === id;
  const isHeard = outcome.kind !== 'failed' || !outcome.wait.unheard;
  const pause = isHeard && record.pause ? { ...record.pause, unheard: undefined } : record.pause;
  const free = isMine ? { ...record, lease: undefined, checked, pause } : record;
  if (outcome.kind === 'rejected') {
    // The service has counted it, too, under whichever lease; a write that is repeated counts once.
    const latch = record.rejected.get(version);
    const isCounted = latch?.by === id && latch.at === at;
    // A count beyond the last chance changes nothing, so many instances that are alone do not compete to write it.
    return isCounted || isSpent(latch) ? free : { ...free, rejected: counted(record.rejected, version, id, at) };
  }
  if (!isMine) return record;
  if (outcome.kind === 'accepted') {
    const proven = { ...free, rejected: without(record.rejected, version), held: without(record.held, holdKey) };
    return outcome.isPublished ? { ...proven, token: outcome.token, pause: undefined } : proven;
  }
  if (!outcome.holds) return { ...free, pause: outcome.wait };
  const recent = [...record.held].filter(([, { until }]) => at - until <= KEPT_WAIT_MS);
  return { ...free, held: new Map(recent).set(holdKey, outcome.wait) };
}

/** The record without its token: the secret is gone, or no longer names the service. Only where no lease lives. */
export function withdrawn(record: PairRecord): PairRecord {
  return { ...record, lease: undefined, token: undefined };
}

/** The record as an operator wants it: every version may be sent again, at once. */
export function cleared(record: PairRecord): PairRecord {
  return { ...record, rejected: new Map(), held: new Map(), pause: undefined };
}

/** One rejection more, once per lease. The latches of many later versions are newer than any version with a stage. */
function counted(rejected: PairRecord['rejected'], version: string, by: string, at: number): PairRecord['rejected'] {
  const latch = rejected.get(version);
  const count = (latch?.count ?? 0) + (latch?.by === by ? 0 : 1);
  return new Map([...without(rejected, version), [version, { count, at, by }] as const].slice(-MAX_LATCHES));
}

function without<Value>(entries: ReadonlyMap<string, Value>, key: string): ReadonlyMap<string, Value> {
  return entries.has(key) ? new Map([...entries].filter(([other]) => other !== key)) : entries;
}

/** So many versions were rejected later than the first that is forgotten. */
const MAX_LATCHES = 100;
