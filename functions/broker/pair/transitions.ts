import type { CheckedVersion, PairRecord, Rejection, StoredToken, Wait } from './record.ts';

/** The use of a lease: which version is sent, and for whom. */
export interface LeaseUse {
  readonly version: string;
  /** The request replaces a refused token. */
  readonly forced: boolean;
  readonly isCheck: boolean;
}

/** The outcome of one token request, with all times in it: the same outcome is settled any number of times. */
export type Outcome = { readonly at: number; readonly checked?: CheckedVersion | undefined } & (
  | { readonly kind: 'token'; readonly token: StoredToken; readonly key: string }
  /** The service accepted the version, and its token is not published. */
  | { readonly kind: 'proven'; readonly version: string; readonly key: string }
  | { readonly kind: 'paused'; readonly pause: Wait }
  | { readonly kind: 'held'; readonly key: string; readonly hold: Wait }
  /** `gone`: versions that carry no stage any more, whose latches are forgotten. */
  | { readonly kind: 'rejected'; readonly version: string; readonly gone: readonly string[] }
);

/** The record under a new lease. A version that was rejected before uses up its next chance before it is sent. */
export function leased(
  record: PairRecord,
  lease: { id: string; until: number },
  use: LeaseUse,
  now: number,
): PairRecord {
  const { version, forced, isCheck } = use;
  const latch = record.rejected.get(version);
  return {
    ...record,
    lease,
    attemptedAt: isCheck ? record.attemptedAt : now,
    forcedAt: forced ? now : record.forcedAt,
    rejected: latch ? new Map(record.rejected).set(version, counted(latch, lease.id, now)) : record.rejected,
  };
}

/**
 * The record with the outcome of the request that was made under this lease. Once another lease has replaced it, only a
 * rejection counts; the same record where there is nothing to write.
 */
export function settled(record: PairRecord, id: string, outcome: Outcome): PairRecord {
  const isMine = record.lease?.id === id;
  const free = isMine ? { ...record, lease: undefined, checked: outcome.checked ?? record.checked } : record;
  if (outcome.kind === 'rejected') return withRejection(free, id, outcome);
  if (!isMine) return record;
  switch (outcome.kind) {
    case 'token':
      return {
        ...withoutWaits(free, outcome.token.credentialVersion, outcome.key),
        token: outcome.token,
        pause: undefined,
      };
    case 'proven':
      return withoutWaits(free, outcome.version, outcome.key);
    case 'paused':
      return { ...free, pause: outcome.pause };
    case 'held': {
      const recent = [...record.held].filter(([, { until }]) => outcome.at - until <= KEPT_HOLD_MS);
      return { ...free, held: new Map(recent).set(outcome.key, outcome.hold) };
    }
  }
}

/** The record without its token: the secret is gone, or no longer names the service. Only where no lease lives. */
export function withdrawn(record: PairRecord): PairRecord {
  return { ...record, lease: undefined, token: undefined };
}

/** The record as an operator wants it: every version may be sent again, at once. */
export function cleared(record: PairRecord): PairRecord {
  return { ...record, rejected: new Map(), held: new Map(), pause: undefined };
}

/** A rejection counts under any lease, because the service has counted it too; once per lease, because a write may be repeated. */
function withRejection(
  record: PairRecord,
  id: string,
  { version, at, gone }: Outcome & { kind: 'rejected' },
): PairRecord {
  const latch = record.rejected.get(version);
  const isTold = latch?.by === id;
  if (isTold && latch.at === at) return record;
  const next = isTold ? { ...latch, at } : counted(latch, id, at);
  return { ...record, rejected: without(new Map(record.rejected).set(version, next), gone) };
}

/** A version that has worked is neither latched nor held any longer. */
function withoutWaits(record: PairRecord, version: string, key: string): PairRecord {
  return { ...record, rejected: without(record.rejected, [version]), held: without(record.held, [key]) };
}

function counted(latch: Rejection | undefined, by: string, at: number): Rejection {
  return { count: (latch?.count ?? 0) + 1, at, by };
}

function without<Value>(entries: ReadonlyMap<string, Value>, keys: readonly string[]): ReadonlyMap<string, Value> {
  if (!keys.some((key) => entries.has(key))) return entries;
  return new Map([...entries].filter(([key]) => !keys.includes(key)));
}

/** A hold that ended so long ago begins anew at its next one. */
const KEPT_HOLD_MS = 24 * 60 * 60_000;
