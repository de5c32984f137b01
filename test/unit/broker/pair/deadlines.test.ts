import { expect, it } from 'vitest';
import {
  callDeadline,
  lastWriteEnd,
  leaseMs,
  MIN_REQUEST_MS,
  RENEWAL_MS,
  requestEnd,
  watch,
  writeEnd,
} from '../../../../functions/broker/pair/deadlines.ts';

/** What the settings allow at most. */
const LONGEST_REQUEST_MS = 6_000;
const deadline = callDeadline(0, 15_000);

it('all limits of a call follow one another within the 15 s of Lambda', () => {
  expect([deadline, lastWriteEnd(deadline)]).toEqual([14_500, 14_700]);
});

it('a call that waits for the longest lease to end still has the time for a request of its own', () => {
  const lease = leaseMs({ requestTimeoutMs: LONGEST_REQUEST_MS });
  expect(lease).toBe(8_000);
  expect(deadline - lease).toBeGreaterThan(LONGEST_REQUEST_MS);
});

it.each([4_000, LONGEST_REQUEST_MS])(
  'reading the secret, a request of %i ms and its publication end half a second before the lease',
  (requestTimeoutMs) => {
    const until = leaseMs({ requestTimeoutMs });
    const end = requestEnd(until, deadline);
    expect(end).toBeGreaterThan(requestTimeoutMs + 1_000 / 3);
    expect([writeEnd(until, deadline), writeEnd(until, deadline) - end]).toEqual([until - 500, 150]);
  },
);

it('a request late in a call ends with the call, and its outcome is still written', () => {
  const until = 13_000 + leaseMs({ requestTimeoutMs: 4_000 });
  expect([requestEnd(until, deadline), writeEnd(until, deadline)]).toEqual([deadline, lastWriteEnd(deadline)]);
});

it('a renewal is long enough to be sent', () => expect(RENEWAL_MS).toBeGreaterThan(MIN_REQUEST_MS));

it('the lease of another call is watched for its length, and each lease anew', () => {
  const leaseOf = (id: string) => ({ id, until: 50_000 });
  const first = watch(undefined, leaseOf('first'), 6_000, 0);
  const untils = ['first', 'second'].map((id) => watch(first, leaseOf(id), 6_000, 1_000)?.until);
  expect([first?.until, ...untils]).toEqual([6_000, 6_000, 7_000]);
});
