import { describe, expect, it } from 'vitest';
import type { BrokerRequest } from '../../../../functions/broker/http/token-endpoint.ts';
import { shortDigest } from '../../../../functions/variables.ts';
import { createBrokerWorld, exchange, RULES_DIGEST } from '../../../support/broker-world.ts';
import { BILLING, exampleRule, exampleService, PAIR, START } from '../../../support/example.ts';

const NO_CALLS = { secretReads: 0, tokenRequests: 0 };
const NOT_KEPT = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

describe('POST /token', () => {
  it('answers with the token, how long it lives and its name, and with members that the settings pass through', async () => {
    const response = { lifetimeUnit: 'seconds', passThrough: ['region', 'expires_in'] } as const;
    const answered = { access_token: 'token-1', expires_in: '60', refresh_token: 'r', scope: 'read', region: 'eu' };
    const services = { 'customer-insights': exampleService({ response }) };
    const { post } = createBrokerWorld({ services, answer: () => exchange(200, answered) });
    const { status, headers, json } = await post(PAIR);

    const timed = { 'cache-status': 'token-broker; fwd=miss', 'server-timing': 'broker;dur=0' };
    expect(status).toBe(200);
    expect(headers).toEqual({ ...NOT_KEPT, ...timed, 'content-type': 'application/json' });
    expect(json).toEqual({
      ...{ access_token: 'token-1', token_type: 'Bearer', fingerprint: shortDigest('token-1'), scope: 'read' },
      ...{ expires_in: 60, expires_at: '2026-01-01T00:01:00.000Z', expiry_source: 'response', region: 'eu' },
    });
  });

  it('counts the seconds that are left down, and shows no more than the whole life when the clock was set back', async () => {
    const { post, clock } = createBrokerWorld({ accessRules: [exampleRule({ operations: ['token', 'check'] })] });
    await post(PAIR);
    clock.now = START + 59_001;
    expect(await post(PAIR)).toMatchObject({
      headers: { 'cache-status': 'token-broker; hit; detail=memory' },
      json: { access_token: 'token-1', expires_in: 3_540, expires_at: '2026-01-01T01:00:00.000Z' },
    });
    clock.now = START - 20_000;
    expect((await post(PAIR)).json).toMatchObject({ access_token: 'token-1', expires_in: 3_600 });
    expect((await post(PAIR, { path: '/check' })).json).toMatchObject({ proven_by: 'traffic', expires_in: 3_600 });
  });
});

describe('the audit line of a request', () => {
  it('has its origin, and shows whether it forced a token or asked how long it lives', async () => {
    const { post, audited, clock } = createBrokerWorld();
    const { json } = await post(PAIR, { sourceIp: '192.0.2.1' });
    clock.now += 5_000;
    await post({ ...PAIR, refused: json.fingerprint, min_ttl: 60 });
    await post({ ...PAIR, client: 'globex', refused: json.fingerprint });

    expect(audited).toMatchObject([
      { sourceIp: '192.0.2.1', forced: false, minTtl: 0 },
      { forced: true, minTtl: 60, outcome: 'issued' },
      { forced: true, outcome: 'access-denied', caller: BILLING, pair: { ...PAIR, client: 'globex' } },
    ]);
  });

  it.each([
    [200, 'issued', { cache: 'none', fingerprint: shortDigest('token-1'), credentialVersion: 'v1' }],
    [404, 'token-endpoint-error', {}],
  ])('has its outcome and its duration: %i', async (status, outcome, record) => {
    const { post, world, clock, audited } = createBrokerWorld();
    world.answer = () => {
      clock.now += 250;
      return exchange(status, { access_token: 'token-1', expires_in: 3_600 });
    };
    const { headers } = await post(PAIR);

    expect(headers['server-timing']).toBe(status === 200 ? 'broker;dur=250' : undefined);
    const always = { requestId: 'request-1', caller: BILLING, operation: 'token', pair: PAIR, milliseconds: 250 };
    expect(audited).toEqual([expect.objectContaining({ ...always, outcome, ...record })]);
    expect(audited[0]?.expirySource).toBe(status === 200 ? 'response' : undefined);
  });
});

describe('POST /check', () => {
  const checkers = [exampleRule({ operations: ['check'] })];
  const path = '/check';

  it('has the finding, and never a token', async () => {
    const { post } = createBrokerWorld({ accessRules: checkers });
    const { status, headers, json } = await post(PAIR, { path });

    expect(status).toBe(200);
    expect(headers).toEqual({ ...NOT_KEPT, 'content-type': 'application/json' });
    expect(json).toEqual({
      ...{ ...PAIR, stage: 'AWSCURRENT', finding: 'accepted', version: 'v1', proven_by: 'request' },
      ...{ checked_at: '2026-01-01T00:00:00.000Z', expires_in: 3_600, credential_expires_at: 'never' },
    });
  });

  it('is 200 for every finding, with its cause, and says when another one can find out more', async () => {
    const { post, audited } = createBrokerWorld({ accessRules: checkers, answer: () => exchange(429, {}) });
    expect(await post({ ...PAIR, stage: 'AWSPENDING' }, { path })).toMatchObject({
      status: 200,
      headers: { ...NOT_KEPT, 'retry-after': '1' },
      json: {
        ...{ stage: 'AWSPENDING', finding: 'throttled', cause: 'service', proven_by: 'request' },
        checked_at: '2026-01-01T00:00:00.000Z',
      },
    });
    const written = { operation: 'check', outcome: 'throttled', cause: 'service', pair: PAIR, credentialVersion: 'v1' };
    expect(audited).toEqual([expect.objectContaining(written)]);
  });

  it('needs the operation check, which is no right to a token', async () => {
    const { post, counts } = createBrokerWorld();
    expect(await post(PAIR, { path })).toMatchObject({ status: 403, json: { type: 'access-denied' } });
    expect(counts).toEqual(NO_CALLS);
    expect(await createBrokerWorld({ accessRules: checkers }).post(PAIR)).toMatchObject({ status: 403 });
  });
});

