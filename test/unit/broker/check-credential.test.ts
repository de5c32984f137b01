import { describe, expect, it } from 'vitest';
import type { SecretReading } from '../../../functions/broker/credential/secret.ts';
import type { PairRecord, StoredToken, Wait } from '../../../functions/broker/pair/record.ts';
import { cleared } from '../../../functions/broker/pair/transitions.ts';
import type { SecretStage } from '../../../functions/vocabulary.ts';
import { exchange, found, ISSUE_REQUEST, SECRETS_DOWN, SETTINGS_DIGEST } from '../../support/broker-world.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../../support/example.ts';
import { closedToken, exampleToken, latches } from '../../support/pair/pair-examples.ts';
import { type Changes, startInstance } from './pair/lone-instance.ts';

const STAGES = { AWSCURRENT: 'v1', AWSPENDING: 'v2', AWSPREVIOUS: 'v0' };
const { pair } = ISSUE_REQUEST;
const THROTTLED = { status: 429, contentType: 'none', bytes: 0, members: [] };

function setUp({ record, ...changes }: Changes = {}) {
  const world = startInstance(record, changes);
  const check = (stage: SecretStage = 'AWSCURRENT') => world.clock.run(world.instance.check({ stage }));
  return { ...world, check };
}

describe('a check', () => {
  it('proves a credential with a token request, and leaves its token for the callers', async () => {
    const { clock, check, createInstance, requests } = setUp();

    expect(await check()).toMatchObject({ finding: 'accepted', version: 'v1', provenBy: 'request' });
    const { cache } = await clock.run(createInstance().issue());
    expect(cache).toBe('shared');
    expect(requests).toHaveLength(1);
  });

  it.each<[string, Changes]>([
    ['accepted', {}],
    ['rejected', { accepted: new Set() }],
    ['unreachable', { answer: () => exchange(503, {}) }],
  ])('has the end of a credential that is %s, asked for and known', async (finding, changes) => {
    const { check, surroundings } = setUp(changes);
    surroundings.secret = () =>
      found('v1', { client_id: 'acme', secret: 'v1', client_secret_expires_at: 1_800_000_000 });
    const expiry = { finding, credentialExpiry: '2027-01-15T08:00:00.000Z' };
    expect([await check(), await check()]).toMatchObject([expiry, expiry]);
  });

  it('has the malformed end of a credential that works, and none of a secret that it did not read', async () => {
    const { check, shared, surroundings } = setUp();
    surroundings.secret = () => found('v1', { client_id: 'acme', secret: 'v1', client_secret_expires_at: 'soon' });
    expect(await check()).toMatchObject({ finding: 'accepted', credentialExpiry: 'malformed' });
    shared.change(pair, (record) => ({ ...record, disabled: { since: START } }));
    expect(await check()).not.toHaveProperty('credentialExpiry');
  });

  it('reports that a version was rejected although an operator’s retry has ended its latch before the next look', async () => {
    const { check, shared, requests } = setUp({ accepted: new Set() });
    const { replace } = shared;
    shared.replace = async (...args) => {
      const written = await replace(...args);
      if (requests.length > 0) shared.change(pair, cleared);
      return written;
    };

    expect(await check()).toMatchObject({ finding: 'rejected', version: 'v1', provenBy: 'request' });
    expect(requests).toHaveLength(1);
  });

  it('decides on the secret that there is when the lease of another call has ended', async () => {
    const { clock, check, shared, counts, surroundings } = setUp();
    shared.change(pair, (record) => ({ ...record, lease: { id: 'another', until: START + SECOND_MS } }));
    surroundings.secret = () => (clock.now() < START + SECOND_MS ? undefined : found('v2', 'no JSON'));

    expect(await check()).toMatchObject({ finding: 'secret-malformed', version: 'v2', detail: NO_JSON });
    expect(counts.secretReads).toBe(2);
  });

  it('names the cause of a 500 to a version that was never accepted, asked for and held, and of no other', async () => {
    const surroundings = setUp({ answer: () => exchange(500, {}) });
    const doubted = { finding: 'unreachable', cause: 'not-accepted', version: 'v1' };
    expect(await surroundings.check()).toMatchObject({ ...doubted, provenBy: 'request' });
    expect(await surroundings.check()).toMatchObject({ ...doubted, provenBy: 'pause', retryAfterSeconds: 1 });
    expect(await setUp({ answer: () => exchange(502, {}) }).check()).not.toHaveProperty('cause');

    const proven = setUp({ answer: () => exchange(500, {}) });
    const token = exampleToken({ expiresAt: START - 1 });
    proven.shared.change(pair, (record) => ({ ...record, token }));
    const found = await proven.check();
    expect(found).toMatchObject({ finding: 'unreachable', provenBy: 'request' });
    expect(found).not.toHaveProperty('cause');
  });

  it('reports on the version known last while Secrets Manager is down, names it, and leaves a warning', async () => {
    const { check, clock, instance, surroundings, versions } = setUp();
    await clock.run(instance.issue());
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    surroundings.secret = () => SECRETS_DOWN;

    await clock.advance(HOUR_MS);
    expect(await check()).toMatchObject({ finding: 'accepted', version: 'v1', provenBy: 'request' });
    expect(instance.traces.at(-1)?.warnings).toEqual(new Set(['secret-stale']));
    expect(versions()).toEqual(['v1', 'v1']);
  });
});

