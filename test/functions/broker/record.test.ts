import { describe, expect, it } from 'vitest';
import { capTimes, EMPTY_RECORD, type PairRecord } from '../../../functions/broker/pair/record.ts';
import { START } from '../../support/example.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const problem = { type: 'token-endpoint-unavailable', detail: 'down' } as const;

describe('a time that another clock wrote', () => {
  const read = (at: number) => {
    const rejected = new Map([['v1', { count: 2, at, fence: 1 }]]);
    const {
      attemptedAt,
      forcedAt,
      rejected: latches,
    } = capTimes({ ...EMPTY_RECORD, attemptedAt: at, forcedAt: at, rejected }, START);
    return { attemptedAt, forcedAt, latch: latches.get('v1') };
  };

  it.each([
    ['that is past stays', -1, START - 1],
    ['that is now stays', 0, START],
    ['that is ahead is now', 1, START],
    ['that is an hour ahead is now', HOUR_MS, START],
    ['that is further ahead than any clock goes wrong counts for nothing', HOUR_MS + 1, 0],
  ])('%s', (_, aheadMs, at) => {
    expect(read(START + aheadMs)).toEqual({ attemptedAt: at, forcedAt: at, latch: { count: 2, at, fence: 1 } });
  });
});

describe('a pause that another clock wrote', () => {
  const read = (until: number) => capTimes({ ...EMPTY_RECORD, pause: { until, step: 3, problem } }, START).pause;

  it.each([
    ['is as long as it says up to five minutes', 5 * MINUTE_MS, 5 * MINUTE_MS],
    ['is no longer than that', 5 * MINUTE_MS + 1, 5 * MINUTE_MS],
    ['is no longer than that with a clock that is an hour ahead', HOUR_MS + 5 * MINUTE_MS, 5 * MINUTE_MS],
  ])('%s', (_, aheadMs, lengthMs) => {
    expect(read(START + aheadMs)).toEqual({ until: START + lengthMs, step: 3, problem });
  });

  it('is none when it lies further ahead', () => {
    expect(read(START + HOUR_MS + 5 * MINUTE_MS + 1)).toBeUndefined();
  });
});

it('leaves a lease as it is: whoever meets it watches it for its own length', () => {
  const lease: Partial<PairRecord> = { fence: 3, leaseOwner: 'another', leaseUntil: START + 10 * HOUR_MS };

  expect(capTimes({ ...EMPTY_RECORD, ...lease }, START)).toMatchObject(lease);
});
