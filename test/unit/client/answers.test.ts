import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { CallOptions, TokenBroker, TokenBrokerOptions } from '../../../client/token-broker.ts';
import { CAUSE_ADVICE, FINDINGS, PROOFS } from '../../../functions/vocabulary.ts';
import { ACCESS_TOKEN, checked, issued, problem } from './broker-answers.ts';
import { NOW, PAIR, startClientWorld, tooLate } from './client-world.ts';
import { type Answer, answerWith } from './loopback-server.ts';

const CALLER = {
  role: 'arn:aws:iam::111111111111:role/billing',
  account: '111111111111',
  rules: [
    { clients: ['acme', 'globex'], services: ['customer-insights'], operations: ['token'] },
    { clients: 'all', services: 'all', operations: ['token', 'check'] },
  ],
};

const DIGEST = '0123456789abcdef';

/** The result of one call to which the broker answers with this body, and the request that the broker got. */
async function ask<Told>(body: unknown, call: (broker: TokenBroker) => Promise<Told>, headers = {}) {
  const { broker, server, asked } = await startClientWorld(answerWith(200, body, headers), { maxAttempts: 1 });
  const told = await call(broker);
  return { told, url: server.requests[0]?.url, asked: asked()[0] };
}

const token = async (members = {}) => (await ask(issued(NOW, members), (broker) => broker.token(PAIR))).told;
const check = async (members = {}) =>
  (await ask(checked({ ...PAIR, ...members }), (broker) => broker.check(PAIR))).told;

it.each([
  ['30', 30],
  ['in 30', undefined],
  ['30 s', undefined],
])('says when a check may find out more: Retry-After %s', async (text, retryAfterSeconds) => {
  const { told } = await ask(checked(PAIR), (broker) => broker.check(PAIR), { 'retry-after': text });
  expect(told.retryAfterSeconds).toBe(retryAfterSeconds);
});

it('asking for a token returns it as the broker issued it', async () => {
  const cached = { 'cache-status': 'token-broker; hit; detail=memory' };
  const { told } = await ask(issued(NOW, { scope: 'read', region_id: 7 }), (broker) => broker.token(PAIR), cached);
  expect(told).toMatchObject({
    accessToken: ACCESS_TOKEN,
    tokenType: 'Bearer',
    expiresAt: NOW + 3_599_000,
    expiresAtBroker: issued(NOW).expires_at,
    expirySource: 'response',
    fingerprint: '0123456789abcdef',
    scope: 'read',
    passThrough: { region_id: 7 },
    isCached: true,
  });
  expect(await token()).not.toHaveProperty('scope');
  const { told: other } = await ask(issued(NOW), (broker) => broker.token(PAIR), { 'cache-status': 'x; fwd=miss' });
  expect(other.isCached).toBe(false);
});

describe('an issued token', () => {
  const secret = () => token({ refresh_token: 'marked-refresh-token' });

  it('shows its other members in JSON, and [redacted] in place of itself', async () => {
    const shown = { accessToken: '[redacted]', tokenType: 'Bearer', fingerprint: '0123456789abcdef' };
    expect(JSON.parse(JSON.stringify(await secret()))).toMatchObject(shown);
    expect([`${await secret()}`, inspect(await secret())]).toEqual([
      '[redacted]',
      expect.stringContaining('[redacted]'),
    ]);
    expect(Object.isFrozen(await secret())).toBe(true);
  });

  it.each<[string, (token: object) => string]>([
    ['JSON', (token) => JSON.stringify([token])],
    ['inspection', (token) => inspect({ token }, { depth: 9 })],
    ['inspection without the custom function of the object', (token) => inspect(token, { customInspect: false })],
    ['a deep copy', (token) => inspect(structuredClone({ ...token }))],
  ])('is not printed, nor what came with it, in %s', async (_, print) => {
    expect(print(await secret())).not.toContain('marked');
  });
});

describe('asking for a check', () => {
  it('sends the pair and the stage', async () => {
    const stage = 'AWSPENDING';
    const sent = await ask(checked({ ...PAIR, stage }), (broker) => broker.check({ ...PAIR, stage }));
    expect(sent).toMatchObject({ url: '/check', asked: { ...PAIR, stage }, told: { stage } });
  });

  it("returns the broker's finding, with the expiry of the token on this machine's clock", async () => {
    const credential_expires_at = '2027-03-01T00:00:00.000Z';
    const members = { checked_at: '2026-11-01T09:00:00.000Z', expires_in: 120, credential_expires_at };
    expect(await check(members)).toEqual({
      ...PAIR,
      stage: 'AWSCURRENT',
      finding: 'accepted',
      version: 'version-1',
      checkedAt: NOW - 3_600_000,
      provenBy: 'request',
      expiresAt: NOW + 120_000,
      credentialExpiresAt: credential_expires_at,
    });
  });

  it('accepts every finding and every proof of the contract, without a version and without an end', async () => {
    for (const finding of FINDINGS) expect(await check({ finding, version: undefined })).toMatchObject({ finding });
    for (const cause of Object.keys(CAUSE_ADVICE))
      expect(await check({ finding: 'throttled', cause })).toMatchObject({ cause });
    for (const provenBy of PROOFS) expect(await check({ proven_by: provenBy })).not.toHaveProperty('expiresAt');
  });
});

