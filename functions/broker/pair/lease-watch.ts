import type { PairRecord } from './record.ts';

/** What one call sees of the others' leases, on its own clock. */
export interface LeaseWatch {
  see(record: PairRecord): void;
  /** Nobody else holds the lease, or it has been watched for its whole length under one fence. */
  isOver(record: PairRecord): boolean;
  /** The record still names a holder, but whoever that is has had a whole lease. */
  isOutwaited(record: PairRecord): boolean;
  /** How long a lease that was seen alive can still be: waiting goes on even when the store cannot be asked. */
  remainingMs(): number;
}

export function createLeaseWatch(owner: string, leaseMs: number, now: () => number): LeaseWatch {
  let fence = -1;
  let since = 0;
  let until = -Infinity;

  const isLive = (record: PairRecord) => record.leaseOwner !== owner && now() < record.leaseUntil;
  const isOutwaited = (record: PairRecord) => record.fence === fence && now() - since >= leaseMs;

  return {
    see(record) {
      if (!isLive(record)) return;
      if (record.fence !== fence) {
        fence = record.fence;
        since = now();
      }
      until = Math.min(record.leaseUntil, since + leaseMs);
    },
    isOver: (record) => !isLive(record) || isOutwaited(record),
    isOutwaited,
    remainingMs: () => Math.max(0, until - now()),
  };
}
