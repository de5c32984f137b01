import type { PairRecord } from './record.ts';
import { MAX_CLOCK_DIFFERENCE_MS } from './record.ts';

type Lease = PairRecord['lease'];

export type LeaseWatch = ReturnType<typeof createLeaseWatch>;

/** One call's sight of the leases of others, on its own clock. A lease's `until` only saves watching it to its end. */
export function createLeaseWatch(lengthMs: number, now: () => number) {
  let watched: string | undefined;
  let since = 0;
  let until = -Infinity;

  const isLive = (lease: Lease) =>
    lease !== undefined && now() < lease.until && lease.until <= now() + lengthMs + MAX_CLOCK_DIFFERENCE_MS;

  return {
    see(lease: Lease): void {
      if (lease !== undefined && lease.id !== watched) [watched, since] = [lease.id, now()];
      until = lease !== undefined && isLive(lease) ? Math.min(lease.until, since + lengthMs) : -Infinity;
    },
    /** No other call can hold it: there is none, its time is over, or it was watched for its whole length. */
    isOver: (lease: Lease) => !isLive(lease) || (lease?.id === watched && now() - since >= lengthMs),
    /** How long a lease that was alive when last seen can still be: waiting goes on even when the store cannot be asked. */
    remainingMs: () => Math.max(0, until - now()),
  };
}
