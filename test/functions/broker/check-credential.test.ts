import { describe, expect, it } from 'vitest';
import { newTrace } from '../../../functions/broker/audit.ts';
import type { PairRecord } from '../../../functions/broker/pair/record.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { SecretStage } from '../../../functions/contract.ts';
import { exchange, ISSUE_REQUEST } from '../../support/broker-world.ts';
import { BILLING, START } from '../../support/example.ts';
import { createFleet, type Environment } from '../../support/fleet.ts';
import { exampleToken } from '../../support/pair-examples.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const SECRETS_DOWN = { outcome: 'unavailable', cause: 'TimeoutError' } as const;
const { pair } = ISSUE_REQUEST;

function setUp(changes: Parameters<typeof createFleet>[0] = {}) {
  const fleet = createFleet(changes);
  const environment = fleet.createEnvironment();
  const check = (stage: SecretStage = 'AWSCURRENT', by: Environment = environment, trace = newTrace()) =>
    fleet.clock.run(by.broker.check(BILLING, { pair, stage }, by.now() + 14_500, trace));
  return { ...fleet, environment, check, versions: () => fleet.requests.map(({ version }) => version) };
}

describe('a check', () => {
  it('proves a credential with a token request, and leaves its token for the callers', async () => {
    const { clock, check, createEnvironment, requests } = setUp();

    expect(await check()).toMatchObject({ finding: 'accepted', version: 'v1', provenBy: 'request' });
    const { cache } = await clock.run(createEnvironment().issue());
    expect(cache).toBe('shared');
    expect(requests).toHaveLength(1);
  });

  it('costs nothing for a pair that traffic has proven within the interval', async () => {
    const { clock, check, environment, requests } = setUp({ lifetimeSeconds: 48 * 3_600 });
    await clock.run(environment.issue());
    await clock.advance(HOUR_MS - MINUTE_MS);
    expect(await check()).toMatchObject({ finding: 'accepted', provenBy: 'traffic', expiresAt: expect.any(Number) });
    expect(requests).toHaveLength(1);

    await clock.advance(MINUTE_MS);
    expect(await check()).toMatchObject({ finding: 'accepted', provenBy: 'request' });
    expect(requests).toHaveLength(2);
  });

  it('looks at the version that Secrets Manager holds now, whatever this environment knows', async () => {
    const { clock, check, environment, surroundings, versions } = setUp();
    await clock.run(environment.issue());
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };

    expect(await check()).toMatchObject({ finding: 'accepted', version: 'v2', provenBy: 'request' });
    expect(await check()).toMatchObject({ finding: 'accepted', version: 'v2', provenBy: 'traffic' });
    expect(versions()).toEqual(['v1', 'v2']);
  });

  it('latches a version that is rejected, and answers from the latch from then on', async () => {
    const { clock, check, createEnvironment, requests } = setUp({ accepted: new Set() });

    expect(await check()).toMatchObject({ finding: 'rejected', version: 'v1', provenBy: 'request' });
    await clock.advance(10 * MINUTE_MS);
    const another = createEnvironment();
    expect(await check('AWSCURRENT', another)).toMatchObject({
      finding: 'rejected',
      provenBy: 'latch',
      checkedAt: expect.closeTo(START, -4),
    });
    expect(requests).toHaveLength(1);
  });

  it.each([
    [exchange(429, {}, { 'retry-after': '60' }), 'throttled'],
    [exchange(503, {}), 'unreachable'],
    [exchange(404, {}), 'misconfigured'],
    [exchange(200, { nothing: 'here' }), 'misconfigured'],
  ] as const)('obeys the pause that a failure began (%#: %s)', async (answer, finding) => {
    const { check, clock, requests } = setUp({ answer: () => answer });
    expect(await check()).toMatchObject({ finding, provenBy: 'request' });
    await clock.advance(500);
    expect(await check()).toMatchObject({ finding, provenBy: 'pause' });
    expect(requests).toHaveLength(1);
  });

  it.each([
    [{ outcome: 'missing' }, 'secret-missing'],
    [{ outcome: 'deleted' }, 'secret-missing'],
    [{ outcome: 'binary' }, 'secret-malformed'],
  ] as const)('finds a secret that cannot be used without asking the service (%o)', async (secretsFault, finding) => {
    const { check, requests } = setUp({ secretsFault });
    expect(await check()).toMatchObject({ finding, provenBy: 'secret' });
    expect(requests).toHaveLength(0);
  });

  it('cannot say anything while Secrets Manager is down and no version is known', async () => {
    const { check } = setUp({ secretsFault: SECRETS_DOWN });
    await expect(check()).rejects.toMatchObject({ type: 'secrets-unavailable' });
  });

  it('speaks of the version known last while Secrets Manager is down, names it, and leaves a warning', async () => {
    const { check, clock, environment, surroundings, versions } = setUp();
    await clock.run(environment.issue());
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    surroundings.secretsFault = SECRETS_DOWN;

    expect(await check()).toMatchObject({ finding: 'accepted', version: 'v1', provenBy: 'traffic' });
    await clock.advance(HOUR_MS);
    const trace = newTrace();
    const found = await check('AWSCURRENT', environment, trace);
    expect(found).toMatchObject({ finding: 'accepted', version: 'v1', provenBy: 'request' });
    expect(trace.warnings).toEqual(new Set(['secret-stale']));
    expect(versions()).toEqual(['v1', 'v1']);
  });

  it('finds a client that an operator has disabled', async () => {
    const { check, shared, requests } = setUp();
    shared.change(pair, (record) => ({ ...record, disabled: true }));
    expect(await check()).toMatchObject({ finding: 'disabled', provenBy: 'operator' });
    expect(requests).toHaveLength(0);
  });

  it('is made once by all who ask for it at the same time', async () => {
    const { clock, environment, createEnvironment, requests } = setUp();
    const checks = [environment, createEnvironment(), createEnvironment()].map(({ broker, now }) =>
      broker.check(BILLING, { pair, stage: 'AWSCURRENT' }, now() + 14_500, newTrace()),
    );
    const findings = (await clock.run(Promise.all(checks))).map(({ finding }) => finding);
    expect(findings).toEqual(['accepted', 'accepted', 'accepted']);
    expect(requests).toHaveLength(1);
  });

  it('does not end the token in use of a service that knows only one', async () => {
    const { clock, check, environment, surroundings, requests } = setUp({ service: { singleActiveToken: true } });
    await clock.run(environment.issue());
    expect(await check()).toMatchObject({ finding: 'accepted', provenBy: 'traffic' });
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    await expect(check()).rejects.toMatchObject({ type: 'token-endpoint-unavailable', retryAfterSeconds: 300 });
    expect(requests).toHaveLength(1);
  });
});

