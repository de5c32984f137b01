import { describe, expect, it } from 'vitest';
import { Problem } from '../../functions/broker/problem.ts';
import { exchange } from '../support/broker-world.ts';
import { ask, fleetOf } from '../support/fleet-asks.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

describe('a credential that the service refuses without saying that it is wrong', () => {
  it.each([
    ['403', exchange(403, {})],
    ['404', exchange(404, {})],
    ['422', exchange(422, {})],
    ['400 invalid_grant', exchange(400, { error: 'invalid_grant' })],
    ['200 with an error', exchange(200, { error: 'invalid_client' })],
  ])('with %s is sent at most 40 times in a day, and every caller is told when the next time is', async (_, answer) => {
    const { clock, requests, surroundings, askAll } = fleetOf(5);
    surroundings.answer = () => answer;
    const end = clock.now() + DAY_MS;
    while (clock.now() < end) {
      for (const { problem } of await askAll()) {
        expect(problem?.retryAfterSeconds).toBeGreaterThan(0);
        expect(problem?.retryAfterSeconds).toBeLessThanOrEqual(3_600);
      }
      await clock.advance(15 * SECOND_MS);
    }

    expect(requests.length).toBeLessThanOrEqual(40);
    expect(requests.length).toBeGreaterThan(20);
  });

  it('holds its version only: a new one is sent at once', async () => {
    const { clock, requests, surroundings, askAll } = fleetOf(5);
    surroundings.answer = (_n, { version }) => (version === 'v1' ? exchange(404, {}) : undefined);
    for (let n = 0; n < 20; n += 1) {
      await askAll();
      await clock.advance(MINUTE_MS);
    }
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    await clock.advance(5 * MINUTE_MS);
    const before = requests.length;

    for (const { problem } of await askAll()) expect(problem).toBeUndefined();
    expect(requests.slice(before).map(({ version }) => version)).toEqual(['v2']);
  });

  it('never makes the version before it be sent', async () => {
    const { requests, surroundings, askAll } = fleetOf(5, { stages: { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' } });
    surroundings.answer = () => exchange(404, {});
    for (const { problem } of await askAll()) expect(problem?.type).toBe('token-endpoint-error');

    expect(requests.map(({ version }) => version)).toEqual(['v2']);
  });

  it('is sent again after a success from the first second on', async () => {
    const { clock, surroundings, askAll, recordNow } = fleetOf(5);
    surroundings.answer = () => exchange(404, {});
    for (let n = 0; n < 10; n += 1) {
      await askAll();
      await clock.advance(10 * MINUTE_MS);
    }
    surroundings.answer = undefined;
    await clock.advance(HOUR_MS);
    for (const { problem } of await askAll()) expect(problem).toBeUndefined();
    expect(recordNow().held.size).toBe(0);
  });
});

describe('two releases with different settings beside each other', () => {
  it('do not end each other’s holds: the bad one sends as seldom as if it were alone', async () => {
    const { clock, requests, surroundings, createEnvironment } = fleetOf(0);
    const good = createEnvironment({ settingsDigest: 'good000000000000' });
    const bad = createEnvironment({ settingsDigest: 'bad0000000000000' });
    surroundings.lifetimeSeconds = 60;
    surroundings.answer = (_n, { from }) => (from === bad.number ? exchange(404, {}) : undefined);
    const end = clock.now() + DAY_MS / 4;
    while (clock.now() < end) {
      await clock.run(ask(bad));
      await clock.run(ask(good));
      await clock.advance(20 * SECOND_MS);
    }

    expect(requests.filter(({ from }) => from === bad.number).length).toBeLessThanOrEqual(20);
    expect(requests.filter(({ from }) => from === good.number).length).toBeGreaterThan(300);
  });
});

describe('a defect of the broker after the token request', () => {
  it('costs one request per lease in the whole fleet', async () => {
    const { clock, requests, surroundings, environments } = fleetOf(20);
    surroundings.onHeard = () => {
      throw new TypeError('a defect');
    };
    const startedAt = clock.now();
    for (const { issue } of environments) await clock.run(issue().catch((error: unknown) => error));

    expect(requests.length).toBeLessThanOrEqual((clock.now() - startedAt) / (6 * SECOND_MS) + 1);
  });

  it('does not stop a good release beside it for longer than one lease', async () => {
    const { clock, surroundings, createEnvironment } = fleetOf(0);
    const [bad, good] = [createEnvironment(), createEnvironment()];
    surroundings.onHeard = ({ from }) => {
      if (from === bad.number) throw new TypeError('a defect');
    };
    await clock.run(bad.issue().catch((error: unknown) => error));
    const { issue, problem, waitMs } = await clock.run(ask(good));

    expect(problem ?? new Problem('internal', 'none')).not.toMatchObject({ type: 'token-endpoint-timeout' });
    expect(issue?.token.credentialVersion).toBe('v1');
    expect(waitMs).toBeLessThan(7 * SECOND_MS);
  });
});
