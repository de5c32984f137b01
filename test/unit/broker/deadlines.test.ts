import { expect, it } from 'vitest';
import {
  answerEnd,
  callDeadline,
  lastWriteEnd,
  leaseMs,
  MIN_REQUEST_MS,
  RENEWAL_MS,
  requestEnd,
  writeEnd,
} from '../../../functions/broker/pair/deadlines.ts';

const LAMBDA_MS = 15_000;
/** What the settings allow at most. */
const LONGEST_REQUEST_MS = 6_000;
/** One read or write of the table, or one read of a secret. */
const STEP_MS = 1_000;

const deadline = callDeadline(0, LAMBDA_MS);

it('all limits of a call follow one another within the time of Lambda', () => {
  const line = [0, deadline, lastWriteEnd(deadline), answerEnd(deadline), LAMBDA_MS];
  expect(line).toEqual([0, 14_500, 14_700, 14_750, 15_000]);
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
    expect(end - STEP_MS / 3).toBeGreaterThan(requestTimeoutMs);
    expect(writeEnd(until, deadline)).toBe(until - 500);
    expect(writeEnd(until, deadline) - end).toBe(150);
  },
);

it('a request late in a call ends with the call, and its outcome is still written', () => {
  const until = 13_000 + leaseMs({ requestTimeoutMs: 4_000 });
  expect(requestEnd(until, deadline)).toBe(deadline);
  expect(writeEnd(until, deadline)).toBe(lastWriteEnd(deadline));
});

it('a renewal leaves its caller time for the token that still lives', () => {
  expect(RENEWAL_MS).toBeGreaterThan(MIN_REQUEST_MS);
  expect(RENEWAL_MS + 3 * STEP_MS).toBeLessThan(deadline);
});
