import type { Service } from '../service.ts';
import { MAX_CLOCK_DIFFERENCE_MS, type PairRecord } from './record.ts';

/*
 * The time line of one call. Lambda allows 15 s. Moments are epoch milliseconds.
 *
 * ```
 *   0 s        the call arrives
 *   │ ≤ 0.5 s  the record is read, and another call's lease is waited for, once
 *   │ ≤ 1 s    the secret is read
 *   │ ≤ 0.5 s  the lease is taken, for `leaseMs`: requestTimeoutMs + 2 s
 *   │ ≤ 1 s      the secret is read again, if it was read before the call began
 *   │            the token request: at most requestTimeoutMs, and not beyond `requestEnd`
 *   │            the record is written: from `requestEnd` to `writeEnd` at the latest
 *   │            0.5 s before the lease ends for clocks that differ
 *   14.5 s     `callDeadline`: no step begins after it
 *   14.7 s     `lastWriteEnd`: the outcome of a token request is written, even if the request took all the time
 *   15 s       Lambda ends the invocation
 * ```
 */

export const callDeadline = (now: number, remainingMs: number) => now + remainingMs - ANSWER_RESERVE_MS;
export const lastWriteEnd = (deadline: number) => deadline + LAST_WRITE_MS;

export const leaseMs = ({ requestTimeoutMs }: Pick<Service, 'requestTimeoutMs'>) => requestTimeoutMs + LEASE_RESERVE_MS;
export const requestEnd = (leaseUntil: number, deadline: number) =>
  Math.min(deadline, leaseUntil - CLOCK_RESERVE_MS - PUBLISH_MS);
export const writeEnd = (leaseUntil: number, deadline: number) =>
  Math.min(lastWriteEnd(deadline), leaseUntil - CLOCK_RESERVE_MS);

/**
 * Watches the lease of another call on the own clock. The lease's `until` only shortens the watch. Returns
 * `undefined` for an `until` that no correct clock can have written.
 */
export function watch(
  before: { readonly id: string; readonly since: number } | undefined,
  lease: PairRecord['lease'],
  lengthMs: number,
  now: number,
) {
  if (lease === undefined || lease.until > now + lengthMs + MAX_CLOCK_DIFFERENCE_MS) return undefined;
  const since = before?.id === lease.id ? before.since : now;
  return { id: lease.id, since, until: Math.min(lease.until, since + lengthMs) };
}

/** The shortest time for a token request. With less, it would be sent and its answer not awaited. */
export const MIN_REQUEST_MS = 250;

/** The longest wait of a caller that renews a living token, before it receives the living token. */
export const RENEWAL_MS = 1_000;

const ANSWER_RESERVE_MS = 500;
const LAST_WRITE_MS = 200;
const LEASE_RESERVE_MS = 2_000;
const CLOCK_RESERVE_MS = 500;
const PUBLISH_MS = 150;