describe('a 200 that is no answer of a broker', () => {
  const GOOD = { token: issued(NOW), check: checked(PAIR), whoami: CALLER };

  it.each<[string, keyof typeof GOOD, object, RegExp]>([
    ['a token that no header can carry', 'token', { access_token: 'mar\r\nked' }, /access_token/],
    ['no type of the token', 'token', { token_type: '' }, /token_type/],
    ['a negative life time', 'token', { expires_in: -1 }, /expires_in/],
    ['a life time that is a text', 'token', { expires_in: '60' }, /expires_in/],
    ['a life time beyond all dates', 'token', { expires_in: Number.MAX_SAFE_INTEGER }, /expires_in/],
    ['an end that is no date', 'token', { expires_at: 'marked' }, /expires_at/],
    ['an end that is a number', 'token', { expires_at: 0 }, /expires_at/],
    ['no source of the expiry', 'token', { expiry_source: undefined }, /expiry_source/],
    ['a fingerprint around a token', 'token', { fingerprint: `${DIGEST}marked${DIGEST}` }, /fingerprint/],
    ['a scope that is a list', 'token', { scope: ['marked'] }, /scope/],
    ['another client', 'check', { client: 'marked' }, /client/],
    ['another service', 'check', { service: 'marked' }, /service/],
    ['another stage', 'check', { stage: 'AWSPREVIOUS' }, /stage/],
    ['a new finding', 'check', { finding: 'toString' }, /finding/],
    ['a version that steers the terminal', 'check', { version: 'marked\u001b[2J' }, /version/],
    ['a time that is not a date', 'check', { checked_at: 'marked' }, /checked_at/],
    ['a cause that steers the terminal', 'check', { cause: 'marked\u001b[2m' }, /cause/],
    ['a new kind of proof', 'check', { proven_by: 'marked' }, /proven_by/],
    ['half a second of a checked token', 'check', { expires_in: 0.5 }, /expires_in/],
    ['an end of a credential that is no word', 'check', { credential_expires_at: 'mar ked' }, /credential_expires_at/],
    ['a role that steers the terminal', 'whoami', { role: 'arn:\u001b[31m' }, /role/],
    ['an account that is a number', 'whoami', { account: 111111111111 }, /account/],
    ['a rule with a name that is no list', 'whoami', { rules: [{ ...CALLER.rules[0], clients: 'acme' }] }, /rules/],
    ['a rule with a name of two words', 'whoami', { rules: [{ ...CALLER.rules[0], services: ['a b'] }] }, /rules/],
    ['a rule without operations', 'whoami', { rules: [{ ...CALLER.rules[0], operations: 'token' }] }, /rules/],
    ['a rule that is null', 'whoami', { rules: [CALLER.rules[0], null] }, /rules/],
    ['a digest in other words', 'whoami', { rules_digest: `${DIGEST} ${DIGEST}` }, /rules_digest/],
  ])('is refused and not quoted: %s', async (_, operation, members, message) => {
    const body = { ...GOOD[operation], ...members };
    const error = await ask<unknown>(body, (broker) => broker[operation](PAIR)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'TokenBrokerError', type: 'unexpected-answer', status: 200, retryable: false });
    expect(error).toHaveProperty('message', expect.stringMatching(message));
    expect(error).toHaveProperty('message', expect.not.stringContaining('marked'));
  });
});

it('whoami returns the role that signs, its access rules and the digest of all rules', async () => {
  const members = { ...CALLER, rules_digest: DIGEST, since: 'later version' };
  const sent = await ask(members, (broker) => broker.whoami());
  expect(sent).toEqual({ told: { ...CALLER, rulesDigest: DIGEST }, url: '/whoami', asked: {} });
});

describe('a refusal by the access rules', () => {
  const DENIED = problem('access-denied');

  /** A broker that denies each token and check, and answers `/whoami` so. */
  const startDenyingWorld = (whoami: Answer, options: Partial<TokenBrokerOptions> = {}) =>
    startClientWorld((response, request) => (request.url === '/whoami' ? whoami : DENIED)(response, request), options);

  it.each(['token', 'check'] as const)('of a %s says who was refused, and what the rules allow', async (operation) => {
    const ids = ['AKIDREFUSED', 'AKIDOTHER'];
    const credentials = async () => ({ accessKeyId: ids.shift() ?? '', secretAccessKey: 'secret' });
    const { broker, server } = await startDenyingWorld(answerWith(200, CALLER), { credentials });
    await expect(broker[operation](PAIR)).rejects.toMatchObject({
      ...{ type: 'access-denied', status: 403, retryable: false, caller: CALLER },
      message:
        'access-denied: What happened: access-denied. (request request-1) Your role is arn:aws:iam::111111111111:role/billing; ' +
        'its access rules allow token for acme, globex on customer-insights; token, check for all clients on all services',
      problem: { request_id: 'request-1' },
    });
    const signed = { headers: { authorization: expect.stringContaining('AKIDREFUSED') } };
    expect(server.requests).toMatchObject([signed, signed]);
  });

  const AS_IT_IS = /^access-denied: .*\(request request-1\)$/;
  const NO_RULE = answerWith(200, { ...CALLER, rules: [] });

  it.each<[string, () => Answer, RegExp, CallOptions?]>([
    ['says that no rule names the role', () => NO_RULE, / Your role .*no access rule names it$/],
    ['stays as it is with a broker that fails', () => problem('internal'), AS_IT_IS],
    ['stays as it is when that answer takes 3 s', () => tooLate(3_000), AS_IT_IS],
    ['stays as it is after half of what is left', () => tooLate(1_000), AS_IT_IS, { deadline: NOW + 2_000 }],
  ])('%s, and asks once who was refused', async (_, answerOf, message, more) => {
    const { broker, server, waits } = await startDenyingWorld(answerOf());
    await expect(broker.token({ ...PAIR, ...more })).rejects.toThrow(message);
    expect({ requests: server.requests.length, waits }).toEqual({ requests: 2, waits: [] });
  });
});
