import { describe, expect, it } from 'vitest';
import type { SecretReading } from '../../functions/broker/credential/secret.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { ask, fleetOf } from '../support/fleet-asks.ts';
import type { StoreFault } from '../support/fleet-store.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const SECRETS_DOWN: SecretReading = { outcome: 'unavailable', cause: 'TimeoutError' };

/** Secrets Manager answers nothing within its second. */
const SECRETS_HANGING = { secretsFault: SECRETS_DOWN, secretsLatencyMs: SECOND_MS };

describe('the calls that a token costs', () => {
  it('are none when it is in memory', async () => {
    const { callsOf, askOne } = fleetOf(1);
    await askOne();

    expect(await callsOf(askOne)).toEqual({});
  });

  it('are none when memory knows why there is none', async () => {
    const { surroundings, callsOf, askOne } = fleetOf(1);
    surroundings.answer = () => new Problem('token-endpoint-unavailable', 'down');
    await askOne();

    expect(await callsOf(askOne)).toEqual({});
    expect((await askOne()).problem).toMatchObject({ type: 'token-endpoint-unavailable' });
  });

  it('are one read of the record when another environment has it: a living token needs no secret', async () => {
    const { clock, environments, callsOf, askOne } = fleetOf(2);
    const [one, other] = environments;
    await askOne({}, one);
    const cold = clock.now();
    expect(await callsOf(() => askOne({}, other))).toEqual({ read: 1 });
    expect(clock.now() - cold).toBe(5);

    await clock.advance(MINUTE_MS);
    const warm = clock.now();
    expect(await callsOf(() => askOne({}, other))).toEqual({ read: 1 });
    expect(clock.now() - warm).toBe(5);

    await clock.advance(4 * MINUTE_MS);
    expect(await callsOf(() => askOne({}, other))).toEqual({ read: 1 });
  });

  it.each([
    ['the first time', 0],
    ['after 2 minutes, with a credential that is still trusted', 2 * MINUTE_MS],
    ['after an hour', HOUR_MS],
  ])('are one each for a new one %s', async (_, idleMs) => {
    const { clock, requests, callsOf, askOne } = fleetOf(1, { lifetimeSeconds: 60 });
    if (idleMs > 0) await askOne();
    await clock.advance(idleMs);
    requests.length = 0;

    expect(await callsOf(askOne)).toEqual({ read: 1, acquire: 1, secret: 1, end: 1 });
    expect(requests).toHaveLength(1);
  });

  it('are one each for a refresh in the soft window', async () => {
    const { clock, requests, callsOf, askOne } = fleetOf(1);
    await askOne();
    await clock.advance(55 * MINUTE_MS);
    requests.length = 0;

    expect(await callsOf(askOne)).toEqual({ read: 1, acquire: 1, secret: 1, end: 1 });
    expect(requests).toHaveLength(1);
  });
});

describe.each<[string, StoreFault, number]>([
  ['stopped or throttling', 'unavailable', 10],
  ['hanging', 'hanging', 160],
  ['losing its answers', 'answer-lost', 10],
])('a shared store that is %s', (_, fault, addedMs) => {
  it('costs a cold environment a little time and no token, and a warning says so', async () => {
    const { clock, requests, surroundings, environments, askOne } = fleetOf(1);
    surroundings.storeFault = () => fault;
    const startedAt = clock.now();
    const { issue } = await askOne();

    expect(issue).toMatchObject({ cache: 'none' });
    expect(clock.now() - startedAt).toBeLessThanOrEqual(120 + addedMs);
    expect(requests).toHaveLength(1);
    expect(environments[0]?.traces[0]?.warnings).toContain('shared-cache-unavailable');
  });

  it('keeps no caller from the token in memory, nor from its successor', async () => {
    const { clock, surroundings, askAll } = fleetOf(5);
    await askAll();
    surroundings.storeFault = () => fault;
    for (let minute = 0; minute < 130; minute += 1) {
      for (const { issue, waitMs } of await askAll()) {
        expect(issue).toBeDefined();
        expect(waitMs).toBeLessThanOrEqual(120 + 2 * addedMs);
      }
      await clock.advance(MINUTE_MS);
    }
  });

  it('loses no latch that it had told of, and each environment sends a wrong credential once otherwise', async () => {
    const { clock, requests, surroundings, createEnvironment, environments, askAll } = fleetOf(4, {
      accepted: new Set(),
    });
    await askAll();
    expect(requests).toHaveLength(1);
    surroundings.storeFault = () => fault;
    environments.push(createEnvironment());
    for (let n = 0; n < 14; n += 1) {
      for (const { problem } of await askAll()) expect(problem?.type).toBe('credential-rejected');
      await clock.advance(MINUTE_MS);
    }
    expect(requests.map(({ from }) => from).sort()).toEqual([0, 4]);
  });

  it('leaves a token that is said to come from memory', async () => {
    const { clock, surroundings, askOne } = fleetOf(1);
    await askOne();
    await clock.advance(2 * MINUTE_MS);
    surroundings.storeFault = () => fault;

    expect((await askOne()).issue).toMatchObject({ cache: 'memory' });
  });

  it('that comes back is used again', async () => {
    const { clock, requests, surroundings, askAll } = fleetOf(5, { lifetimeSeconds: 300 });
    surroundings.storeFault = () => fault;
    await askAll();
    surroundings.storeFault = undefined;
    await clock.advance(HOUR_MS);
    requests.length = 0;
    await askAll();
    expect(requests).toHaveLength(1);
  });
});