describe('a check, to the millisecond:', () => {
  const NOW = START;
  const token = exampleToken({ issuedAt: NOW - HOUR_MS, expiresAt: NOW + HOUR_MS });
  const fresh = { ...token, issuedAt: NOW - 9 };
  const wait = (untilMs: number, changes: Partial<Wait['problem']> = {}) => {
    const problem = { type: 'token-endpoint-unavailable', detail: 'down', ...changes } as const;
    return { until: NOW + untilMs, step: 1, problem };
  };
  const pause = (untilMs: number, changes?: Partial<Wait['problem']>) => ({ pause: wait(untilMs, changes) });
  const held = (untilMs: number, version = 'v1', digest = SETTINGS_DIGEST) => ({
    held: new Map([[`${version}:${digest}`, wait(untilMs, { type: 'token-endpoint-error' })]]),
  });
  const latched = (version: string, agoMs: number) => ({ rejected: latches({ [version]: NOW - agoMs }) });
  const justLatched = latched('v1', 15 * MINUTE_MS - 1);
  const rejections = (agoMs: number, counts: readonly number[] = [1, 1, 1]) => ({
    rejected: new Map(counts.map((count, n) => [`p${n}`, { count, at: NOW - agoMs + n, by: 'another' }] as const)),
  });
  /** The result of a check in words, without times that are now. */
  const checkOf = async (record: Partial<PairRecord>, stage?: SecretStage, service = {}) => {
    const services = { 'customer-insights': service };
    const accepted = new Set(['v0', 'v1', 'v2']);
    const { check, requests, counts } = setUp({ stages: STAGES, services, accepted, record });
    const { finding, cause, version, provenBy, checkedAt, retryAfterSeconds, expiresAt } = await check(stage);
    expect(requests).toHaveLength(provenBy === 'request' && checkedAt === NOW ? 1 : 0);
    // AWSCURRENT decides which services may receive AWSPREVIOUS.
    expect(counts.secretReads).toBe(stage === 'AWSPREVIOUS' ? 2 : 1);
    if (provenBy === 'traffic') expect(expiresAt).toBe(token.expiresAt);
    const ago = checkedAt === NOW ? '' : ` ${NOW - checkedAt} ms ago`;
    return `${finding}${cause === undefined ? '' : ` (${cause})`} ${version} by ${provenBy}${ago}${retryAfterSeconds ? `, ${retryAfterSeconds} s` : ''}`;
  };

  it.each<[string, Partial<PairRecord>, string]>([
    ['a token proves its credential for an hour', { token }, 'accepted v1 by request'],
    ['and until then', { token: { ...token, issuedAt: token.issuedAt + 1 } }, 'accepted v1 by traffic 3599999 ms ago'],
    ['but not another version', { token: { ...fresh, credentialVersion: 'v0' } }, 'accepted v1 by request'],
    ['nor when it has lapsed', { token: { ...fresh, expiresAt: NOW } }, 'accepted v1 by request'],
    ['a disabled client is told', { disabled: { since: 1 }, token: fresh }, 'disabled undefined by operator'],
    ['a pause that has ended does not stop it', pause(0), 'accepted v1 by request'],
    ['one that is not tells what it is for, and for how long', pause(1_001), 'unreachable v1 by pause, 2 s'],
    ['and that the service asked for it', pause(1, { shape: THROTTLED }), 'throttled (service) v1 by pause, 1 s'],
    ['one for a failure of the broker as well', pause(1, { type: 'internal' }), 'unreachable v1 by pause, 1 s'],
    ['a hold that has ended does not stop it', held(0), 'accepted v1 by request'],
    ['one that is not tells so before a pause', { ...held(3_000), ...pause(1) }, 'misconfigured v1 by pause, 3 s'],
    ['that of another version does not stop it', held(1, 'v2'), 'accepted v1 by request'],
    ['nor does that of other settings', held(1, 'v1', 'f'.repeat(16)), 'accepted v1 by request'],
    ['a latch says since when', { ...justLatched, ...held(1), ...pause(1) }, 'rejected v1 by latch 899999 ms ago'],
    ['until its next chance', latched('v1', 15 * MINUTE_MS), 'accepted v1 by request'],
  ])('%s', async (_, record, result) => {
    expect(await checkOf(record)).toBe(result);
  });

  const checked = (ageMs: number, version = 'v2', finding: 'misconfigured' | 'throttled' = 'misconfigured') => ({
    checked: { version, at: NOW - ageMs, finding },
  });
  const REJECTIONS = 'throttled (rejected-versions) v2 by latch';

  it.each<[string, SecretStage, Partial<PairRecord>, string]>([
    ['repeats a finding', 'AWSPENDING', checked(29_999), 'misconfigured v2 by request 29999 ms ago'],
    ['sends the version again after 30 s', 'AWSPENDING', checked(30_000), 'accepted v2 by request'],
    ['throttles 30 s after another', 'AWSPREVIOUS', checked(28_999), 'throttled (another-version) v0 by latch, 2 s'],
    ['repeats a throttling', 'AWSPENDING', checked(1, 'v2', 'throttled'), 'throttled (service) v2 by request 1 ms ago'],
    ['tells the longest', 'AWSPENDING', { ...checked(1, 'v0'), ...rejections(MINUTE_MS) }, `${REJECTIONS}, 3540 s`],
    ['throttles after AWSPREVIOUS', 'AWSPENDING', checked(1, 'v0'), 'throttled (another-version) v2 by latch, 30 s'],
    ['stops at three', 'AWSPENDING', { ...checked(30_000, 'v0'), ...rejections(HOUR_MS - 1) }, `${REJECTIONS}, 1 s`],
    ['counts each rejection', 'AWSPENDING', rejections(MINUTE_MS, [1, 2]), `${REJECTIONS}, 3540 s`],
    ['sends it after an hour', 'AWSPENDING', rejections(HOUR_MS), 'accepted v2 by request'],
    ['sends it when two were rejected', 'AWSPENDING', rejections(MINUTE_MS, [2]), 'accepted v2 by request'],
    ['counts no rejections for AWSPREVIOUS', 'AWSPREVIOUS', rejections(MINUTE_MS), 'accepted v0 by request'],
    ['tells a latch before it', 'AWSPENDING', { ...checked(1), ...latched('v2', 7) }, 'rejected v2 by latch 7 ms ago'],
    ['tells a hold before it', 'AWSPENDING', { ...checked(1), ...held(1, 'v2') }, 'misconfigured v2 by pause, 1 s'],
    ['comes before a pause', 'AWSPENDING', { ...checked(1), ...pause(1) }, 'misconfigured v2 by request 1 ms ago'],
    ['does not make up for a pause', 'AWSPENDING', pause(1), 'unreachable v2 by pause, 1 s'],
  ])('the budget of versions that are not in use %s', async (_, stage, record, result) => {
    expect(await checkOf(record, stage)).toBe(result);
  });

  const OF_V0 = 'accepted v0 by traffic 3600000 ms ago';
  it.each<[string, SecretStage, Partial<StoredToken>, Partial<PairRecord>, string]>([
    ['any version', 'AWSCURRENT', { credentialVersion: 'v0' }, {}, OF_V0],
    ['the version that is tried, when it is of that', 'AWSPREVIOUS', { credentialVersion: 'v0' }, {}, OF_V0],
    ['nothing about another version', 'AWSPENDING', {}, {}, 'throttled (single-active-token) v2 by latch, 3600 s'],
    ['a latched one', 'AWSCURRENT', {}, latched('v1', 7), 'accepted v1 by traffic 3600000 ms ago'],
  ])('a living token that a new one would end proves %s', async (_, stage, changes, record, result) => {
    const living = { ...token, ...changes };
    for (const one of [living, closedToken(living)]) {
      expect(await checkOf({ token: one, ...record }, stage, { singleActiveToken: true })).toBe(result);
    }
  });
});

