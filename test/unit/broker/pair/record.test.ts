import { describe, expect, it } from 'vitest';
import { refreshAt } from '../../../../functions/broker/pair/obtain-token.ts';
import {
  EMPTY_RECORD,
  isIssuable,
  isLatched,
  isProven,
  type PairRecord,
  withoutFutureTimes,
} from '../../../../functions/broker/pair/record.ts';
import { hardMarginMs } from '../../../../functions/vocabulary.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../../../support/example.ts';
import { closedToken, exampleToken, exampleWait, latches } from '../../../support/pair/pair-examples.ts';

const DAY_MS = 24 * HOUR_MS;

/** A record of which each time is so far ahead, beyond what a right clock can write. */
const recordAhead = (ms: number): PairRecord => ({
  ...EMPTY_RECORD,
  ...{ attemptedAt: START + ms, forcedAt: START + ms, pause: exampleWait(START + HOUR_MS + ms) },
  held: new Map([['key', exampleWait(START + HOUR_MS + ms)]]),
  rejected: latches({ v1: START + ms }, 2),
  token: exampleToken({ issuedAt: START + ms }),
  checked: { version: 'v2', at: START + ms, finding: 'accepted' },
});

describe('a time in a record', () => {
  it('counts up to a minute further ahead than a right clock writes it, because two clocks can be so far off', () => {
    expect(withoutFutureTimes(recordAhead(MINUTE_MS), START)).toEqual(recordAhead(MINUTE_MS));
  });

  it.each([1, DAY_MS])(
    'counts as missing %i ms further ahead, but a rejection still counts, and its chance is due',
    (ms) => {
      const usable = withoutFutureTimes(recordAhead(MINUTE_MS + ms), START);
      expect(usable).toEqual({ ...EMPTY_RECORD, rejected: latches({ v1: 0 }, 2) });
      expect(isLatched(usable.rejected.get('v1'), START)).toBe(false);
    },
  );
});

describe('a secret version', () => {
  const latchedAfter = (count: number, ms: number) => isLatched({ count, at: START, by: 'another' }, START + ms);

  it.each([
    ['once', 1, 15 * MINUTE_MS],
    ['twice', 2, 120 * MINUTE_MS],
  ])('that was rejected %s has its next chance after the right time', (_, count, delayMs) => {
    expect([0, delayMs - 1, delayMs].map((ms) => latchedAfter(count, ms))).toEqual([true, true, false]);
  });

  it.each([3, 4])('that was rejected %i times has none', (count) => {
    expect(latchedAfter(count, 365 * DAY_MS)).toBe(true);
  });

  it.each<[string, Partial<PairRecord>, boolean]>([
    ['with a token of it, living or not', { token: exampleToken({ expiresAt: START }) }, true],
    ['with a token of it that cannot be opened', { token: closedToken() }, true],
    ['that was accepted in a check', { checked: { version: 'v1', at: START, finding: 'accepted' } }, true],
    ['with a token of another one', { token: exampleToken({ credentialVersion: 'v0' }) }, false],
    ['that was checked in vain', { checked: { version: 'v1', at: START, finding: 'unreachable' } }, false],
    ['whose successor was accepted', { checked: { version: 'v2', at: START, finding: 'accepted' } }, false],
  ])('%s is proven: %o', (_, record, expected) => {
    expect(isProven({ ...EMPTY_RECORD, ...record }, 'v1')).toBe(expected);
  });
});

describe('the freshness of a token', () => {
  it.each([
    [10, 2],
    [150, 30],
    [3_600, 30],
  ])('has a hard margin of a fifth, at most half a minute: of %i s %i s', (lifetime, margin) => {
    const [lifetimeSeenMs, marginMs] = [lifetime * SECOND_MS, margin * SECOND_MS];
    expect(hardMarginMs(lifetimeSeenMs)).toBe(marginMs);
    const isIssuableWith = (restMs: number) =>
      isIssuable({ expiresAt: START + restMs, lifetimeSeenMs, refreshAt: 0 }, START);
    expect([isIssuableWith(marginMs), isIssuableWith(marginMs + 1)]).toEqual([false, true]);
  });

  it('has no margin behind the beginning of its soft window, and none that is negative', () => {
    const life = { expiresAt: START + 10_000, lifetimeSeenMs: 3_600 * SECOND_MS };
    const isIssuableAt = (refreshAt: number, restMs: number) =>
      isIssuable({ ...life, refreshAt }, life.expiresAt - restMs);
    expect([isIssuableAt(START + 7_000, 3_001), isIssuableAt(START + 7_000, 3_000)]).toEqual([true, false]);
    expect([isIssuableAt(START + 99_000, 1), isIssuableAt(START + 99_000, 0)]).toEqual([true, false]);
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
});
