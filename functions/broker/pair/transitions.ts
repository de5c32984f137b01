import type { LeasedRequest } from './call.ts';
import type { Outcome } from './outcome.ts';
import { KEPT_WAIT_MS, type PairRecord } from './record.ts';

/** Returns the record under a new lease. A version that was rejected before uses its next chance before it is sent. */
export function leased({ record, lease, version, forced }: LeasedRequest, isCheck: boolean, now: number): PairRecord {
  const { rejected } = record;
  return {
    ...record,
    lease,
    attemptedAt: isCheck ? record.attemptedAt : now,
    forcedAt: forced ? now : record.forcedAt,
    rejected: rejected.has(version.versionId) ? counted(rejected, version.versionId, lease.id, now) : rejected,
  };
}

/**
 * Returns the record with the outcome of the request under this lease. After another lease has replaced it, only a
 * rejection counts. Returns the same object when nothing changes.
 */
export function settled(record: PairRecord, request: LeasedRequest, outcome: Outcome): PairRecord {
  const { lease, holdKey } = request;
  const { versionId: version } = request.version;
  const { at, checked = record.checked } = outcome;
  const isMine = record.lease?.id === lease.id;
  const isHeard = outcome.kind !== 'failed' || !outcome.wait.unheard;
  const pause = isHeard && record.pause ? { ...record.pause, unheard: undefined } : record.pause;
  const free = isMine ? { ...record, lease: undefined, checked, pause } : record;
  // The service has counted the request, whichever lease is current.
  if (outcome.kind === 'rejected') return { ...free, rejected: counted(record.rejected, version, lease.id, at) };
  if (!isMine) return record;
  if (outcome.kind === 'accepted') {
    const proven = { ...free, rejected: without(record.rejected, version), held: without(record.held, holdKey) };
    // A trial publishes no token.
    return outcome.checked ? proven : { ...proven, token: outcome.token, pause: undefined, attemptedAt: at };
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
