import { describe, expect, it } from 'vitest';
import { simulateDay } from '../support/fleet/day/day.ts';
import type { Outcome } from '../support/fleet/day/outcome.ts';
import { type Scale, WAYS, type Way } from '../support/fleet/day/world.ts';

describe('a simulated fleet', () => {
  it.each(WAYS)('gives the recorded result with a fixed seed: %s', async (way) => {
    expect(await simulated(way)).toMatchObject(RECORDED[way]);
  });

  it.each([1, 2, 3])('never makes a needless token request while nothing fails (seed %d)', async (seed) => {
    const { problems, tokenRequests, goal } = await simulated('broker', { seed, calm: true });
    expect({ problems: problems.all, needless: tokenRequests.needless }).toEqual({ problems: 0, needless: 0 });
    expect(goal).toMatchObject({ met: true });
  });

  it.each([1, 2, 3])('keeps every promise of a pair on a day on which all goes wrong (seed %d)', async (seed) => {
    const { tokensIssued, tokenRequests } = await simulated('broker', { seed, pairs: 40, faults: true });
    expect(tokensIssued).toBeGreaterThan(4_000);
    expect(tokenRequests.rejected).toBeGreaterThan(0);
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

function simulated(way: Way, changes: Partial<Scale> = {}): Promise<Outcome> {
  return simulateDay(way, { instances: 200, pairs: 100, hours: 24, seed: 25, calm: false, faults: false, ...changes });
}

/** A change of the rules that moves these numbers moves a real fleet's, too: look at them before recording new ones. */
const RECORDED: Readonly<Record<Way, Partial<Outcome>>> = {
  broker: {
    tokensIssued: 12792,
    problems: { all: 0, toCallersWithoutToken: 0 },
    waitMs: { p50: 6.04, p99: 545.93, max: 1031.19 },
    tokenRequests: { all: 2326, ofChecks: 489, failedAttempts: 6, rejected: 0, needless: 1 },
    dynamodb: { reads: 15295, writes: 4664 },
    secretsManagerReads: 4252,
    answersFrom: { memory: 55, shared: 10901, none: 1836 },
    function: { invocations: 15192, checks: 2400, coldStarts: 2169 },
    goal: { tokenRequests: 2326, atMost: 2690, met: true },
  },
  'memory-only': {
    tokensIssued: 11697,
    problems: { all: 1166, toCallersWithoutToken: 137 },
    tokenRequests: { all: 14978, ofChecks: 2359, failedAttempts: 1181, rejected: 0, needless: 0 },
    secretsManagerReads: 15019,
  },
  'no-broker': {
    tokensIssued: 11611,
    problems: { all: 935, toCallersWithoutToken: 139 },
    tokenRequests: { all: 12545, ofChecks: 0, failedAttempts: 934, rejected: 0, needless: 0 },
    secretsManagerReads: 12546,
  },
};