describe('POST /whoami', () => {
  const path = '/whoami';

  it('returns the role that signed and what its own rules allow it, and sends nothing to AWS', async () => {
    const accessRules = [
      exampleRule(),
      exampleRule({ role: 'arn:aws:iam::111111111111:role/reporting', clients: ['globex'] }),
      exampleRule({ role: 'arn:aws:iam::111111111111:role/team/billing', clients: 'all', operations: ['check'] }),
    ];
    const { post, counts, audited } = createBrokerWorld({ accessRules });
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
    expect(counts).toEqual(NO_CALLS);
    expect(audited).toEqual([expect.objectContaining({ operation: 'whoami', outcome: 'identified', caller: BILLING })]);
    expect(audited[0]).not.toHaveProperty('pair');
  });

  it('shows no rule that pins the id of another role, none to another organization, and then no digest of them', async () => {
    const accessRules = [exampleRule(), exampleRule({ roleId: 'AROAFIRST', clients: 'all' })];
    const { post } = createBrokerWorld({ accessRules, principalOrgId: 'o-ours' });
    const first = { ...BILLING, roleId: 'AROAFIRST', principalOrgId: 'o-ours' };
    const ask = async (changes: object) => (await post({}, { path, caller: { ...first, ...changes } })).json;

    expect((await ask({})).rules).toHaveLength(2);
    expect((await ask({ roleId: 'AROASECOND' })).rules).toHaveLength(1);
    const role = 'arn:aws-cn:iam::111111111111:role/billing';
    const foreign = await ask({ partition: 'aws-cn', principalOrgId: undefined });
    expect(foreign).toEqual({ role, account: '111111111111', rules: [] });
  });

  it.each(['', new Uint8Array(), '{}', Buffer.from(' { }\n')])(
    'takes an empty body or object of any content type (%#)',
    async (body) => {
      for (const contentType of [undefined, 'text/plain']) {
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
    ['a query', { query: 'client=acme' }, 400, 'invalid-request', 'Query parameters'],
    ['bad base64', { body: undefined }, 400, 'invalid-request', 'base64'],
    ['a wrong member', { body: '{"client":1}' }, 400, 'invalid-request', 'client: must be a string; service: is'],
  ])('with %s gets a problem, and nothing is asked for it', async (_, changes, status, type, detail) => {
    const { post, counts } = createBrokerWorld();
    const { headers, json, ...response } = await post(PAIR, changes);

    expect(response.status).toBe(status);
    const allowed = status === 405 ? { allow: 'POST' } : {};
    expect(headers).toEqual({ ...NOT_KEPT, 'content-type': 'application/problem+json', ...allowed });
    const told = { type, status, detail: expect.stringContaining(detail), retryable: false };
    expect(json).toEqual({ ...told, title: expect.stringMatching(/\w/), request_id: 'request-1' });
    expect(counts).toEqual(NO_CALLS);
  });

  it.each(['/token', '/check', '/whoami', '/'])('that no role has signed is denied: %s', async (path) => {
    const denied = { status: 403, json: { type: 'access-denied' } };
    expect(await createBrokerWorld().post(PAIR, { caller: undefined, path })).toMatchObject(denied);
    const world = createBrokerWorld();
    const detail = 'Only roles may call: assume one.';
    const signer = 'arn:aws:iam::111111111111:user/alice';
    expect(await world.post(PAIR, { caller: undefined, signer, path })).toMatchObject({ json: { detail } });
    expect(world.audited.at(-1)).toMatchObject({ outcome: 'access-denied', signer, caller: undefined });
  });
});

it.each<[number, string, boolean]>([
  [200, 'token-response-unusable', false],
  [404, 'token-endpoint-error', false],
  [503, 'token-endpoint-unavailable', true],
])('shows the shape, and no value, of an answer without a token: %i', async (status, type, retryable) => {
  const { post } = createBrokerWorld({ answer: () => exchange(status, { state: 'marked-value', count: 1 }) });
  const { headers, body, json } = await post(PAIR);

  const members = [{}, { path: 'state' }, { path: 'count' }];
  expect(json).toMatchObject({ type, retryable, response_shape: { status, bytes: 34, members } });
  expect(body).not.toContain('marked-value');
  expect(headers).toMatchObject({ ...NOT_KEPT, 'retry-after': '1' });
});

it('keeps a defect opaque to the caller, and logs it for the operator', async () => {
  const bug = new TypeError('marked-secret');
  const { post, audited } = createBrokerWorld({ secret: () => Promise.reject(bug) });
  const response = await post(PAIR);

  expect(response).toMatchObject({ status: 500, json: { type: 'internal', retryable: true } });
  expect(response.json.detail).toBe('The broker failed. Tell its operators the request_id.');
  expect(response.body).not.toContain('marked-secret');
  expect(audited).toEqual([expect.objectContaining({ outcome: 'internal', cause: bug })]);
});
