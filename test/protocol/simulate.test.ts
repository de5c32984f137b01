import { describe, expect, it } from 'vitest';
import { type Outcome, outcomeOf } from '../../bench/fleet/outcome.ts';
import { simulateWay, WAYS, type Way } from '../../bench/fleet/simulate-way.ts';
import type { Scale } from '../../bench/fleet/world.ts';

describe('a simulated fleet', () => {
  it.each(WAYS)('gives the recorded result with a fixed seed: %s', async (way) => {
    expect(await simulated(way)).toMatchObject(RECORDED[way]);
  });

  it.each([1, 2, 3])('never makes a needless token request while nothing fails (seed %d)', async (seed) => {
    const { problems, tokenRequests, goal } = await simulated('broker', { seed, calm: true });
    expect({ problems: problems.all, needless: tokenRequests.needless }).toEqual({ problems: 0, needless: 0 });
    expect(goal).toMatchObject({ met: true });
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
  const scale: Scale = { instances: 200, pairs: 100, hours: 24, seed: 25, calm: false, ...changes };
  return outcomeOf(way, scale, await simulateWay(way, scale));
}

/** A change of the rules that moves these numbers moves a real fleet's, too: look at them before recording new ones. */
const RECORDED: Readonly<Record<Way, Partial<Outcome>>> = {
  broker: {
    tokensIssued: 14479,
    problems: { all: 0, toCallersWithoutToken: 0 },
    waitMs: { p50: 5.86, p99: 489.28, max: 1029.81 },
    tokenRequests: { all: 2320, ofChecks: 507, failedAttempts: 3, rejected: 4, needless: 3 },
    dynamodb: { reads: 16968, writes: 4648 },
    secretsManagerReads: 4239,
    function: { invocations: 16885, checks: 2406, memoryHits: 67, coldStarts: 2244, throttled: 0, crashes: 0 },
    goal: { tokenRequests: 2320, atMost: 2703, met: true },
  },
  'memory-only': {
    tokensIssued: 12761,
    problems: { all: 204, toCallersWithoutToken: 44 },
    waitMs: { p50: 183.26, p99: 635.55, max: 59216.68 },
    tokenRequests: { all: 14909, ofChecks: 2353, failedAttempts: 510, rejected: 31, needless: 0 },
    secretsManagerReads: 14992,
  },
  'no-broker': {
    tokensIssued: 12550,
    problems: { all: 100, toCallersWithoutToken: 70 },
    waitMs: { p50: 155.52, p99: 487.93, max: 1925773.5 },
    tokenRequests: { all: 12650, ofChecks: 0, failedAttempts: 45, rejected: 55, needless: 0 },
    secretsManagerReads: 3597,
  },
};
