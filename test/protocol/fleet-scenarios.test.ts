import { describe, expect, it } from 'vitest';
import { Problem } from '../../functions/broker/problem.ts';
import { exchange } from '../support/broker-world.ts';
import { type Answer, ask, fleetOf } from '../support/fleet.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

describe('a service that goes down in the soft window', () => {
  it('costs no caller its token until 30 s before the end, then all are told when to come back', async () => {
    const { clock, surroundings, askAll, recordNow } = fleetOf(20);
    await askAll();
    const { expiresAt = 0, fingerprint = '' } = recordNow().token ?? {};
    surroundings.answer = () => new Problem('token-endpoint-unavailable', 'connection refused');

    await clock.advance(47 * MINUTE_MS);
    while (clock.now() < expiresAt + MINUTE_MS) {
      for (const { at, issue, problem } of await askAll()) {
        if (at < expiresAt - 30 * SECOND_MS) expect(issue?.token.fingerprint).toBe(fingerprint);
        else
          expect(problem).toMatchObject({ type: 'token-endpoint-unavailable', retryAfterSeconds: expect.any(Number) });
      }
      await clock.advance(4_321);
    }

    surroundings.answer = undefined;
    await clock.advance(15 * SECOND_MS);
    for (const { problem } of await askAll()) expect(problem).toBeUndefined();
  });
});

describe('a service that is slow', () => {
  it.each([1_200, 2_500])('but answers after %i ms costs no caller its token', async (serviceLatencyMs) => {
    const { clock, askAll } = fleetOf(5, { serviceLatencyMs });
    for (let second = 0; second < 3 * 3_600; second += 5) {
      for (const { problem } of await askAll()) expect(problem).toBeUndefined();
      await clock.advance(5 * SECOND_MS);
    }
  });

  it.each([
    ['a new version, while the old token lives', { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' }, ['v1'], 18, 3],
    ['a version that worked until now, and once more in the soft window', { AWSCURRENT: 'v1' }, [], 26, 3 + 1],
  ])('to reject %s is sent it three times', async (_, stages, accepted, hours, times) => {
    const { clock, requests, surroundings, askAll } = fleetOf(5, { lifetimeSeconds: 24 * 3_600 });
    await askAll();
    requests.length = 0;
    // Many services take their time to say no, so that a guess takes long.
    Object.assign(surroundings, { stages, accepted: new Set(accepted), serviceLatencyMs: 1_500 });
    for (let minute = 0; minute < hours * 60; minute += 1) {
      await askAll();
      await clock.advance(MINUTE_MS);
    }
    expect(requests.filter(({ outcome }) => outcome === 'rejected').length).toBeLessThanOrEqual(times);
  });
});

describe('wrong credentials', () => {
  it('cost three requests each, AWSCURRENT and AWSPREVIOUS, in a week', async () => {
    const { clock, requests, askAll } = fleetOf(20, {
      stages: { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' },
      accepted: new Set(),
    });
    for (let n = 0; n < 7 * 24 * 2; n += 1) {
      for (const { problem } of await askAll()) expect(problem?.type).toBe('credential-rejected');
      await clock.advance(30 * MINUTE_MS);
    }
    expect(requests.map(({ version }) => version).sort()).toEqual(['v1', 'v1', 'v1', 'v2', 'v2', 'v2']);
  });
});

describe('a credential that the service refuses without saying that it is wrong', () => {
  it.each([
    ['404', exchange(404, {})],
    ['200 with an error', exchange(200, { error: 'invalid_client' })],
  ])('with %s is sent at most 40 times in a day, and every caller is told when the next time is', async (_, answer) => {
    const { clock, requests, askAll } = fleetOf(5, { answer: () => answer });
    const end = clock.now() + 24 * HOUR_MS;
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
});

describe('min_ttl', () => {
  it('costs at most one request in 30 s, however many ask for more than a new token has left', async () => {
    const { clock, requests, askAll } = fleetOf(20);
    await askAll();
    for (let second = 0; second < 300; second += 1) {
      await askAll({ minTtlMs: HOUR_MS });
      await clock.advance(SECOND_MS - (clock.now() % SECOND_MS));
    }
    expect(requests.length).toBeLessThanOrEqual(1 + 10);
  });
});

describe('a disabled client', () => {
  it('is stopped everywhere within 60 s, cached tokens included, and served again within 60 s', async () => {
    const { clock, shared, requests, askAll } = fleetOf(20);
    const setDisabled = (disabled: boolean) =>
      shared.change({ client: 'acme', service: 'customer-insights' }, (record) => ({ ...record, disabled }));
    await askAll();
    setDisabled(true);
    await clock.advance(MINUTE_MS);
    // The second time by what memory holds, a living token among it.
    const answers = [...(await askAll()), ...(await askAll())];
    for (const { problem } of answers) expect(problem?.type).toBe('client-disabled');
    expect(requests).toHaveLength(1);

    setDisabled(false);
    await clock.advance(MINUTE_MS);
    for (const { issue } of await askAll()) expect(issue).toBeDefined();
  });

  it('is stopped 60 s later also where a token request was under way', async () => {
    const { clock, shared, environments, askOne } = fleetOf(1, { serviceLatencyMs: 3_900 });
    const [environment] = environments;
    if (environment === undefined) throw new Error('no environment');
    const first = ask(environment);
    await clock.advance(100);
    shared.change({ client: 'acme', service: 'customer-insights' }, (record) => ({ ...record, disabled: true }));
    const disabledAt = clock.now();
    expect((await clock.run(first)).issue).toBeDefined();

    await clock.advance(MINUTE_MS - (clock.now() - disabledAt));
    expect((await askOne()).problem?.type).toBe('client-disabled');
  });
});

describe('a lease holder', () => {
  it.each([2, 3, 7, 50])('that is killed delays %i waiters by its lease, and costs one request', async (count) => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const serviceLatencyMs = 150;
      const { clock, requests, createEnvironment, environments } = fleetOf(count, { seed, serviceLatencyMs });
      const holder = createEnvironment();
      void holder.issue();
      await clock.advance(100);
      holder.kill();
      const answers = await clock.run(Promise.all(environments.map((environment) => ask(environment))));

      expect(requests.length).toBeLessThanOrEqual(2);
      for (const { issue, waitMs } of answers) {
        expect(issue).toBeDefined();
        expect(waitMs).toBeLessThanOrEqual((6_000 + serviceLatencyMs) * 1.1);
      }
    }
  });

  it('that is killed, like its successor, leaves every caller an answer in time while the service hangs', async () => {
    const { clock, requests, environments, surroundings } = fleetOf(5);
    surroundings.serviceLatencyMs = HOUR_MS;
    surroundings.answer = (n, { from }) => {
      if (n <= 2) environments[from]?.kill();
      return undefined;
    };
    const answers: Answer[] = [];
    for (const environment of environments) void ask(environment).then((answer) => answers.push(answer));
    await clock.advance(20 * SECOND_MS);

    expect(requests).toHaveLength(3);
    expect(answers.map(({ problem }) => problem?.type)).toEqual(Array(3).fill('token-endpoint-timeout'));
    for (const { waitMs } of answers) expect(waitMs).toBeLessThanOrEqual(14_500 + 50);
  });
});

describe('a defect of the broker after the token request', () => {
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
