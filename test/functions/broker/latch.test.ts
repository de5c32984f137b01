import { describe, expect, it } from 'vitest';
import { isLatched } from '../../../functions/broker/pair/latch.ts';
import { START } from '../../support/example.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const latchedAfter = (count: number, ms: number) => isLatched({ count, at: START, fence: 1 }, START + ms);

describe('a secret version', () => {
  it('that was never rejected is not latched', () => {
    expect(isLatched(undefined, START)).toBe(false);
  });

  it.each([
    ['once', 1, 15 * MINUTE_MS],
    ['twice', 2, 120 * MINUTE_MS],
  ])('that was rejected %s has its next chance after the right time', (_, count, delayMs) => {
    expect(latchedAfter(count, 0)).toBe(true);
    expect(latchedAfter(count, delayMs - 1)).toBe(true);
    expect(latchedAfter(count, delayMs)).toBe(false);
  });

  it.each([3, 4, 100])('that was rejected %i times has none', (count) => {
    expect(latchedAfter(count, 365 * DAY_MS)).toBe(true);
  });
});
