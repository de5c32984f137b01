import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CheckResult } from '../../functions/broker/check-credential.ts';
import { ISSUE_REQUEST } from '../support/broker-world.ts';
import { ask, fleetOf } from '../support/fleet-asks.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const { pair } = ISSUE_REQUEST;

/** Milliseconds from one thing to the next, up to a minute. */
const distance = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 60_000 }));

describe('a new version that is put, checked and promoted', () => {
  it('reaches traffic with one token request after its check, between calls and other checks at any time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          tried: distance,
          promoted: distance,
          event: distance,
          age: fc.integer({ min: 0, max: 3_500_000 }),
          otherChecks: fc.array(distance, { maxLength: 4 }),
          callers: fc.array(distance, { maxLength: 10 }),
        }),
        async ({ tried, promoted, event, age, otherChecks, callers }) => {
          const { clock, surroundings, environments, requests, askAll } = fleetOf(4);
          await askAll();
          await clock.advance(age);
          requests.length = 0;
          const [put, health, ...others] = environments;
          if (put === undefined || health === undefined) throw new Error('no environments');
          const later = async <Result>(ms: number, work: () => Promise<Result>) => {
            await clock.sleep(ms);
            return work();
          };

          const told: CheckResult[] = [];
          const story = async () => {
            surroundings.stages = { ...surroundings.stages, AWSPENDING: 'v2' };
            await later(tried, async () => told.push(await put.check({ pair, stage: 'AWSPENDING' })));
            await later(promoted, async () => {
              surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
            });
            await later(event, () => health.check({ pair, stage: 'AWSCURRENT' }));
          };
          const beside = [
            ...otherChecks.map((ms) => later(ms, () => health.check({ pair, stage: 'AWSPREVIOUS' }))),
            ...callers.map((ms, index) => later(ms, () => ask(others[index % others.length] ?? put))),
          ];
          await clock.run(Promise.all([story(), ...beside]));
          await clock.advance(MINUTE_MS);
          const issued = await askAll();

          expect(told).toEqual([expect.objectContaining({ finding: 'accepted', version: 'v2' })]);
          expect(issued.map(({ issue }) => issue?.token.credentialVersion)).toEqual(Array(4).fill('v2'));
          const sent = requests.filter(({ version }) => version === 'v2').length;
          expect(sent).toBeLessThanOrEqual(2);
        },
      ),
      { numRuns: 300 },
    );
  });
});
