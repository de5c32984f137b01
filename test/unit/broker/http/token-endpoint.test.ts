import { describe, expect, it } from 'vitest';
import { fingerprint } from '../../../../functions/aws/sealing/sealing.ts';
import { type BrokerRequest, createTokenEndpoint } from '../../../../functions/broker/http/token-endpoint.ts';
import { createBrokerWorld, exchange, RULES_DIGEST } from '../../../support/broker-world.ts';
import { BILLING, exampleRule, exampleService, START } from '../../../support/example.ts';

const MEMBERS = { client: 'acme', service: 'customer-insights' };
const NO_CALLS = { secretReads: 0, tokenRequests: 0 };
const NOT_KEPT = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
const bytes = (text: string) => new TextEncoder().encode(text);

describe('POST /token', () => {
  it('answers with the token, how long it lives and its name', async () => {
    const { post } = createBrokerWorld();

    expect(await post(MEMBERS)).toMatchObject({
      status: 200,
      headers: {
        ...NOT_KEPT,
        'content-type': 'application/json',
        'cache-status': 'token-broker; fwd=miss',
        'server-timing': expect.stringMatching(/^broker;dur=\d/),
      },
      json: {
        access_token: 'token-1',
        token_type: 'Bearer',
        expires_in: 3_600,
        expires_at: '2026-01-01T01:00:00.000Z',
        expiry_source: 'response',
        fingerprint: fingerprint('token-1'),
      },
    });
  });

  it('returns only those members of the service’s answer that the settings pass through', async () => {
    const service = exampleService({ response: { lifetimeUnit: 'seconds', passThrough: ['region', 'expires_in'] } });
    const answered = { access_token: 'token-1', expires_in: '60', refresh_token: 'r', scope: 'read', region: 'eu' };
    const { post } = createBrokerWorld({
      services: { 'customer-insights': service },
      answer: () => exchange(200, answered),
    });
    const { json } = await post(MEMBERS);

    const own = ['access_token', 'expires_at', 'expires_in', 'expiry_source', 'fingerprint', 'scope', 'token_type'];
    expect(Object.keys(json).sort()).toEqual([...own, 'region'].sort());
    expect(json.expires_in).toBe(60);
  });

  it('counts the seconds that are left down while the token is in memory', async () => {
    const { post, clock } = createBrokerWorld();
    await post(MEMBERS);
    clock.now += 59_001;

    expect(await post(MEMBERS)).toMatchObject({
      headers: { 'cache-status': 'token-broker; hit; detail=memory' },
      json: { access_token: 'token-1', expires_in: 3_540, expires_at: '2026-01-01T01:00:00.000Z' },
    });
  });

  it('tells no more seconds than the whole life when the clock was set back, nor does POST /check', async () => {
    const { post, clock } = createBrokerWorld({ accessRules: [exampleRule({ operations: ['token', 'check'] })] });
    await post(MEMBERS);
    clock.now -= 20_000;

    expect((await post(MEMBERS)).json).toMatchObject({ access_token: 'token-1', expires_in: 3_600 });
    expect((await post(MEMBERS, { path: '/check' })).json).toMatchObject({ proven_by: 'traffic', expires_in: 3_600 });
  });
});

describe('the audit line of a request', () => {
  it('has its origin, and tells whether it forced a token or asked how long it lives', async () => {
    const { post, audited } = createBrokerWorld();
    const { json } = await post(MEMBERS, { sourceIp: '192.0.2.1' });
    await post({ ...MEMBERS, refused: json.fingerprint, min_ttl: 60 });
    await post({ ...MEMBERS, client: 'globex', refused: json.fingerprint });

    expect(audited).toMatchObject([
      { sourceIp: '192.0.2.1', forced: false, minTtl: 0 },
      { forced: true, minTtl: 60, outcome: 'issued' },
      { forced: true, outcome: 'access-denied', caller: BILLING, pair: { ...MEMBERS, client: 'globex' } },
    ]);
  });

  it.each([
    [200, { outcome: 'issued', cache: 'none', fingerprint: fingerprint('token-1'), credentialVersion: 'v1' }],
    [404, { outcome: 'token-endpoint-error' }],
  ])('has its outcome and its duration: %i', async (status, record) => {
    const { post, world, clock, audited } = createBrokerWorld();
    world.answer = () => {
      clock.now += 250;
      return exchange(status, { access_token: 'token-1', expires_in: 3_600 });
    };
    const { headers } = await post(MEMBERS);

    expect(headers['server-timing']).toBe(status === 200 ? 'broker;dur=250' : undefined);
    const always = { requestId: 'request-1', caller: BILLING, operation: 'token', pair: MEMBERS, milliseconds: 250 };
    expect(audited).toEqual([expect.objectContaining({ ...always, ...record })]);
    expect(audited[0]?.expirySource).toBe(status === 200 ? 'response' : undefined);
  });
});

