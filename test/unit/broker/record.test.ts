import { describe, expect, it } from 'vitest';
import { capTimes, EMPTY_RECORD, pastTime } from '../../../functions/broker/pair/record.ts';
import { START } from '../../support/example.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const problem = { type: 'token-endpoint-unavailable', detail: 'down' } as const;

describe('a time that another clock wrote', () => {
  const read = (at: number) => {
    const rejected = new Map([['v1', { count: 2, at, fence: 1 }]]);
    const checked = { version: 'v2', at, finding: 'accepted' } as const;
    const record = capTimes({ ...EMPTY_RECORD, attemptedAt: at, forcedAt: at, rejected, checked }, START);
    const { attemptedAt, forcedAt, rejected: latches } = record;
    return { attemptedAt, forcedAt, latch: latches.get('v1'), checked: record.checked };
  };

  it.each([
    ['that is past stays', -1, START - 1],
    ['that is now stays', 0, START],
    ['that is ahead is now', 1, START],
    ['that is an hour ahead is now', HOUR_MS, START],
    ['that is further ahead than any clock goes wrong counts for nothing', HOUR_MS + 1, 0],
  ])('%s', (_, aheadMs, at) => {
    expect(read(START + aheadMs)).toEqual({
      attemptedAt: at,
      forcedAt: at,
      latch: { count: 2, at, fence: 1 },
      checked: { version: 'v2', at, finding: 'accepted' },
    });
    expect(pastTime(START + aheadMs, START)).toBe(at);
  });
});

describe.each([
  ['a pause', 5 * MINUTE_MS],
  ['a hold', HOUR_MS],
])('%s that another clock wrote', (name, longestMs) => {
  const read = (until: number) => {
    const wait = { until, step: 3, problem };
    const { pause, held } = capTimes({ ...EMPTY_RECORD, pause: wait, held: new Map([['key', wait]]) }, START);
    return name === 'a pause' ? pause : held.get('key');
  };

  it.each([
    ['that has ended stays', -1, -1],
    ['is as long as it says up to the longest', longestMs, longestMs],
    ['is no longer than that', longestMs + 1, longestMs],
    ['is no longer than that with a clock that is an hour ahead', HOUR_MS + longestMs, longestMs],
  ])('%s', (_, aheadMs, lengthMs) => {
    expect(read(START + aheadMs)).toEqual({ until: START + lengthMs, step: 3, problem });
  });

  it('is over when it lies further ahead', () => {
    expect(read(START + HOUR_MS + longestMs + 1)?.until).toBeLessThan(START);
  });
});
