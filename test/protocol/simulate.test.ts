import { describe, expect, it } from 'vitest';
import type { Way } from '../../bench/day/world.ts';
import { simulated } from '../support/fleet/example-day.ts';

// A busy machine needs minutes for a day.
describe('a simulated fleet', { timeout: 3_600_000 }, () => {
  it.each(['broker', 'memory-only'] as const)('gives the recorded result with a fixed seed: %s', async (way) => {
    expect(await simulated(way)).toMatchObject(RECORDED[way]);
  });

  it('makes no more token requests with a thousand instances than with one; by memory alone it does', async () => {
    const requests = async (way: Way, instances: number) => {
      const { tokenRequests } = await simulated(way, { instances, calm: true, hours: 6 });
      return tokenRequests.all - tokenRequests.ofChecks;
    };
    expect((await requests('broker', 1_000)) / (await requests('broker', 1))).toBeLessThan(1.05);
    expect((await requests('memory-only', 1_000)) / (await requests('memory-only', 1))).toBeGreaterThan(3);
  });
});

/** A change of the rules that moves these numbers moves a real fleet's, too: look at them before recording new ones. */
const RECORDED = {
  broker: {
    tokensIssued: 12735,
    problems: { all: 0, toCallersWithoutToken: 0 },
    slo: { calls: 12735, missed: 29, answeredPercent: 99.77 },
    tokenRequests: { all: 2354, ofChecks: 489, failedAttempts: 30, rejected: 0, needless: 0 },
    dynamodb: { reads: 15218, writes: 4720 },
    secretsManagerReads: 4277,
    function: { invocations: 15135, checks: 2400, coldStarts: 2181 },
  },
  'memory-only': {
    tokensIssued: 11731,
    problems: { all: 520, toCallersWithoutToken: 109 },
    slo: { calls: 12251, missed: 522, answeredPercent: 95.74 },
    tokenRequests: { all: 14367, ofChecks: 2348, failedAttempts: 523, rejected: 0, needless: 0 },
    secretsManagerReads: 14419,
  },
};