it('gives a request that nothing answers a problem shortly after its deadline, which says when to ask again', async () => {
  const waits: number[] = [];
  const never = () => new Promise<never>(() => undefined);
  const endpoint = createTokenEndpoint({
    broker: { issue: never, check: never },
    accessRules: [],
    audit: () => undefined,
    inTime: async (ms) => {
      waits.push(ms);
      return undefined;
    },
    now: () => START,
  });
  const request = { method: 'POST', path: '/token', query: '', contentType: 'application/json', caller: BILLING };
  const body = JSON.stringify(MEMBERS);
  const response = await endpoint({ ...request, requestId: 'request-1', body, deadline: START + 10_000 });

  expect(waits).toEqual([10_250]);
  expect(response).toMatchObject({ status: 504, headers: { 'retry-after': '1' } });
  const detail = 'No answer came in time.';
  expect(JSON.parse(response.body)).toMatchObject({ type: 'token-endpoint-timeout', detail });
});

describe('POST /check', () => {
  const checkers = [exampleRule({ operations: ['check'] })];
  const path = '/check';

  it('has the finding, and never a token', async () => {
    const { post } = createBrokerWorld({ accessRules: checkers });
    const response = await post(MEMBERS, { path });

    expect(response).toMatchObject({ status: 200, headers: NOT_KEPT });
    expect(response.json).toEqual({
      ...MEMBERS,
      stage: 'AWSCURRENT',
      finding: 'accepted',
      version: 'v1',
      checked_at: '2026-01-01T00:00:00.000Z',
      proven_by: 'request',
      expires_in: 3_600,
    });
    expect(response.headers).not.toHaveProperty('retry-after');
  });

  it('is 200 for every finding, and says when another one can find out more', async () => {
    const { post, audited } = createBrokerWorld({ accessRules: checkers, answer: () => exchange(503, {}) });

    expect(await post({ ...MEMBERS, stage: 'AWSPENDING' }, { path })).toMatchObject({
      status: 200,
      headers: { ...NOT_KEPT, 'retry-after': '1' },
      json: { stage: 'AWSPENDING', finding: 'unreachable', proven_by: 'request' },
    });
    const written = { operation: 'check', outcome: 'unreachable', pair: MEMBERS, credentialVersion: 'v1' };
    expect(audited).toEqual([expect.objectContaining(written)]);
  });

  it('needs the operation check, which gives no right to a token', async () => {
    const { post, calls } = createBrokerWorld();
    expect(await post(MEMBERS, { path })).toMatchObject({ status: 403, json: { type: 'access-denied' } });
    expect(calls).toEqual(NO_CALLS);
    expect(await createBrokerWorld({ accessRules: checkers }).post(MEMBERS)).toMatchObject({ status: 403 });
  });
});

describe('POST /whoami', () => {
  const path = '/whoami';

  it('tells the role that signed and what its own rules allow it, and asks nothing of AWS', async () => {
    const accessRules = [
      exampleRule(),
      exampleRule({ role: 'arn:aws:iam::111111111111:role/reporting', clients: ['globex'] }),
      exampleRule({ role: 'arn:aws:iam::111111111111:role/team/billing', clients: 'all', operations: ['check'] }),
    ];
    const { post, calls, audited } = createBrokerWorld({ accessRules });
    const response = await post({}, { path });

    expect(response).toMatchObject({ status: 200, headers: NOT_KEPT });
    expect(response.json).toEqual({
      role: 'arn:aws:iam::111111111111:role/billing',
      account: '111111111111',
      rules: [
        { clients: ['acme'], services: ['customer-insights'], operations: ['token'] },
        { clients: 'all', services: ['customer-insights'], operations: ['check'] },
      ],
      rules_digest: RULES_DIGEST,
    });
    expect(calls).toEqual(NO_CALLS);
    expect(audited).toEqual([expect.objectContaining({ operation: 'whoami', outcome: 'identified', caller: BILLING })]);
    expect(audited[0]).not.toHaveProperty('pair');
  });

  it('shows no digest of the rules to a role that none of them names, and no rule that pins the id of another role, and none to another organization', async () => {
    const accessRules = [exampleRule(), exampleRule({ roleId: 'AROAFIRST', clients: 'all' })];
    const { post } = createBrokerWorld({ accessRules, principalOrgId: 'o-ours' });
    const caller = { ...BILLING, roleId: 'AROASECOND', principalOrgId: 'o-ours' };

    expect((await post({}, { path, caller })).json.rules).toHaveLength(1);
    expect((await post({}, { path, caller: { ...caller, roleId: 'AROAFIRST' } })).json.rules).toHaveLength(2);
    const elsewhere = { ...caller, principalOrgId: undefined };
    expect((await post({}, { path, caller: elsewhere })).json.rules).toEqual([]);
    const stranger = { ...BILLING, partition: 'aws-cn', role: 'stranger' };
    const role = 'arn:aws-cn:iam::111111111111:role/stranger';
    expect((await post({}, { path, caller: stranger })).json).toEqual({ role, account: '111111111111', rules: [] });
  });

  it.each(['', bytes(''), '{}', bytes(' { }\n')])(
    'takes an empty body or object of any content type (%#)',
    async (body) => {
      for (const contentType of [undefined, 'application/json', 'text/plain']) {
        expect(await createBrokerWorld().post({}, { path, body, contentType })).toMatchObject({ status: 200 });
      }
    },
  );

  it.each(['{"client":"acme"}', 'client=acme', '[]'])('refuses any other body: %s', async (body) => {
    expect(await createBrokerWorld().post({}, { path, body })).toMatchObject({ status: 400 });
  });
});

