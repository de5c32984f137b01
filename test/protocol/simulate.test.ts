import { describe, expect, it } from 'vitest';
import { goalOf, type Scale, simulateDay, type Way } from '../../bench/day.ts';

// A busy machine needs minutes for a day.
describe('a simulated fleet', { timeout: 3_600_000 }, () => {
  it('has the recorded result with a fixed seed', async () => {
    const day = await simulated('broker');
    expect(day).toMatchObject(RECORDED);
    expect(day.tokenRequests).toBeLessThanOrEqual(goalOf(day));
  });

  it('makes no more token requests with a thousand instances than with one, but does by memory alone', async () => {
    const requests = async (way: Way, instances: number) =>
      (await simulated(way, { instances, pairs: 20, hours: 6 })).tokenRequests;
    expect((await requests('broker', 1_000)) / (await requests('broker', 1))).toBeLessThan(1.05);
    expect((await requests('memory-only', 1_000)) / (await requests('memory-only', 1))).toBeGreaterThan(3);
  });
});

/** A day of 200 instances and 100 pairs, but for the changes. */
function simulated(way: Way, changes: Partial<Scale> = {}) {
  return simulateDay(way, { instances: 200, pairs: 100, hours: 24, seed: 25, ...changes });
}

/** A change of the rules that moves these numbers moves a real fleet's, too: look at them before recording new ones. */
const RECORDED = {
  tokensIssued: 11099,
  problemsWithoutToken: 0,
  slo: { calls: 11099, missed: 20 },
  tokenRequests: 2230,
  reads: 11237,
  writes: 4469,
  secretReads: 2239,
  invocations: 11099,
};
