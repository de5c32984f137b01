import { describe, expect, it } from 'vitest';
import { simulateDay } from '../../bench/day/day.ts';
import { goalOf } from '../../bench/day/table.ts';
import type { Scale, Way } from '../../bench/day/world.ts';

// A busy machine needs minutes for a day.
describe('a simulated fleet', { timeout: 3_600_000 }, () => {
  it.each(['broker', 'memory-only'] as const)('has the recorded result with a fixed seed: %s', async (way) => {
    expect(await simulated(way)).toMatchObject(RECORDED[way]);
  });

  it('makes no more token requests with a thousand instances than with one, but does by memory alone', async () => {
    const requests = async (way: Way, instances: number) => {
      const { tokenRequests } = await simulated(way, { instances, calm: true, hours: 6 });
      return tokenRequests.all - tokenRequests.ofChecks;
    };
    expect((await requests('broker', 1_000)) / (await requests('broker', 1))).toBeLessThan(1.05);
    expect((await requests('memory-only', 1_000)) / (await requests('memory-only', 1))).toBeGreaterThan(3);
  });

  it('never makes a needless token request on a day on which nothing fails', async () => {
    const day = await simulated('broker', { seed: 1, calm: true });
    const { problems, tokenRequests } = day;
    expect({ problems: problems.all, needless: tokenRequests.needless }).toEqual({ problems: 0, needless: 0 });
    expect(tokenRequests.all).toBeLessThanOrEqual(goalOf(day));
  });

  it('keeps every promise of a pair on a day on which all goes wrong', async () => {
    const { tokensIssued, tokenRequests } = await simulated('broker', { seed: 1, pairs: 40, faults: true });
    expect(tokensIssued).toBeGreaterThan(4_000);
    expect(tokenRequests.rejected).toBeGreaterThan(0);
  });
});

/** A day of 200 instances and 100 pairs, but for the changes. */
function simulated(way: Way, changes: Partial<Scale> = {}) {
  return simulateDay(way, { instances: 200, pairs: 100, hours: 24, seed: 25, calm: false, faults: false, ...changes });
}

/** A change of the rules that moves these numbers moves a real fleet's, too: look at them before recording new ones. */
const RECORDED = {
  broker: {
    tokensIssued: 12735,
    problems: { all: 0, toCallersWithoutToken: 0 },
    slo: { calls: 12735, missed: 29 },
    tokenRequests: { all: 2354, ofChecks: 489, failedAttempts: 30, rejected: 0, needless: 0 },
    dynamodb: { reads: 15218, writes: 4720 },
    secretsManagerReads: 4277,
    function: { invocations: 15135, checks: 2400, coldStarts: 2181 },
  },
  'memory-only': {
    tokensIssued: 11731,
    problems: { all: 520, toCallersWithoutToken: 109 },
    slo: { calls: 12251, missed: 522 },
    tokenRequests: { all: 14367, ofChecks: 2348, failedAttempts: 523, rejected: 0, needless: 0 },
    secretsManagerReads: 14419,
  },
};
