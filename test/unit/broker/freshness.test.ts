import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hardMarginMs, isIssuable, refreshAt } from '../../../functions/broker/pair/freshness.ts';
import { START } from '../../support/example.ts';

const SECOND_MS = 1_000;
const lifetimes = fc.integer({ min: 1, max: 48 * 3_600 * SECOND_MS });
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('the hard margin', () => {
  it.each([
    [10, 2],
    [100, 20],
    [150, 30],
    [3_600, 30],
    [48 * 3_600, 30],
  ])('of %i s is %i s: a fifth, at most half a minute', (lifetime, margin) => {
    expect(hardMarginMs(lifetime * SECOND_MS)).toBe(margin * SECOND_MS);
  });
});

it.each([
  ['half a minute', 30 * SECOND_MS, true],
  ['more than half a minute', 30 * SECOND_MS + 1, false],
])('a token from a clock that is ahead by %s may be issued: %s ms, %s', (_, aheadMs, isIssued) => {
  const issuedAt = START + aheadMs;
  const life = { issuedAt, expiresAt: issuedAt + 3_600 * SECOND_MS, lifetimeSeenMs: 3_600 * SECOND_MS };
  expect(isIssuable(life, START)).toBe(isIssued);
});

describe('the soft window', () => {
  const windowOf = (lifetime: number, random: number) =>
    (START - refreshAt({ expiresAt: START, lifetimeSeenMs: lifetime * SECOND_MS }, random)) / SECOND_MS;

  it.each([
    // Twice the hard margin, at most half of the life time.
    [10, 3.6, 4, 4.4],
    [100, 36, 40, 44],
    // The last fifth.
    [3_600, 648, 720, 792],
    [86_400, 15_552, 17_280, 19_008],
  ])('of a life of %i s is %d to %d s long, %d s in the middle', (lifetime, shortest, middle, longest) => {
    expect(windowOf(lifetime, 0)).toBeCloseTo(shortest, 6);
    expect(windowOf(lifetime, 0.5)).toBeCloseTo(middle, 6);
    expect(windowOf(lifetime, 1)).toBeCloseTo(longest, 6);
  });

  it('always begins before the hard margin, and never in the first half of the life', () => {
    const property = fc.property(lifetimes, randoms, (lifetimeSeenMs, random) => {
      const at = refreshAt({ expiresAt: START, lifetimeSeenMs }, random);
      expect(at).toBeLessThan(START - hardMarginMs(lifetimeSeenMs));
      expect(at).toBeGreaterThanOrEqual(START - lifetimeSeenMs / 2);
    });
    fc.assert(property, { seed: 1 });
  });
});
