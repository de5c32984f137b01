import fc from 'fast-check';
import { expect, it } from 'vitest';
import { exchange } from '../../../support/broker-world.ts';
import { SECOND_MS } from '../../../support/example.ts';
import { createFleet } from '../../../support/fleet/fleet.ts';

it('instances whose clocks differ by less than the hard margin issue no token that has expired', async () => {
  // The hard margin of two minutes is 24 s.
  const skew = fc.integer({ min: -11 * SECOND_MS, max: 11 * SECOND_MS });
  const call = fc.record({ who: fc.nat(2), afterMs: fc.nat(40 * SECOND_MS) });
  const story = [fc.tuple(skew, skew, skew), fc.array(call, { minLength: 5, maxLength: 40 })] as const;
  const property = fc.asyncProperty(...story, async (skews, calls) => {
    // Most renewals fail, so that tokens come close to their end.
    const answer = (n: number) => (n % 5 === 1 ? undefined : exchange(503, {}));
    const { clock, requests, createInstance } = createFleet({ lifetimeSeconds: 120, answer });
    const instances = skews.map((skewMs) => createInstance({ skewMs }));
    for (const { who, afterMs } of calls) {
      await clock.advance(afterMs);
      const asked = instances[who]?.issue() ?? expect.fail();
      const issue = await clock.run(asked.catch(() => undefined));
      if (issue === undefined) continue;
      const n = Number(issue.token.accessToken.reveal().replace('token-', ''));
      expect(clock.now() - (requests[n - 1]?.at ?? 0)).toBeLessThan(120 * SECOND_MS);
    }
  });
  await fc.assert(property, { seed: 1, numRuns: 60 });
});
