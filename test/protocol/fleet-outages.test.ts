import { describe, expect, it } from 'vitest';
import { Problem } from '../../functions/broker/problem.ts';
import { SECRETS_DOWN } from '../support/broker-world.ts';
import { MINUTE_MS, SECOND_MS } from '../support/example.ts';
import { fleetOf } from '../support/fleet/fleet.ts';
import type { StoreFault } from '../support/fleet/surroundings.ts';

/** Secrets Manager answers nothing within its second. */
const SECRETS_HANGING = { secret: () => SECRETS_DOWN, secretsLatencyMs: SECOND_MS };

describe('the calls that a token costs', () => {
  it('are none when memory knows why there is none', async () => {
    const { callsOf, askOne } = fleetOf(1, { answer: () => new Problem('token-endpoint-unavailable', 'down') });
    await askOne();
    expect(await callsOf(askOne)).toEqual({});
  });

  it.each([
    ['a new one after 2 minutes, with a credential that is still trusted', 60, 2 * MINUTE_MS],
    ['a renewal in the soft window', 3_600, 55 * MINUTE_MS],
  ])(
    'are one read, one write for the lease and one for the outcome, and one secret for %s',
    async (_, lifetimeSeconds, idleMs) => {
      const { clock, requests, callsOf, askOne } = fleetOf(1, { lifetimeSeconds });
      await askOne();
      await clock.advance(idleMs);
      requests.length = 0;

      expect(await callsOf(askOne)).toEqual({ read: 1, replace: 2, secret: 1 });
      expect(requests).toHaveLength(1);
    },
  );
});

/** Before anything is sent, the store has two looks of a second: the second look is the patient one. */
describe.each<[string, StoreFault, number]>([
  ['stopped', 'unavailable', 30],
  ['hanging', 'hanging', 2 * SECOND_MS + 20],
  ['losing its answers', 'answer-lost', 30],
])('a shared store that is %s', (_, fault, addedMs) => {
  it('costs a cold instance a little time and no token, and a warning says so', async () => {
    const { requests, instances, askOne } = fleetOf(1, { storeFault: () => fault });
    const { issue, waitMs } = await askOne();

    expect([issue?.cache, requests.length]).toEqual(['none', 1]);
    expect(waitMs).toBeLessThanOrEqual(120 + addedMs);
    expect(instances[0]?.traces[0]?.warnings).toContain('table-unavailable');
  });

  it('keeps no caller from the token in memory, nor from its successor', async () => {
    const { clock, surroundings, askAll } = fleetOf(5);
    await askAll();
    surroundings.storeFault = () => fault;
    for (let minute = 0; minute < 130; minute += 1) {
      for (const { issue, waitMs } of await askAll()) {
        expect(issue).toBeDefined();
        expect(waitMs).toBeLessThanOrEqual(120 + addedMs);
      }
      await clock.advance(MINUTE_MS);
    }
  });

  it('loses no latch that it had reported, and each instance sends a wrong credential once otherwise', async () => {
    const { clock, requests, surroundings, createInstance, instances, askAll } = fleetOf(4, {
      accepted: new Set(),
    });
    await askAll();
    surroundings.storeFault = () => fault;
    instances.push(createInstance());
    for (let n = 0; n < 14; n += 1) {
      for (const { problem } of await askAll()) expect(problem?.type).toBe('credential-rejected');
      await clock.advance(MINUTE_MS);
    }
    expect(requests.map(({ from }) => from).sort()).toEqual([0, 4]);
  });
});

it('200 rejections of instances that are alone reach the table that is back without a storm of writes', async () => {
  const { counts, requests, surroundings, recordNow, askAll } = fleetOf(200, { accepted: new Set() });
  surroundings.storeFault = () => (requests.length < 200 ? 'unavailable' : undefined);
  await askAll();

  expect(recordNow().rejected.get('v1')).toMatchObject({ count: 3 });
  expect(counts.storeCalls.replace).toBeLessThanOrEqual(3 * 200);
});

describe('Secrets Manager', () => {
  it('that is down delays one call in 15 s while a token is to be renewed, also where its secret was never read', async () => {
    const { clock, surroundings, instances, askOne, callsOf } = fleetOf(2);
    await askOne();
    await askOne({}, instances[1]);
    await clock.advance(55 * MINUTE_MS);
    Object.assign(surroundings, SECRETS_HANGING);
    for (const calls of [{ read: 1, secret: 1 }, {}, {}]) {
      expect(await callsOf(() => askOne({}, instances[1]))).toEqual(calls);
    }
  });

  it('and the store, both hanging, keep no caller from the token in memory until it expires', async () => {
    const { clock, surroundings, recordNow, askAll } = fleetOf(5);
    await askAll();
    const expiresAt = recordNow().token?.expiresAt ?? 0;
    Object.assign(surroundings, SECRETS_HANGING, { storeFault: () => 'hanging' });
    for (; clock.now() < expiresAt - 31 * SECOND_MS; await clock.advance(17 * SECOND_MS)) {
      for (const { issue, waitMs } of await askAll()) {
        expect(issue).toBeDefined();
        expect(waitMs).toBeLessThanOrEqual(2_500);
      }
    }
  });
});

describe('200 instances without a sealing key, which can open and store no token,', () => {
  const withoutKey = { storeFault: (): StoreFault => 'no-key' };

  it('send a wrong credential three times at most', async () => {
    const { clock, requests, askAll } = fleetOf(200, { ...withoutKey, accepted: new Set() });
    for (const minutes of [0, 1, 16, 125, 600]) {
      await clock.advance(minutes * MINUTE_MS);
      for (const { problem } of await askAll()) expect(problem?.type).toBe('credential-rejected');
    }
    expect(requests).toHaveLength(3);
  });

  it('all get a token within their 15 s, from a slow service', async () => {
    const { requests, recordNow, askAll } = fleetOf(200, { ...withoutKey, serviceLatencyMs: 3_500 });
    for (const { issue, waitMs } of await askAll()) {
      expect(issue).toBeDefined();
      expect(waitMs).toBeLessThan(15 * SECOND_MS);
    }
    expect(requests.length).toBeLessThanOrEqual(200);
    expect(recordNow().token).toMatchObject({ credentialVersion: 'v1', closed: 'no-bytes' });
  });

  it('never take a good token away, and send a version that is not proven under the lease only', async () => {
    const { clock, surroundings, requests, recordNow, instances, createInstance, askAll, askOne } = fleetOf(200);
    const [withKey] = instances;
    const published = (await askOne()).issue?.token.fingerprint;
    requests.length = 0;
    const wrong = { stages: { AWSCURRENT: 'v2' }, accepted: new Set(['v1']) };
    Object.assign(surroundings, wrong, {
      storeFault: (_: unknown, from: number) => (from === withKey?.number ? undefined : 'no-key'),
    });
    for (let minute = 0; minute < 30; minute += 1) {
      instances.splice(1, 1, createInstance());
      await askAll();
      expect((await askOne()).issue?.token.fingerprint).toBe(published);
      expect(recordNow().token?.fingerprint).toBe(published);
      await clock.advance(MINUTE_MS);
    }
    expect(requests.length).toBeLessThanOrEqual(3);
  });
});