describe('a check, to the millisecond:', () => {
  /** When it looks: after reading the secret. */
  const NOW = START + 20;
  const token = exampleToken({ issuedAt: NOW - HOUR_MS, expiresAt: NOW + HOUR_MS });
  const lifetimeSeenMs = 2 * HOUR_MS;
  const problem = { type: 'token-endpoint-unavailable', detail: 'down' } as const;
  const latches = (at: number) =>
    new Map(['p1', 'p2', 'p3'].map((version) => [version, { count: 1, at, fence: 1 }] as const));
  const checkOf = (record: Partial<PairRecord>, stage?: SecretStage) => {
    const { shared, check } = setUp({ stages: { AWSCURRENT: 'v1', AWSPENDING: 'v2' } });
    shared.change(pair, (empty) => ({ ...empty, ...record }));
    return check(stage);
  };

  it.each<[string, Partial<PairRecord>, object]>([
    ['a token proves its credential for an hour', { token }, { provenBy: 'request' }],
    ['and until then', { token: { ...token, issuedAt: token.issuedAt + 1 } }, { provenBy: 'traffic' }],
    [
      'but not once it has lapsed',
      { token: { ...token, issuedAt: NOW - MINUTE_MS, expiresAt: NOW } },
      { provenBy: 'request' },
    ],
    ['a pause that is over is in no way', { pause: { until: NOW, step: 1, problem } }, { provenBy: 'request' }],
    [
      'one that is not tells what it is for',
      { pause: { until: NOW + 1, step: 1, problem }, attemptedAt: START - MINUTE_MS },
      { finding: 'unreachable', provenBy: 'pause', checkedAt: START - MINUTE_MS },
    ],
    [
      'and that nobody was reached when it is for a failure of the broker',
      { pause: { until: NOW + 1, step: 1, problem: { ...problem, type: 'internal' } } },
      { finding: 'unreachable', provenBy: 'pause' },
    ],
  ])('%s', async (_, record, result) => {
    expect(await checkOf({ lifetimeSeenMs, ...record })).toMatchObject(result);
  });

  it('an hour after three rejections a pending version is sent again', async () => {
    expect(await checkOf({ rejected: latches(NOW - HOUR_MS + 1) }, 'AWSPENDING')).toMatchObject({
      finding: 'throttled',
      version: 'v2',
    });
    expect(await checkOf({ rejected: latches(NOW - HOUR_MS) }, 'AWSPENDING')).toMatchObject({ provenBy: 'request' });
  });

  it('three rejections of pending versions do not matter to the current one', async () => {
    expect(await checkOf({ rejected: latches(NOW) })).toMatchObject({ finding: 'accepted', provenBy: 'request' });
  });
});