describe('a check that finds the secret gone', () => {
  const token = exampleToken();
  const unnamed = (stage: SecretStage) =>
    found('v1', { client_id: 'id', secret: 's', services: ['merchant-payment-cleansing'] }, stage);
  const missing = { finding: 'secret-missing', provenBy: 'secret' };
  const gone = (fault: SecretReading, record: Partial<PairRecord> = {}) => {
    const world = setUp({ secretsLatencyMs: 1, secret: () => fault, record: { token, ...record } });
    return { ...world, tokenNow: () => world.shared.peek(pair).token };
  };

  it.each<[string, SecretReading, Partial<PairRecord>]>([
    ['missing', { outcome: 'missing' }, {}],
    ['deleted', { outcome: 'deleted' }, {}],
    ['not naming the service', unnamed('AWSCURRENT'), {}],
    ['missing, and the token cannot be opened here', { outcome: 'missing' }, { token: closedToken() }],
  ])('withdraws the living token with one write: %s', async (_, fault, record) => {
    const { check, counts, requests, tokenNow, shared } = gone(fault, record);

    expect(await check()).toEqual({ ...missing, checkedAt: START + 1 });
    expect(tokenNow()).toBeUndefined();
    expect(shared.peek(pair)).toMatchObject({ lease: undefined, attemptedAt: 0 });
    expect([counts, requests.length]).toEqual([{ storeCalls: { read: 1, replace: 1 }, secretReads: 1 }, 0]);
  });

  it.each<[string, Partial<PairRecord>]>([
    ['there is no token', { token: undefined }],
    ['it has ended', { token: { ...token, expiresAt: START + 1 } }],
  ])('writes nothing when %s', async (_, record) => {
    const { check, counts } = gone({ outcome: 'missing' }, record);

    expect(await check()).toEqual({ ...missing, checkedAt: START + 1 });
    expect(counts.storeCalls).toEqual({ read: 1 });
  });

  it('withdraws the token only after the lease of another call, which may be about to publish', async () => {
    const { check, clock, tokenNow } = gone({ outcome: 'missing' }, { lease: { id: 'another', until: START + 900 } });
    const checking = check();
    await clock.advance(800);
    expect(tokenNow()).toBe(token);

    expect(await checking).toMatchObject(missing);
    expect([clock.now() >= START + 900, tokenNow()]).toEqual([true, undefined]);
  });

  it('withdraws nothing when the secret is back at its second look, after another write', async () => {
    const { check, surroundings, counts, tokenNow, shared } = gone({ outcome: 'missing' });
    surroundings.secret = () => {
      if (counts.secretReads > 1) return found('v1');
      shared.change(pair, (record) => ({ ...record, attemptedAt: START }));
      return { outcome: 'missing' };
    };

    expect(await check()).toMatchObject({ finding: 'accepted', provenBy: 'traffic' });
    expect(tokenNow()).toBe(token);
  });

  it.each<SecretReading>([{ outcome: 'denied', cause: 'no' }, SECRETS_DOWN])(
    'cannot say anything, and withdraws nothing, for a secret that is $outcome',
    async (fault) => {
      const { check, tokenNow } = gone(fault);

      await expect(check()).rejects.toMatchObject({ type: 'secrets-unavailable' });
      expect(tokenNow()).toBe(token);
    },
  );

  it.each<[string, SecretReading, object]>([
    ['is missing', { outcome: 'missing' }, missing],
    ['does not name the service', unnamed('AWSPENDING'), missing],
    ['is binary', { outcome: 'binary' }, { finding: 'secret-malformed', detail: BINARY, checkedAt: START + 1 }],
  ])('withdraws nothing when a version that is not in use %s', async (_, fault, result) => {
    const { check, tokenNow } = gone(fault);

    expect(await check('AWSPENDING')).toMatchObject(result);
    expect(tokenNow()).toBe(token);
  });

  it('says that the client is stopped when the secret’s own policy denies it, and withdraws nothing', async () => {
    const { check, tokenNow } = gone({ outcome: 'stopped', cause: 'AccessDeniedException' });

    expect(await check()).toMatchObject({ finding: 'disabled', provenBy: 'operator' });
    expect(tokenNow()).toBe(token);
  });
});

const NO_JSON =
  'The stored credential cannot be used: the secret is not a JSON object such as {"client_id":"…","secret":"…"}.';
const BINARY = 'The secret "token-broker/test/acme" (AWSPENDING) is binary: an operator must store it as text (JSON).';