describe('a bad request', () => {
  it.each<[string, Partial<BrokerRequest>, number, string, string]>([
    ['another path', { path: '/tokens' }, 404, 'not-found', 'POST /token'],
    ['a GET', { method: 'GET' }, 405, 'method-not-allowed', 'POST'],
    ['no content type', { contentType: undefined }, 415, 'unsupported-media-type', 'application/json'],
    ['an inherited name as content type', { contentType: 'constructor' }, 415, 'unsupported-media-type', 'UTF-8'],
    ['a body of more than 16 KiB', { body: 'x'.repeat(16_385) }, 413, 'content-too-large', '16384'],
    ['a query', { query: 'client=acme' }, 400, 'invalid-request', 'Query parameters'],
    ['bad base64', { body: undefined }, 400, 'invalid-request', 'base64'],
    ['a wrong member', { body: '{"client":1}' }, 400, 'invalid-request', 'client: must be a string; service: is'],
  ])('with %s gets a problem, and nothing is asked for it', async (_, changes, status, type, detail) => {
    const { post, calls } = createBrokerWorld();
    const { headers, json, ...response } = await post(MEMBERS, changes);

    expect(response.status).toBe(status);
    const allowed = status === 405 ? { allow: 'POST' } : {};
    expect(headers).toEqual({ ...NOT_KEPT, 'content-type': 'application/problem+json', ...allowed });
    const told = { type, status, detail: expect.stringContaining(detail), retryable: false };
    expect(json).toEqual({ ...told, title: expect.stringMatching(/\w/), request_id: 'request-1' });
    expect(calls).toEqual(NO_CALLS);
  });
});

describe('a denial', () => {
  it.each([
    ['an unknown client', { ...MEMBERS, client: 'no-such-client' }],
    ['an unknown service', { ...MEMBERS, service: 'no-such-service' }],
    ['a forbidden service', { ...MEMBERS, service: 'merchant-payment-cleansing' }],
  ])('is for %s byte-equal to the one for a forbidden client', async (_, members) => {
    const forbidden = await createBrokerWorld().post({ ...MEMBERS, client: 'globex' });
    const { post, calls } = createBrokerWorld();
    const response = await post(members);

    expect(response).toEqual({ ...forbidden, status: 403 });
    expect(calls).toEqual(NO_CALLS);
  });

  it('meets every caller that did not sign as a role, for every request', async () => {
    const { post } = createBrokerWorld();
    for (const path of ['/token', '/check', '/whoami', '/']) {
      const denied = { status: 403, json: { type: 'access-denied' } };
      expect(await post(MEMBERS, { caller: undefined, path })).toMatchObject(denied);
    }
  });

  it('comes before the cache: a token in memory is not for another role', async () => {
    const { post } = createBrokerWorld();
    await post(MEMBERS);
    expect(await post(MEMBERS, { caller: { ...BILLING, role: 'reporting' } })).toMatchObject({ status: 403 });
  });
});

it.each<[number, string, boolean]>([
  [200, 'token-response-unusable', false],
  [404, 'token-endpoint-error', false],
  [503, 'token-endpoint-unavailable', true],
])('shows the shape, and no value, of an answer without a token: %i', async (status, type, retryable) => {
  const { post } = createBrokerWorld({ answer: () => exchange(status, { state: 'marked-value', count: 1 }) });
  const { headers, body, json } = await post(MEMBERS);

  const members = [{}, { path: 'state' }, { path: 'count' }];
  expect(json).toMatchObject({ type, retryable, response_shape: { status, bytes: 34, members } });
  expect(body).not.toContain('marked-value');
  expect(headers).toMatchObject({ ...NOT_KEPT, 'retry-after': '1' });
});

it('keeps a bug opaque to the caller; it is written down for the operator', async () => {
  const bug = new TypeError('marked-secret');
  const { post, audited } = createBrokerWorld({ secret: () => Promise.reject(bug) });
  const response = await post(MEMBERS);

  expect(response).toMatchObject({ status: 500, json: { type: 'internal', retryable: true } });
  expect(response.json.detail).toBe('The broker failed. Tell its operators the request_id.');
  expect(response.body).not.toContain('marked-secret');
  expect(audited).toEqual([expect.objectContaining({ outcome: 'internal', cause: bug })]);
});