describe('a check beside callers', () => {
  it('waits for the lease of another, and takes none until then', async () => {
    const { check, clock, shared, counts } = setUp();
    const leaseUntil = START + SECOND_MS;
    shared.change(pair, (record) => ({ ...record, fence: 1, leaseOwner: 'another', leaseUntil }));

    expect(await check()).toMatchObject({ finding: 'accepted', provenBy: 'request' });
    expect(clock.now()).toBeGreaterThan(leaseUntil);
    expect(counts.storeCalls.acquire).toBe(1);
  });

  it('leaves them the one new token in half a minute that a refused one brings', async () => {
    const { check, clock, environment, shared } = setUp();
    await check();
    const refused = shared.peek(pair).token?.fingerprint;

    await expect(clock.run(environment.issue({ refused }))).resolves.toMatchObject({ cache: 'none' });
  });

  it('finds what they have obtained with a newer version while its own was rejected', async () => {
    const { check, clock, surroundings, createEnvironment, versions } = setUp({ accepted: new Set(['v2']) });
    const callers = createEnvironment();
    const checking = check();
    await clock.advance(50);
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    const issued = callers.issue();

    expect(await checking).toMatchObject({ finding: 'accepted', version: 'v2' });
    await clock.run(issued);
    expect(versions()).toEqual(['v1', 'v2']);
  });

  it('says how long the token lives that it must not end', async () => {
    const { check, shared } = setUp({ service: { singleActiveToken: true } });
    const expiresAt = START + 100 * SECOND_MS;
    const token = exampleToken({ credentialVersion: 'v0', issuedAt: START - HOUR_MS, expiresAt });
    shared.change(pair, (record) => ({ ...record, token, lifetimeSeenMs: HOUR_MS }));

    await expect(check()).rejects.toMatchObject({
      type: 'token-endpoint-unavailable',
      detail: expect.stringContaining('in use'),
      retryAfterSeconds: 100,
    });
  });
});

it('says nothing of a pair when the broker itself has failed, although the service was asked', async () => {
  const { check, shared, requests, createEnvironment } = setUp();
  const bug = new TypeError('not the item that was asked for');
  shared.publish = () => Promise.reject(bug);

  await expect(check('AWSCURRENT', createEnvironment())).rejects.toBe(bug);
  expect(requests).toHaveLength(1);
});

