import type { Outcome } from './outcome.ts';
import { KEPT_WAIT_MS, type PairRecord } from './record.ts';

/** Returns the record under a new lease. A version that was rejected before uses its next chance before it is sent. */
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
 * Returns the record with the outcome of the request under this lease. After another lease has replaced it, only a
 * rejection counts. Returns the same object when nothing changes.
 */
export function settled(record: PairRecord, id: string, outcome: Outcome): PairRecord {
  const { version, holdKey, at, checked = record.checked } = outcome;
  const isMine = record.lease?.id === id;
  const isHeard = outcome.kind !== 'failed' || !outcome.wait.unheard;
  const pause = isHeard && record.pause ? { ...record.pause, unheard: undefined } : record.pause;
  const free = isMine ? { ...record, lease: undefined, checked, pause } : record;
  // The service has counted the request, whichever lease is current.
  if (outcome.kind === 'rejected') return { ...free, rejected: counted(record.rejected, version, id, at) };
  if (!isMine) return record;
  if (outcome.kind === 'accepted') {
    const proven = { ...free, rejected: without(record.rejected, version), held: without(record.held, holdKey) };
    return outcome.isPublished ? { ...proven, token: outcome.token, pause: undefined, attemptedAt: at } : proven;
  }
  if (!outcome.holds) return { ...free, pause: outcome.wait };
  const recent = [...record.held].filter(([, { until }]) => at - until <= KEPT_WAIT_MS);
  return { ...free, held: new Map(recent).set(holdKey, outcome.wait) };
}

/** Returns the record without its token and lease. Only for a record without a living lease. */
export function withdrawn(record: PairRecord): PairRecord {
  return { ...record, lease: undefined, token: undefined };
}

/** Returns the record after an operator's retry: every version may be sent again at once, unless latches are kept. */
export function cleared(record: PairRecord, keepsLatches = false): PairRecord {
  return { ...record, rejected: keepsLatches ? record.rejected : new Map(), held: new Map(), pause: undefined };
}

/** Counts a rejection, once per lease. Keeps the latest latches. */
function counted(rejected: PairRecord['rejected'], version: string, by: string, at: number): PairRecord['rejected'] {
  const latch = rejected.get(version);
  const count = (latch?.count ?? 0) + (latch?.by === by ? 0 : 1);
  return new Map([...without(rejected, version), [version, { count, at, by }] as const].slice(-MAX_LATCHES));
}

function without<Value>(entries: ReadonlyMap<string, Value>, key: string): ReadonlyMap<string, Value> {
  return entries.has(key) ? new Map([...entries].filter(([other]) => other !== key)) : entries;
}

/** Far more versions than can have a stage at the same time. */
const MAX_LATCHES = 100;
