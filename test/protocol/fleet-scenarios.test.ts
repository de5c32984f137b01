import { describe, expect, it } from 'vitest';
import { Problem } from '../../functions/broker/problem.ts';
import type { TokenExchange } from '../../functions/broker/token-request/token-request.ts';
import { exchange } from '../support/broker-world.ts';
import { type Answer, ask, fleetOf } from '../support/fleet-asks.ts';
import { seededRandom } from '../support/seeded-random.ts';

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

  it('is asked at most every 15 s, at first by a caller who waits a second, later by one who waits for the answer', async () => {
    const { clock, requests, surroundings, askAll, service } = fleetOf(20);
    await askAll();
    surroundings.serviceLatencyMs = HOUR_MS;
    await clock.advance(50 * MINUTE_MS);
    const startedAt = clock.now();
    const before = requests.length;
    const waits: number[] = [];
    for (let n = 0; n < 60; n += 1) {
      waits.push(...(await askAll()).map(({ waitMs }) => waitMs).filter((waitMs) => waitMs > 200));
      await clock.advance(5 * SECOND_MS);
    }

    const attempts = requests.length - before;
    expect(attempts).toBeLessThanOrEqual((clock.now() - startedAt) / 15_000 + 1);
    expect(waits).toHaveLength(attempts);
    expect(waits[0]).toBeLessThanOrEqual(SECOND_MS + 50);
    expect(Math.max(...waits)).toBeLessThanOrEqual(service.requestTimeoutMs + 50);
  });
});

