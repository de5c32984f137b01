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
    tokensIssued: 14414,
    problems: { all: 0, toCallersWithoutToken: 0 },
    waitMs: { p50: 5.93, p99: 479.25, max: 1033.06 },
    tokenRequests: { all: 2336, ofChecks: 520, failedAttempts: 3, rejected: 4, needless: 4 },
    dynamodb: { reads: 16887, writes: 4675 },
    secretsManagerReads: 4237,
    function: { invocations: 16820, checks: 2406, memoryHits: 80, coldStarts: 2329, throttled: 0, crashes: 0 },
    goal: { tokenRequests: 2336, atMost: 2712, met: true },
  },
  'memory-only': {
    tokensIssued: 12722,
    problems: { all: 178, toCallersWithoutToken: 43 },
    waitMs: { p50: 183.44, p99: 635.13, max: 59216.68 },
    tokenRequests: { all: 14887, ofChecks: 2353, failedAttempts: 483, rejected: 32, needless: 0 },
    secretsManagerReads: 14973,
  },
  'no-broker': {
    tokensIssued: 12550,
    problems: { all: 100, toCallersWithoutToken: 70 },
    waitMs: { p50: 155.52, p99: 487.93, max: 1925773.5 },
    tokenRequests: { all: 12650, ofChecks: 0, failedAttempts: 45, rejected: 55, needless: 0 },
    secretsManagerReads: 3597,
  },
};
