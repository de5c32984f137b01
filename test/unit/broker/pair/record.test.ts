import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isIssuable, refreshAt } from '../../../../functions/broker/pair/freshness.ts';
import {
  expiredHolds,
  holdAfter,
  isLatched,
  pauseAfter,
  waitProblem,
} from '../../../../functions/broker/pair/latch-and-pause.ts';
import { capTimes, EMPTY_RECORD, pastTime, type Wait } from '../../../../functions/broker/pair/record.ts';
import { Problem } from '../../../../functions/broker/problem.ts';
import { hardMarginMs } from '../../../../functions/contract.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../../../support/example.ts';
import { exampleWait } from '../../../support/pair/pair-examples.ts';

const DAY_MS = 24 * HOUR_MS;

describe('a time that another clock wrote', () => {
  it.each([
    ['that is past stays', -1, START - 1],
    ['that is ahead is now', 1, START],
    ['that is an hour ahead is now', HOUR_MS, START],
    ['that is further ahead than any clock goes wrong counts for nothing', HOUR_MS + 1, 0],
  ])('%s', (_, aheadMs, at) => {
    const recordAt = (time: number) => {
      const checked = { version: 'v2', at: time, finding: 'accepted' } as const;
      const rejected = new Map([['v1', { count: 2, at: time, fence: 1 }]]);
      return { ...EMPTY_RECORD, attemptedAt: time, forcedAt: time, rejected, checked };
    };
    expect(capTimes(recordAt(START + aheadMs), START)).toEqual(recordAt(at));
    expect(pastTime(START + aheadMs, START)).toBe(at);
  });
});

describe.each([
  ['a pause', 5 * MINUTE_MS],
  ['a hold', HOUR_MS],
])('%s that another clock wrote', (name, longestMs) => {
  it.each([
    ['that has ended stays', -1, -1],
    ['is as long as it says up to the longest', longestMs, longestMs],
    ['is no longer than that', longestMs + 1, longestMs],
    ['is no longer than that with a clock that is an hour ahead', HOUR_MS + longestMs, longestMs],
    ['has ended long ago when it lies further ahead', HOUR_MS + longestMs + 1, longestMs - START],
  ])('%s', (_, aheadMs, lengthMs) => {
    const wait = exampleWait(START + aheadMs);
    const { pause, held } = capTimes({ ...EMPTY_RECORD, pause: wait, held: new Map([['key', wait]]) }, START);
    expect(name === 'a pause' ? pause : held.get('key')).toEqual(exampleWait(START + lengthMs));
  });
});

describe('a secret version', () => {
  const latchedAfter = (count: number, ms: number) => isLatched({ count, at: START, fence: 1 }, START + ms);

  it.each([
    ['once', 1, 15 * MINUTE_MS],
    ['twice', 2, 120 * MINUTE_MS],
  ])('that was rejected %s has its next chance after the right time', (_, count, delayMs) => {
    expect([0, delayMs - 1, delayMs].map((ms) => latchedAfter(count, ms))).toEqual([true, true, false]);
  });

  it.each([3, 4])('that was rejected %i times has none', (count) => {
    expect(latchedAfter(count, 365 * DAY_MS)).toBe(true);
  });
});

describe('the wait after a failed token request', () => {
  const problemWith = (retryAfterSeconds?: number) => new Problem('internal', 'odd', { retryAfterSeconds });
  const secondsOf = ({ until }: Wait) => (until - START) / SECOND_MS;

  it.each([
    ['a pause', pauseAfter, problemWith(), [1, 2, 4, 8, 15, 15], 15],
    ['a hold, for which no Retry-After counts,', holdAfter, problemWith(60), [1, 2, 4, 8, 16, 32], 3_600],
  ])('is %s that doubles from 1 s up to the longest, and stays there', (_, next, problem, seconds, longest) => {
    const waits: Wait[] = [];
    while (waits.length < 1_100) waits.push(next(problem, waits.at(-1), START));

    expect(waits.slice(0, 6).map(secondsOf)).toEqual(seconds);
    expect(waits[11]?.until).toBe(START + Math.min(longest, 2_048) * SECOND_MS);
    expect(waits.at(-1)).toMatchObject({ until: START + longest * SECOND_MS, step: 1_100 });
  });

  it.each([
    [0, 0],
    [300, 300],
    [301, 300],
  ])('is a pause as long as the service asks for with %i s: %i s', (asked, seconds) => {
    expect(secondsOf(pauseAfter(problemWith(asked), exampleWait(0, 'internal', 4), START))).toBe(seconds);
  });

  it('is a hold that may be forgotten when it has been over for more than a day', () => {
    const held = [START - DAY_MS - 1, START - DAY_MS, START + 1].map(
      (until, n) => [`v${n}`, exampleWait(until)] as const,
    );
    expect(expiredHolds(new Map(held), START)).toEqual(['v0']);
  });

  it.each([
    [0, 1],
    [1_000, 1],
    [-9_000, 10],
    [-9_001, 11],
  ])('tells a caller %i ms after its start to come back in %i s, with the problem', (ms, retryAfterSeconds) => {
    const shape = { status: 200, contentType: 'none', bytes: 0, members: [] };
    const problem = new Problem('token-response-unusable', 'odd', { shape, cause: 'a secret' });
    const told = waitProblem(holdAfter(problem, undefined, START), START + ms, 'why');

    expect(told).toBeInstanceOf(Problem);
    const { type, detail } = problem;
    expect(told).toMatchObject({ type, detail, shape, retryAfterSeconds, cause: 'why' });
  });
});

describe('the freshness of a token', () => {
  it.each([
    [10, 2],
    [150, 30],
    [3_600, 30],
  ])('has a hard margin of a fifth, at most half a minute: of %i s %i s', (lifetime, margin) => {
    expect(hardMarginMs(lifetime * SECOND_MS)).toBe(margin * SECOND_MS);
  });

  it.each([
    [30 * SECOND_MS, true],
    [30 * SECOND_MS + 1, false],
  ])('is known when its clock is ahead by %i ms: %s', (aheadMs, isKnown) => {
    const issuedAt = START + aheadMs;
    expect(isIssuable({ issuedAt, expiresAt: issuedAt + HOUR_MS, lifetimeSeenMs: HOUR_MS }, START)).toBe(isKnown);
  });

  it.each([
    // Twice the hard margin, at most half of the life time.
    [10, [3.6, 4, 4.4]],
    // The last fifth.
    [3_600, [648, 720, 792]],
  ])('has a soft window that jitter shortens and lengthens: of %i s %o s', (lifetime, windows) => {
    const life = { expiresAt: START, lifetimeSeenMs: lifetime * SECOND_MS };
    const [shortest = 0, middle = 0, longest = 0] = windows.map((window) => START - window * SECOND_MS);
    expect(refreshAt(life, 0)).toBeCloseTo(shortest, 3);
    expect(refreshAt(life, 0.5)).toBeCloseTo(middle, 3);
    expect(refreshAt(life, 1)).toBeCloseTo(longest, 3);
  });

  it('always has a soft window before its hard margin, and never in the first half of its life', () => {
    const lifetimes = fc.integer({ min: 1, max: 48 * HOUR_MS });
    const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const property = fc.property(lifetimes, randoms, (lifetimeSeenMs, random) => {
      const at = refreshAt({ expiresAt: START, lifetimeSeenMs }, random);
      expect(at).toBeLessThan(START - hardMarginMs(lifetimeSeenMs));
      expect(at).toBeGreaterThanOrEqual(START - lifetimeSeenMs / 2);
    });
    fc.assert(property, { seed: 1 });
  });
});
