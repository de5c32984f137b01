import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exchange } from '../../../support/broker-world.ts';
import { MINUTE_MS, SECOND_MS } from '../../../support/example.ts';
import { createFleet } from '../../../support/fleet/fleet.ts';

type Fleet = ReturnType<typeof createFleet>;

/** Stories of three instances with clocks up to so far off, and who asks after how many milliseconds. */
function stories(skewMs: number, maxGapMs: number) {
  const skew = fc.integer({ min: -skewMs, max: skewMs });
  const ask = fc.record({ who: fc.nat(2), afterMs: fc.nat(maxGapMs) });
  return fc.record({ skews: fc.tuple(skew, skew, skew), asks: fc.array(ask, { minLength: 5, maxLength: 40 }) });
}

/** Tells the story, and what each call was given, at the true time. */
async function tell(
  fleet: Fleet,
  { skews, asks }: { skews: readonly number[]; asks: readonly { who: number; afterMs: number }[] },
  given: (token: string | undefined) => void = () => undefined,
) {
  const instances = skews.map((skewMs) => fleet.createInstance({ skewMs }));
  for (const { who, afterMs } of asks) {
    await fleet.clock.advance(afterMs);
    const issue = await fleet.clock.run(instances[who]?.issue().catch(() => undefined) ?? Promise.resolve(undefined));
    given(issue?.token.accessToken.reveal());
  }
}

describe('instances whose clocks are at most 30 s off', () => {
  const assert = (skewMs: number, maxGapMs: number, promise: (story: Parameters<typeof tell>[1]) => Promise<void>) =>
    fc.assert(fc.asyncProperty(stories(skewMs, maxGapMs), promise), { seed: 1, numRuns: 60 });

  it('send a version that is rejected three times at most, whose chances are due as if their clocks were right', async () => {
    await assert(30 * SECOND_MS, 30 * MINUTE_MS, async (story) => {
      const fleet = createFleet({ accepted: new Set() });
      await tell(fleet, story);
      const [first, second, third] = fleet.requests.map(({ at }) => at);

      expect(fleet.requests.length).toBeLessThanOrEqual(3);
      if (first && second) expect(second - first).toBeGreaterThanOrEqual(14 * MINUTE_MS);
      if (second && third) expect(third - second).toBeGreaterThanOrEqual(119 * MINUTE_MS);
    });
  });

  it('issue no token that has expired, when their clocks differ by less than the hard margin', async () => {
    // The hard margin of two minutes is 24 s.
    await assert(11 * SECOND_MS, 40 * SECOND_MS, async (story) => {
      // Most renewals fail, so that tokens come close to their end.
      const fleet = createFleet({ lifetimeSeconds: 120, answer: (n) => (n % 5 === 1 ? undefined : exchange(503, {})) });
      const startedAt = (token: string) => fleet.requests[Number(token.replace('token-', '')) - 1]?.at ?? 0;
      await tell(fleet, story, (token) => {
        if (token === undefined) return;
        expect(fleet.clock.now() - startedAt(token)).toBeLessThan(120 * SECOND_MS);
      });
    });
  });
});