describe('a check of a pending version', () => {
  const stages = { AWSCURRENT: 'v1', AWSPENDING: 'v2' };

  it('sends it and publishes nothing: callers keep the current one’s token', async () => {
    const { clock, check, environment, shared, versions } = setUp({ stages });
    const { token } = await clock.run(environment.issue());
    expect(await check('AWSPENDING')).toMatchObject({ finding: 'accepted', version: 'v2', provenBy: 'request' });

    expect(shared.peek(pair).token?.fingerprint).toBe(token.fingerprint);
    expect(versions()).toEqual(['v1', 'v2']);
  });

  it('latches it under its own version: the current one goes on', async () => {
    const { clock, check, environment } = setUp({ stages, accepted: new Set(['v1']) });
    expect(await check('AWSPENDING')).toMatchObject({ finding: 'rejected', version: 'v2' });
    await expect(clock.run(environment.issue())).resolves.toMatchObject({ cache: 'none' });
  });

  it('is sent at most three times an hour when it is rejected, whatever the versions', async () => {
    const { clock, check, surroundings, versions } = setUp({ stages, accepted: new Set(['v1']) });
    for (const pending of ['p1', 'p2', 'p3', 'p4', 'p5']) {
      surroundings.stages = { AWSCURRENT: 'v1', AWSPENDING: pending };
      await check('AWSPENDING');
      await clock.advance(MINUTE_MS);
    }
    expect(versions()).toEqual(['p1', 'p2', 'p3']);
    expect(await check('AWSPENDING')).toMatchObject({ finding: 'throttled', provenBy: 'latch' });

    await clock.advance(HOUR_MS);
    expect(await check('AWSPENDING')).toMatchObject({ finding: 'rejected', version: 'p5' });
  });

  it('finds nothing where nothing is pending', async () => {
    const { check, requests } = setUp();
    expect(await check('AWSPENDING')).toMatchObject({ finding: 'secret-missing', provenBy: 'secret' });
    expect(requests).toHaveLength(0);
  });
});

describe('a malformed pending version', () => {
  it('is found without a request, and is nobody else’s problem', async () => {
    const { check, clock, environment, surroundings, requests } = setUp({
      stages: { AWSCURRENT: 'v1', AWSPENDING: 'v2' },
    });
    const text = new Redacted(JSON.stringify({ client_id: 'with:colon', secret: 's' }));
    const pending = { outcome: 'found', secret: { versionId: 'v2', stage: 'AWSPENDING', text } } as const;
    surroundings.secretFaults = { AWSPENDING: pending };

    expect(await check('AWSPENDING')).toMatchObject({ finding: 'secret-malformed', version: 'v2', provenBy: 'secret' });
    expect(requests).toHaveLength(0);
    await expect(clock.run(environment.issue())).resolves.toMatchObject({ cache: 'none' });
  });
});

describe('checks, traffic and rotation together', () => {
  it('stay within the lock-out budget', async () => {
    const { clock, createEnvironment, requests, surroundings } = setUp({
      stages: { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1', AWSPENDING: 'v3' },
      accepted: new Set(),
    });
    const environments = Array.from({ length: 5 }, () => createEnvironment());
    for (let hour = 0; hour < 48; hour += 1) {
      const work = environments.flatMap(({ issue, broker, now }) => [
        issue(),
        ...(['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'] as const).map((stage) =>
          broker.check(BILLING, { pair, stage }, now() + 14_500, newTrace()),
        ),
      ]);
      await clock.run(Promise.allSettled(work));
      await clock.advance(HOUR_MS);
    }
    expect(surroundings.accepted.size).toBe(0);
    for (const version of ['v1', 'v2', 'v3']) {
      expect(requests.filter((request) => request.version === version)).toHaveLength(3);
    }
  });
});
