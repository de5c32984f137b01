import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ISSUE_REQUEST } from '../support/broker-world.ts';
import { MINUTE_MS, SECOND_MS } from '../support/example.ts';
import { ask, fleetOf } from '../support/fleet/fleet.ts';

const { pair } = ISSUE_REQUEST;
const ROTATED = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };

it('a new secret version that no check reports comes into use with the renewal of the token, with one request', async () => {
  const { clock, surroundings, requests, recordNow, askAll } = fleetOf(20);
  const versions = async () => new Set((await askAll()).map(({ issue }) => issue?.token.credentialVersion));
  await askAll();
  const { expiresAt = 0 } = recordNow().token ?? {};
  surroundings.stages = ROTATED;
  expect(await versions()).toEqual(new Set(['v1']));
  for (; clock.now() < expiresAt - 120 * SECOND_MS; await clock.advance(20 * SECOND_MS)) await versions();

  expect(await versions()).toEqual(new Set(['v2']));
  expect(requests.map(({ version }) => version)).toEqual(['v1', 'v2']);
});

it('a new version that is put, checked and promoted reaches traffic within a minute of its check, beside all other calls', async () => {
  /** Milliseconds from one thing to the next, up to a minute. */
  const distance = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 60_000 }));
  const facts = fc.record({
    tried: distance,
    promoted: distance,
    event: distance,
    age: fc.integer({ min: 0, max: 3_500_000 }),
    otherChecks: fc.array(distance, { maxLength: 4 }),
    callers: fc.array(distance, { maxLength: 10 }),
  });
  const property = fc.asyncProperty(facts, async ({ tried, promoted, event, age, otherChecks, callers }) => {
    const { clock, surroundings, instances, requests, askAll } = fleetOf(4);
    await askAll();
    await clock.advance(age);
    requests.length = 0;
    const [put, health, ...others] = instances;
    if (put === undefined || health === undefined) throw new Error('no instances');
    const later = (ms: number, work: () => Promise<unknown>) => clock.sleep(ms).then(work);
    const story = async () => {
      surroundings.stages = { ...surroundings.stages, AWSPENDING: 'v2' };
      await clock.sleep(tried);
      const told = await put.check({ pair, stage: 'AWSPENDING' });
      await clock.sleep(promoted);
      surroundings.stages = ROTATED;
      await later(event, () => health.check());
      return told;
    };
    const beside = [
      ...otherChecks.map((ms) => later(ms, () => health.check({ pair, stage: 'AWSPREVIOUS' }))),
      ...callers.map((ms, index) => later(ms, () => ask(others[index % others.length] ?? put))),
    ];
    const [told] = await clock.run(Promise.all([story(), ...beside]));
    await clock.advance(MINUTE_MS);

    expect(told).toMatchObject({ finding: 'accepted', version: 'v2' });
    expect((await askAll()).map(({ issue }) => issue?.token.credentialVersion)).toEqual(Array(4).fill('v2'));
    // The check of the pending version, and the one after its promotion.
    expect(requests.filter(({ version }) => version === 'v2').length).toBeLessThanOrEqual(2);
  });
  await fc.assert(property, { numRuns: 300 });
});
