import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EMPTY_RECORD, type PairRecord } from '../../functions/broker/pair/record.ts';
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

it('a table whose item is lost costs one token request more for each loss: no standstill and no storm', async () => {
  /** The token requests in an hour of 20 warm and 5 cold instances; every ten minutes the item may be replaced. */
  const anHour = async (replace?: (backup: PairRecord) => PairRecord) => {
    const { clock, shared, requests, instances, createInstance, askAll } = fleetOf(25, {
      lifetimeSeconds: 1_800,
    });
    await askAll();
    const backup = shared.peek(pair);
    for (let n = 0; n < 6 * 40; n += 1) {
      if (replace && n % 40 === 20) shared.change(pair, () => replace(backup));
      // Five of them are always new.
      for (const cold of instances.splice(20, 5, ...Array.from({ length: 5 }, () => createInstance()))) cold.kill();
      for (const { issue, waitMs } of await askAll()) {
        expect(issue).toBeDefined();
        expect(waitMs).toBeLessThan(7 * SECOND_MS);
      }
      await clock.advance(15 * SECOND_MS);
    }
    return requests.length;
  };
  const undisturbed = await anHour();

  expect(await anHour(() => EMPTY_RECORD)).toBeLessThanOrEqual(undisturbed + 6);
  // An old state is restored, whose fences begin again.
  expect(await anHour((backup) => backup)).toBeLessThanOrEqual(undisturbed + 6);
});