describe('a shared store that cannot be told of a rejection', () => {
  it('has each environment remember it by itself for 15 minutes', async () => {
    const { clock, requests, surroundings, askAll } = fleetOf(3, { accepted: new Set() });
    surroundings.storeFault = (operation) => (operation === 'reject' ? 'unavailable' : undefined);
    for (let minute = 0; minute < 15; minute += 1) {
      for (const { problem } of await askAll()) expect(problem?.type).toBe('credential-rejected');
      await clock.advance(MINUTE_MS - 2 * SECOND_MS);
    }
    expect(requests.map(({ from }) => from).sort()).toEqual([0, 1, 2]);
  });
});

describe('calls that are alone at the same time in one environment', () => {
  it('lose none of each other’s rejections', async () => {
    const { clock, requests, createEnvironment } = fleetOf(0, {
      stages: { AWSCURRENT: 'v1', AWSPENDING: 'v2' },
      accepted: new Set(),
      storeFault: () => 'unavailable',
    });
    const environment = createEnvironment();
    const both = () => clock.run(Promise.all([ask(environment), environment.check({ stage: 'AWSPENDING' })]));
    await both();
    await clock.advance(5 * MINUTE_MS);
    const [{ problem }, { finding }] = await both();

    expect([problem?.type, finding]).toEqual(['credential-rejected', 'rejected']);
    expect(requests.map(({ version }) => version).toSorted()).toEqual(['v1', 'v2']);
  });
});

describe('Secrets Manager', () => {
  it.each([
    ['down', { secretsFault: SECRETS_DOWN }],
    ['hanging', SECRETS_HANGING],
  ])('that is %s keeps no caller from a token that the fleet has', async (_, fault) => {
    const { clock, surroundings, createEnvironment, askAll, askOne } = fleetOf(5);
    await askAll();
    await clock.advance(6 * MINUTE_MS);
    Object.assign(surroundings, fault);

    for (const { issue, waitMs } of [...(await askAll()), await askOne({}, createEnvironment())]) {
      expect(issue).toBeDefined();
      expect(waitMs).toBeLessThanOrEqual(SECOND_MS + 20);
    }
    // For a while no call waits for it again.
    for (const { waitMs } of await askAll()) expect(waitMs).toBe(0);
  });

  it('that is down leaves a known credential in use for 24 h, with a warning', async () => {
    const { clock, requests, surroundings, environments, askOne } = fleetOf(1, { lifetimeSeconds: 600 });
    await askOne();
    const readAt = clock.now();
    surroundings.secretsFault = SECRETS_DOWN;
    while (clock.now() + 10 * MINUTE_MS < readAt + 24 * HOUR_MS) {
      await clock.advance(10 * MINUTE_MS);
      expect((await askOne()).issue?.token.credentialVersion).toBe('v1');
    }
    expect(requests.length).toBeGreaterThan(24 * 6 - 5);
    expect(environments[0]?.traces.at(-1)?.warnings).toContain('secret-stale');

    await clock.advance(30 * MINUTE_MS);
    expect((await askOne()).problem).toMatchObject({ type: 'secrets-unavailable', retryAfterSeconds: 1 });
  });

  it.each<[SecretReading, string]>([
    [{ outcome: 'deleted' }, 'credential-missing'],
    [{ outcome: 'missing' }, 'credential-missing'],
    [{ outcome: 'denied', cause: 'AccessDeniedException' }, 'secrets-unavailable'],
  ])('that says %o stops every environment within 300 s, also without the store', async (reading, type) => {
    const { clock, surroundings, askAll } = fleetOf(5);
    await askAll();
    surroundings.secretsFault = reading;
    surroundings.storeFault = () => 'unavailable';
    await clock.advance(300 * SECOND_MS);
    for (const { problem } of await askAll()) expect(problem?.type).toBe(type);

    // Restored: served again within 5 s.
    surroundings.secretsFault = undefined;
    await clock.advance(5 * SECOND_MS);
    for (const { issue } of await askAll()) expect(issue).toBeDefined();
  });
});

describe('the store and Secrets Manager at the same time', () => {
  it.each<[string, StoreFault, object]>([
    ['stopped', 'unavailable', { secretsFault: SECRETS_DOWN }],
    ['hanging', 'hanging', SECRETS_HANGING],
  ])('%s keep no caller from the token in memory until it expires', async (_, storeFault, secretsFault) => {
    const { clock, surroundings, recordNow, askAll } = fleetOf(5);
    await askAll();
    const expiresAt = recordNow().token?.expiresAt ?? 0;
    Object.assign(surroundings, secretsFault, { storeFault: () => storeFault });
    while (clock.now() < expiresAt - 31 * SECOND_MS) {
      for (const { issue, waitMs } of await askAll()) {
        expect(issue).toBeDefined();
        expect(waitMs).toBeLessThanOrEqual(2_500);
      }
      await clock.advance(17 * SECOND_MS);
    }
  });

  it('hanging leave a cold environment with a problem that says to come back', async () => {
    const { surroundings, askOne } = fleetOf(1, SECRETS_HANGING);
    surroundings.storeFault = () => 'hanging';
    const { problem, waitMs } = await askOne();

    expect(problem).toMatchObject({ type: 'secrets-unavailable', retryAfterSeconds: 1 });
    expect(waitMs).toBeLessThanOrEqual(2_500);
  });
});