describe('Retry-After', () => {
  it.each([
    ['in seconds', () => '120', 120],
    ['as a date', (now: number) => new Date(now + 120 * SECOND_MS).toUTCString(), 120],
    ['of an hour, cut to 300 s,', () => '3600', 300],
  ])('%s is kept by all environments', async (_, header, seconds) => {
    const { clock, requests, surroundings, askAll } = fleetOf(20);
    surroundings.answer = () => exchange(429, {}, { 'retry-after': header(clock.now()) });
    surroundings.serviceLatencyMs = 10;
    const startedAt = clock.now();
    for (const { problem } of await askAll()) {
      expect(problem?.type).toBe('token-endpoint-unavailable');
      expect(Math.abs((problem?.retryAfterSeconds ?? 0) - seconds)).toBeLessThanOrEqual(1);
    }
    surroundings.answer = undefined;

    await clock.advance((seconds - 1) * SECOND_MS - (clock.now() - startedAt));
    for (const { problem } of await askAll()) expect(problem?.retryAfterSeconds).toBeLessThanOrEqual(2);
    expect(requests).toHaveLength(1);

    await clock.advance(2 * SECOND_MS);
    for (const { problem } of await askAll()) expect(problem).toBeUndefined();
    expect(requests).toHaveLength(2);
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

  it('end with the first call that sees a new version, at most 300 s after it was stored', async () => {
    const { clock, requests, surroundings, askAll, askOne } = fleetOf(5, { accepted: new Set(['v2']) });
    await askAll();
    await clock.advance(MINUTE_MS);
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    const storedAt = clock.now();
    let answer = await askOne();
    while (answer.issue === undefined) {
      expect(answer.problem?.type).toBe('credential-rejected');
      expect(clock.now() - storedAt).toBeLessThan(300 * SECOND_MS);
      await clock.advance(SECOND_MS);
      answer = await askOne();
    }

    expect(answer.issue.token.credentialVersion).toBe('v2');
    expect(requests.map(({ version }) => version)).toEqual(['v1', 'v2']);
  });

  it('are latched by version: no stage overwrites another', async () => {
    const { clock, shared, requests, recordNow, surroundings, askAll } = fleetOf(3, {
      stages: { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1', AWSPENDING: 'v3' },
      accepted: new Set(),
    });
    const pending = { count: 2, at: clock.now(), fence: 1 };
    shared.change({ client: 'acme', service: 'customer-insights' }, (record) => ({
      ...record,
      fence: 1,
      rejected: new Map([['v3', pending]]),
    }));
    await askAll();
    expect([...recordNow().rejected].map(([version, { count }]) => [version, count])).toEqual([
      ['v3', 2],
      ['v2', 1],
      ['v1', 1],
    ]);

    // Promoted although it is wrong: what it has cost under its first stage still counts.
    surroundings.stages = { AWSCURRENT: 'v3', AWSPREVIOUS: 'v2' };
    await clock.advance(6 * MINUTE_MS);
    await askAll();
    expect(requests).toHaveLength(2);
  });

  it('are never inferred from 500 transient failures', async () => {
    const { clock, requests, recordNow, surroundings, askOne } = fleetOf(1);
    const random = seededRandom(11);
    surroundings.answer = () => TRANSIENT[Math.floor(random() * TRANSIENT.length)]?.();
    surroundings.serviceLatencyMs = () => (random() < 0.1 ? HOUR_MS : 100);
    while (requests.length < 500) {
      const { problem } = await askOne();
      expect(problem?.type).toMatch(/^token-/);
      await clock.advance(Math.floor(random() * 20 * SECOND_MS));
    }
    expect(recordNow().rejected.size).toBe(0);

    surroundings.answer = undefined;
    surroundings.serviceLatencyMs = 100;
    await clock.advance(301 * SECOND_MS);
    expect((await askOne()).problem).toBeUndefined();
  });
});

/** Everything that a service may say without having refused the credential. */
const TRANSIENT: readonly (() => TokenExchange | Problem)[] = [
  () => new Problem('token-endpoint-unavailable', 'connection refused'),
  () => new Problem('token-endpoint-timeout', 'no answer in time'),
  ...[301, 302, 307, 402, 403, 404, 405, 408, 409, 415, 418, 422, 425, 429, 500, 501, 502, 503, 504, 599].map(
    (status) => () => exchange(status, { error: 'invalid_client' }),
  ),
  ...['invalid_request', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type', 'invalid_scope'].map(
    (error) => () => exchange(400, { error }),
  ),
  () => exchange(429, {}, { 'retry-after': '30' }),
  () => exchange(503, {}, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }),
  () => exchange(200, {}),
  () => exchange(200, null),
  () => exchange(200, { error: 'invalid_client' }),
  () => exchange(200, { access_token: '', expires_in: 60 }),
  () => exchange(200, { access_token: 'token', expires_in: -1 }),
  () => exchange(204, ''),
];

describe('a refused token of an assumed life time', () => {
  it('has a successor that is assumed to live as long, however often that is refused', async () => {
    const { clock, askOne, recordNow } = fleetOf(1, { answer: (n) => exchange(200, { access_token: `token-${n}` }) });
    let { issue } = await askOne();
    for (let n = 0; n < 5; n += 1) {
      const { issuedAt = 0, expiresAt = 0, expirySource } = recordNow().token ?? {};
      expect({ lifetimeMs: expiresAt - issuedAt, expirySource }).toEqual({
        lifetimeMs: 300 * SECOND_MS,
        expirySource: 'assumed',
      });
      await clock.advance(31 * SECOND_MS);
      const next = await askOne({ refused: issue?.token.fingerprint });
      expect(next.issue?.token.fingerprint).not.toBe(issue?.token.fingerprint);
      issue = next.issue;
    }
  });
});

describe('a refused token', () => {
  it('is compared with what the fleet has, not with what one environment remembers', async () => {
    const { clock, requests, environments, askOne, askAll } = fleetOf(2);
    const [one, other] = environments;
    const [first] = await askAll();
    const second = await askOne({ refused: first?.issue?.token.fingerprint }, one);
    // The other one still remembers the first token: it must not give that for the second.
    const again = await askOne({ refused: second.issue?.token.fingerprint }, other);
    expect(again.problem).toMatchObject({ type: 'refused-again', retryAfterSeconds: 30 });

    await clock.advance(31 * SECOND_MS);
    const third = await askOne({ refused: second.issue?.token.fingerprint }, other);
    expect(third.issue).toBeDefined();
    expect(requests).toHaveLength(3);
  });

  it('is replaced once for all who refuse it at the same time', async () => {
    const { requests, askAll } = fleetOf(20);
    const [first] = await askAll();
    const refused = first?.issue?.token.fingerprint;
    for (const { issue } of await askAll({ refused })) expect(issue?.token.fingerprint).not.toBe(refused);
    expect(requests).toHaveLength(2);
  });
});

describe('min_ttl', () => {
  it('brings one new token for all who ask for it at once', async () => {
    const { clock, requests, askAll } = fleetOf(20);
    await askAll();
    await clock.advance(20 * MINUTE_MS);
    await askAll({ minTtlMs: 50 * MINUTE_MS });
    expect(requests).toHaveLength(2);

    const answers = await askAll({ minTtlMs: 50 * MINUTE_MS });
    for (const { at, issue } of answers) expect((issue?.token.expiresAt ?? 0) - at).toBeGreaterThan(50 * MINUTE_MS);
  });

  it('costs at most one request in 30 s, however many ask for more than a new token has left', async () => {
    const { clock, requests, askAll } = fleetOf(20);
    await askAll();
    for (let second = 0; second < 300; second += 1) {
      await askAll({ minTtlMs: HOUR_MS });
      await clock.advance(SECOND_MS - (clock.now() % SECOND_MS));
    }
    expect(requests.length).toBeLessThanOrEqual(1 + 10);
  });

  it('costs nothing when tokens never live that long, or when a new token would end the old one', async () => {
    const short = fleetOf(5, { lifetimeSeconds: 600 });
    const single = fleetOf(5, { service: { singleActiveToken: true } });
    for (const { clock, requests, askAll } of [short, single]) {
      await askAll();
      await clock.advance(5 * MINUTE_MS);
      await askAll({ minTtlMs: 59 * MINUTE_MS });
      expect(requests).toHaveLength(1);
    }
  });

  it('is a target: while the service is down the current token is the answer', async () => {
    const { clock, surroundings, askAll } = fleetOf(5);
    await askAll();
    await clock.advance(20 * MINUTE_MS);
    surroundings.answer = () => new Problem('token-endpoint-unavailable', 'down');

    for (const { issue } of await askAll({ minTtlMs: 50 * MINUTE_MS })) expect(issue).toBeDefined();
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
    for (const { problem } of await askAll()) expect(problem?.type).toBe('client-disabled');
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

describe('a credential that is replaced while its token lives', () => {
  it('costs one token request when the token is renewed, and no caller waits but the one that renews it', async () => {
    const { clock, requests, surroundings, askAll } = fleetOf(20);
    await askAll();
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    const waits: number[] = [];
    for (let second = 0; second < 3_600; second += 10) {
      await clock.advance(10 * SECOND_MS);
      for (const { issue, waitMs } of await askAll()) {
        expect(issue).toBeDefined();
        waits.push(waitMs);
      }
    }
    expect(requests.map(({ version }) => version)).toEqual(['v1', 'v2']);
    expect(waits.filter((waitMs) => waitMs > 100)).toHaveLength(1);
  });

  it('costs one token request for the check of each change, a roll-back too, and no caller waits', async () => {
    const { clock, requests, surroundings, environments, askAll } = fleetOf(20);
    await askAll();
    for (const [AWSCURRENT, AWSPREVIOUS] of [
      ['v2', 'v1'],
      ['v1', 'v2'],
    ] as const) {
      surroundings.stages = { AWSCURRENT, AWSPREVIOUS };
      await clock.run(environments[3]?.check() ?? Promise.reject());
      await clock.advance(MINUTE_MS);
      for (const { issue, waitMs } of await askAll()) {
        expect(issue?.token.credentialVersion).toBe(AWSCURRENT);
        expect(waitMs).toBeLessThan(100);
      }
    }
    expect(requests.map(({ version }) => version)).toEqual(['v1', 'v2', 'v1']);
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

  it('that publishes when another has the lease changes nothing', async () => {
    const { clock, surroundings, environments, recordNow, askAll } = fleetOf(2, { lifetimeSeconds: 10 });
    const [late, next] = environments;
    if (late === undefined || next === undefined) throw new Error('no environments');
    await askAll();
    await clock.advance(10 * SECOND_MS);
    Object.assign(surroundings, { lifetimeSeconds: 3_600, serviceLatencyMs: 3_900, secretsLatencyMs: 1_000 });
    surroundings.storeFault = (operation, from) => (operation === 'end' && from === late.number ? 'late' : undefined);
    const first = ask(late);
    await clock.advance(4_000);
    surroundings.serviceLatencyMs = 10;
    const second = await clock.run(ask(next));
    const published = recordNow();
    await clock.advance(MINUTE_MS);

    expect((await first).issue?.token.fingerprint).not.toBe(second.issue?.token.fingerprint);
    expect(recordNow()).toBe(published);
  });
});
