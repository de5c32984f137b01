import { describe, expect, it } from 'vitest';
import { simulated } from '../support/fleet/example-day.ts';

// A busy machine needs minutes for a day.
describe('a day of a simulated fleet', { timeout: 3_600_000 }, () => {
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
});
