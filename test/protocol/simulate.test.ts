import { describe, expect, it } from 'vitest';
import { simulateDay } from '../support/fleet/day/day.ts';
import { type Outcome, outcomeOf } from '../support/fleet/day/outcome.ts';
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

async function simulated(way: Way, changes: Partial<Scale> = {}): Promise<Outcome> {
  const scale: Scale = { instances: 200, pairs: 100, hours: 24, seed: 25, calm: false, faults: false, ...changes };
  return outcomeOf(way, scale, await simulateDay(way, scale));
}

/** A change of the rules that moves these numbers moves a real fleet's, too: look at them before recording new ones. */
const RECORDED: Readonly<Record<Way, Partial<Outcome>>> = {
  broker: {
    tokensIssued: 14364,
    problems: { all: 5, toCallersWithoutToken: 5 },
    waitMs: { p50: 5.84, p99: 470.47, max: 5137.97 },
    tokenRequests: { all: 2325, ofChecks: 504, failedAttempts: 2, rejected: 4, needless: 3 },
    dynamodb: { reads: 16890, writes: 4661 },
    secretsManagerReads: 4253,
    function: { invocations: 16775, checks: 2406, memoryHits: 53, coldStarts: 2248, throttled: 0, crashes: 0 },
    goal: { tokenRequests: 2325, atMost: 2702, met: true },
  },
  'memory-only': {
    tokensIssued: 12677,
    problems: { all: 166, toCallersWithoutToken: 43 },
    waitMs: { p50: 183.47, p99: 636.18, max: 20175.8 },
    tokenRequests: { all: 14871, ofChecks: 2358, failedAttempts: 171, rejected: 45, needless: 0 },
    secretsManagerReads: 14965,
  },
  'no-broker': {
    tokensIssued: 12542,
    problems: { all: 142, toCallersWithoutToken: 89 },
    waitMs: { p50: 153.77, p99: 483.48, max: 1926321.76 },
    tokenRequests: { all: 12684, ofChecks: 0, failedAttempts: 66, rejected: 76, needless: 0 },
    secretsManagerReads: 3682,
  },
};
