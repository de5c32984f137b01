import { describe, expect, it } from 'vitest';
import { fingerprint } from '../../../functions/aws/sealing/sealing.ts';
import { type BrokerRequest, createTokenEndpoint } from '../../../functions/broker/http/token-endpoint.ts';
import { createBrokerWorld, exchange } from '../../support/broker-world.ts';
import { BILLING, exampleRule, exampleService, START } from '../../support/example.ts';

const MEMBERS = { client: 'acme', service: 'customer-insights' };
const bytes = (text: string) => new TextEncoder().encode(text);

const REQUEST: BrokerRequest = {
  requestId: 'request-1',
  method: 'POST',
  path: '/token',
  query: '',
  contentType: 'application/json',
  body: JSON.stringify(MEMBERS),
  caller: BILLING,
  deadline: START + 10_000,
};

describe('POST /token', () => {
  it('answers with the token, how long it lives and its name', async () => {
    const { post } = createBrokerWorld();

    expect(await post(MEMBERS)).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'application/json',
        'cache-control': 'no-store',
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

  it('gives nothing of the answer of the service but what the settings pass through', async () => {
    const service = exampleService({ response: { lifetimeUnit: 'seconds', passThrough: ['region'] } });
    const { post } = createBrokerWorld({
      services: { 'customer-insights': service },
      answer: () =>
        exchange(200, { access_token: 'token-1', expires_in: 60, refresh_token: 'r', scope: 'read', region: 'eu' }),
    });
    const { json } = await post(MEMBERS);

    expect(Object.keys(json).sort()).toEqual([
      'access_token',
      'expires_at',
      'expires_in',
      'expiry_source',
      'fingerprint',
      'region',
      'scope',
      'token_type',
    ]);
  });

  it('takes the same members as a form', async () => {
    const { post } = createBrokerWorld();
    const form = {
      contentType: 'application/x-www-form-urlencoded; charset=UTF-8',
      body: bytes('client=acme&service=customer-insights&min_ttl=60'),
    };

    expect(await post({}, form)).toMatchObject({ status: 200, json: { access_token: 'token-1' } });
  });

  it('counts the remaining life time down while the token is in memory', async () => {
    const { post, clock } = createBrokerWorld();
    await post(MEMBERS);
    clock.now += 59_001;

    expect(await post(MEMBERS)).toMatchObject({
      headers: { 'cache-status': 'token-broker; hit; detail=memory' },
      json: { access_token: 'token-1', expires_in: 3_540, expires_at: '2026-01-01T01:00:00.000Z' },
    });
  });
});

describe('a clock that was set back', () => {
  it('does not make a token live longer than its whole life', async () => {
    const { post, clock } = createBrokerWorld({
      accessRules: [exampleRule({ operations: ['token', 'check'] })],
    });
    await post(MEMBERS);
    clock.now -= 20_000;

    expect((await post(MEMBERS)).json).toMatchObject({ access_token: 'token-1', expires_in: 3_600 });
    expect((await post(MEMBERS, { path: '/check' })).json).toMatchObject({ proven_by: 'traffic', expires_in: 3_600 });
  });
});

describe('what is written down of a request', () => {
  it('says from where it came, and whether it forced a token or asked how long it lives', async () => {
    const { post, audited } = createBrokerWorld();
    const { json } = await post(MEMBERS, { sourceIp: '192.0.2.1' });
    await post({ ...MEMBERS, refused: json.fingerprint, min_ttl: 60 });
    await post({ ...MEMBERS, client: 'globex', refused: json.fingerprint });

    expect(audited).toMatchObject([
      { sourceIp: '192.0.2.1', forced: false, minTtl: 0 },
      { forced: true, minTtl: 60, outcome: 'issued' },
      { forced: true, outcome: 'access-denied' },
    ]);
  });

  it('says which token was issued, from where, and how long that took', async () => {
    const { post, world, clock, audited } = createBrokerWorld();
    world.answer = () => {
      clock.now += 250;
      return exchange(200, { access_token: 'token-1', expires_in: 3_600 });
    };
    const { headers } = await post(MEMBERS);

    expect(headers['server-timing']).toBe('broker;dur=250');
    expect(audited).toEqual([
      expect.objectContaining({
        requestId: 'request-1',
        caller: BILLING,
        operation: 'token',
        pair: MEMBERS,
        outcome: 'issued',
        cache: 'none',
        fingerprint: fingerprint('token-1'),
        credentialVersion: 'v1',
        expirySource: 'response',
        milliseconds: 250,
      }),
    ]);
  });

  it('says how long a problem took', async () => {
    const { post, world, clock, audited } = createBrokerWorld();
    world.answer = () => {
      clock.now += 250;
      return exchange(404, {});
    };
    await post(MEMBERS);

    expect(audited).toEqual([expect.objectContaining({ outcome: 'token-endpoint-error', milliseconds: 250 })]);
  });
});

describe('a request that nothing answers', () => {
  it('gets a problem shortly after its deadline, which says when to ask again', async () => {
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
    const response = await endpoint(REQUEST);

    expect(waits).toEqual([10_250]);
    expect(response).toMatchObject({ status: 504, headers: { 'retry-after': '1' } });
    expect(JSON.parse(response.body)).toMatchObject({
      type: 'token-endpoint-timeout',
      detail: 'No answer came in time.',
    });
  });
});

describe('POST /check', () => {
  const checkers = [exampleRule({ operations: ['check'] })];
  const path = '/check';

  it('tells what was found, and never a token', async () => {
    const { post } = createBrokerWorld({ accessRules: checkers });
    const response = await post(MEMBERS, { path });

    expect(response).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(response.json).toEqual({
      ...MEMBERS,
      stage: 'AWSCURRENT',
      finding: 'accepted',
      version: 'v1',
      checked_at: '2026-01-01T00:00:00.000Z',
      proven_by: 'request',
      expires_in: 3_600,
    });
  });

  it('is 200 for every finding', async () => {
    const { post, audited } = createBrokerWorld({ accessRules: checkers, secret: () => ({ outcome: 'missing' }) });

    expect(await post({ ...MEMBERS, stage: 'AWSPENDING' }, { path })).toMatchObject({
      status: 200,
      json: { stage: 'AWSPENDING', finding: 'secret-missing', proven_by: 'secret' },
    });
    expect(audited).toEqual([expect.objectContaining({ operation: 'check', outcome: 'secret-missing' })]);
  });

  it.each([
    ['the operation check', { accessRules: [exampleRule()] }, MEMBERS, 403, 'access-denied'],
    ['a stage that exists', { accessRules: checkers }, { ...MEMBERS, stage: 'current' }, 400, 'invalid-request'],
    ['members of its own', { accessRules: checkers }, { ...MEMBERS, min_ttl: 1 }, 400, 'invalid-request'],
  ] as const)('needs %s', async (_, world, members, status, type) => {
    const { post, calls } = createBrokerWorld({ ...world, accessRules: [...world.accessRules] });

    expect(await post(members, { path })).toMatchObject({ status, json: { type } });
    expect(calls).toEqual({ secretReads: 0, tokenRequests: 0 });
  });

  it('gives no right to a token', async () => {
    const { post } = createBrokerWorld({ accessRules: checkers });

    expect(await post(MEMBERS)).toMatchObject({ status: 403 });
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

    expect(response).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(response.json).toEqual({
      role: 'arn:aws:iam::111111111111:role/billing',
      account: '111111111111',
      rules: [
        { clients: ['acme'], services: ['customer-insights'], operations: ['token'] },
        { clients: 'all', services: ['customer-insights'], operations: ['check'] },
      ],
    });
    expect(calls).toEqual({ secretReads: 0, tokenRequests: 0 });
    expect(audited).toEqual([expect.objectContaining({ operation: 'whoami', outcome: 'identified', caller: BILLING })]);
    expect(audited[0]).not.toHaveProperty('pair');
  });

  it('shows no rule that pins the id of another role, and none to another organization', async () => {
    const accessRules = [exampleRule(), exampleRule({ roleId: 'AROAFIRST', clients: 'all' })];
    const { post } = createBrokerWorld({ accessRules, principalOrgId: 'o-ours' });
    const caller = { ...BILLING, roleId: 'AROASECOND', principalOrgId: 'o-ours' };

    expect((await post({}, { path, caller })).json.rules).toHaveLength(1);
    expect((await post({}, { path, caller: { ...caller, roleId: 'AROAFIRST' } })).json.rules).toHaveLength(2);
    expect((await post({}, { path, caller: { ...caller, principalOrgId: undefined } })).json.rules).toEqual([]);
    expect(await post(MEMBERS, { caller: { ...caller, principalOrgId: 'o-theirs' } })).toMatchObject({ status: 403 });
  });

  it('says that no rule names a role', async () => {
    const { post } = createBrokerWorld({ accessRules: [exampleRule()] });
    const caller = { ...BILLING, partition: 'aws-cn', role: 'stranger' };

    expect((await post({}, { path, caller })).json).toEqual({
      role: 'arn:aws-cn:iam::111111111111:role/stranger',
      account: '111111111111',
      rules: [],
    });
  });

  it.each([
    ['an empty text', ''],
    ['no bytes', bytes('')],
    ['an object', '{}'],
    ['an object with spaces', bytes(' { }\n')],
  ])('takes a body that is %s, of any content type', async (_, body) => {
    const { post } = createBrokerWorld();

    for (const contentType of [undefined, 'application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
      expect(await post({}, { path, body, contentType })).toMatchObject({ status: 200 });
    }
  });

  it.each<[string, Partial<BrokerRequest>, number, string]>([
    ['a member', { body: '{"client":"acme"}' }, 400, 'unknown member "client"'],
    ['a form', { body: 'client=acme', contentType: 'application/x-www-form-urlencoded' }, 400, 'valid JSON'],
    ['an array', { body: '[]' }, 400, 'must be an object'],
    ['a query', { query: 'client=acme' }, 400, 'Query parameters'],
    ['bad base64', { body: undefined }, 400, 'base64'],
    ['a GET', { method: 'GET' }, 405, 'POST'],
    ['more than 16 KiB', { body: ' '.repeat(16_385) }, 413, '16384'],
    ['no role that signed', { caller: undefined }, 403, 'POST /whoami'],
  ])('refuses %s', async (_, changes, status, detail) => {
    const { post } = createBrokerWorld();
    const response = await post({}, { path, ...changes });

    expect(response).toMatchObject({ status, json: { detail: expect.stringContaining(detail) } });
  });
});

describe('a bad request', () => {
  const text = (body: string): Partial<BrokerRequest> => ({ body: bytes(body) });
  const withMember = (member: string) => text(`{"client":"a","service":"s",${member}}`);
  const form = (body: string) => ({ ...text(body), contentType: 'application/x-www-form-urlencoded' });

  /** What the caller is told, and that nothing was asked for it. */
  async function expectProblem(changes: Partial<BrokerRequest>, status: number, type: string, detail: string) {
    const { post, calls } = createBrokerWorld();

    expect(await post(MEMBERS, changes)).toMatchObject({
      status,
      headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
      json: { type, status, detail: expect.stringContaining(detail), retryable: false, request_id: 'request-1' },
    });
    expect(calls).toEqual({ secretReads: 0, tokenRequests: 0 });
  }

  it.each<[string, Partial<BrokerRequest>, number, string, string]>([
    ['another path', { path: '/tokens' }, 404, 'not-found', 'POST /token'],
    ['a path with a slash too many', { path: '/token/' }, 404, 'not-found', 'POST /token'],
    ['a GET', { method: 'GET' }, 405, 'method-not-allowed', 'POST'],
    ['a method in lower case', { method: 'post' }, 405, 'method-not-allowed', 'POST'],
    ['no content type', { contentType: undefined }, 415, 'unsupported-media-type', 'application/json'],
    ['XML', { contentType: 'application/xml' }, 415, 'unsupported-media-type', 'application/json'],
    ['an inherited name as content type', { contentType: 'constructor' }, 415, 'unsupported-media-type', 'UTF-8'],
    ['another charset', { contentType: 'application/json; charset=latin1' }, 415, 'unsupported-media-type', 'UTF-8'],
    ['a body of more than 16 KiB', text('x'.repeat(16_385)), 413, 'content-too-large', '16384'],
  ])('with %s gets a problem', async (_, changes, status, type, detail) => {
    await expectProblem(changes, status, type, detail);
  });

  it.each<[string, Partial<BrokerRequest>, string]>([
    ['a query', { query: 'client=acme' }, 'Query parameters'],
    ['a repeated query key', { query: 'client=acme&client=globex' }, 'Query parameters'],
    ['bad base64', { body: undefined }, 'base64'],
    ['bytes that are not UTF-8', { body: new Uint8Array([0x22, 0xff, 0x22]) }, 'UTF-8'],
    ['an empty body', text(''), 'valid JSON'],
    ['truncated JSON', text('{"client":'), 'valid JSON'],
    ['an array', text('[]'), 'must be an object'],
    ['null', text('null'), 'must be an object'],
    ['deep nesting', text('['.repeat(8_000) + ']'.repeat(8_000)), 'must be an object'],
    ['no members', text('{}'), 'client: is required; service: is required'],
    ['a number as client', text('{"client":1,"service":"s"}'), 'client: must be a string'],
    ['a client with a slash', text('{"client":"a/b","service":"s"}'), 'client: must be 1 to 63'],
    ['a client of 64 characters', text(`{"client":"${'a'.repeat(64)}","service":"s"}`), 'client:'],
    ['a line break after the client', text('{"client":"acme\\n","service":"s"}'), 'client:'],
    ['an unknown member', withMember('"x":1'), 'unknown member "x"'],
    ['__proto__', withMember('"__proto__":{}'), '"__proto__"'],
    ['min_ttl as text', withMember('"min_ttl":"60"'), 'min_ttl: must be a'],
    ['min_ttl with a fraction', withMember('"min_ttl":1.5'), 'min_ttl:'],
    ['a negative min_ttl', withMember('"min_ttl":-1'), 'min_ttl: must be 0'],
    ['min_ttl of more than a day', withMember('"min_ttl":86401'), '86400'],
    ['a token as refused', withMember('"refused":"eyJhb"'), 'refused: must be'],
    ['a form member given twice', form('client=a&client=b&service=s'), '"client": is given more'],
    ['a form with an unknown member', form('client=a&service=s&__proto__=1'), '"__proto__"'],
    ['a form whose min_ttl is no number', form('client=a&service=s&min_ttl=1e3'), 'min_ttl:'],
  ])('with %s is invalid', async (_, changes, detail) => {
    await expectProblem(changes, 400, 'invalid-request', detail);
  });

  it.each(['x'.repeat(33), 'Se9ZpR4Se9ZpR4', 'a token.with/odd=characters'])(
    'does not repeat the name of an unknown member that is no word: %s',
    async (name) => {
      const { post } = createBrokerWorld();
      const { json } = await post({ ...MEMBERS, [name]: 1 });
      expect(json.detail).toBe('unknown member whose name is not shown.');
    },
  );

  it('does not repeat a token that was sent as a whole form', async () => {
    const { post } = createBrokerWorld();
    const token = 'Se9ZpR4Se9ZpR4';
    const contentType = 'application/x-www-form-urlencoded';
    const { body } = await post({}, { contentType, body: new TextEncoder().encode(`${token}&${token}`) });
    expect(body).toContain('invalid-request');
    expect(body).not.toContain(token);
  });
});

describe('a denial', () => {
  const world = () => createBrokerWorld({ accessRules: [exampleRule()] });

  it.each([
    ['an unknown client', { ...MEMBERS, client: 'no-such-client' }],
    ['an unknown service', { ...MEMBERS, service: 'no-such-service' }],
    ['a forbidden service', { ...MEMBERS, service: 'merchant-payment-cleansing' }],
  ])('is for %s byte-equal to the one for a forbidden client', async (_, members) => {
    const forbidden = await world().post({ ...MEMBERS, client: 'globex' });
    const { post, calls } = world();
    const response = await post(members);

    expect(response.status).toBe(403);
    expect(response.body).toBe(forbidden.body);
    expect(response.headers).toEqual(forbidden.headers);
    expect(calls).toEqual({ secretReads: 0, tokenRequests: 0 });
  });

  it('meets every caller that did not sign as a role, for every request', async () => {
    const { post } = world();

    expect(await post(MEMBERS, { caller: undefined })).toMatchObject({ status: 403, json: { type: 'access-denied' } });
    expect(await post({}, { caller: undefined, path: '/' })).toMatchObject({ status: 403 });
  });

  it('comes before the cache: a token in memory is not for another role', async () => {
    const { post } = world();
    await post(MEMBERS);

    expect(await post(MEMBERS, { caller: { ...BILLING, role: 'reporting' } })).toMatchObject({ status: 403 });
  });

  it('is written down with the caller and what was asked for', async () => {
    const { post, audited } = world();
    await post({ ...MEMBERS, client: 'globex' });

    expect(audited).toEqual([
      expect.objectContaining({
        outcome: 'access-denied',
        caller: BILLING,
        pair: { client: 'globex', service: 'customer-insights' },
      }),
    ]);
  });
});

describe('an answer of the service without a token', () => {
  it.each<[number, string, boolean]>([
    [200, 'token-response-unusable', false],
    [404, 'token-endpoint-error', false],
    [503, 'token-endpoint-unavailable', true],
  ])('is shown in its shape, and none of its values: %i', async (status, type, retryable) => {
    const { post } = createBrokerWorld({ answer: () => exchange(status, { state: 'marked-value', count: 1 }) });
    const { body, json } = await post(MEMBERS);

    expect(json).toMatchObject({ type, retryable });
    expect(json.response_shape).toEqual({
      status,
      contentType: 'application/json',
      bytes: 34,
      members: [
        { path: '$', type: 'object', length: 2 },
        { path: 'state', type: 'string', length: 12 },
        { path: 'count', type: 'number' },
      ],
    });
    expect(body).not.toContain('marked-value');
  });
});

describe('a bug', () => {
  it('stays opaque to the caller and is written down for the operator', async () => {
    const { post, audited } = createBrokerWorld({
      secret: () => {
        throw new TypeError('marked-secret');
      },
    });
    const response = await post(MEMBERS);

    expect(response).toMatchObject({ status: 500, json: { type: 'internal', retryable: true } });
    expect(response.json.detail).toBe('The broker failed. Tell its operators the request_id.');
    expect(response.body).not.toContain('marked-secret');
    expect(audited).toEqual([expect.objectContaining({ outcome: 'internal', cause: expect.any(TypeError) })]);
  });
});
