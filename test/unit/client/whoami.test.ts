import { describe, expect, it } from 'vitest';
import { createTokenBroker, type TokenBrokerOptions } from '../../../client/token-broker.ts';
import { problem } from './broker-answers.ts';
import { PAIR, startClientWorld } from './client-world.ts';
import { type Answer, answerWith } from './loopback-server.ts';

const CALLER = {
  role: 'arn:aws:iam::111111111111:role/billing',
  account: '111111111111',
  rules: [
    { clients: ['acme', 'globex'], services: ['customer-insights'], operations: ['token'] },
    { clients: 'all', services: 'all', operations: ['token', 'check'] },
  ],
};
const DENIED = problem('access-denied');

/** A broker that denies each token and check, and answers `/whoami` so. */
const denying =
  (whoami: Answer): Answer =>
  (response, request) =>
    (request.url === '/whoami' ? whoami : DENIED)(response, request);

describe('whoami', () => {
  it('tells the role that signs and its access rules', async () => {
    const { broker, server } = await startClientWorld(answerWith(200, { ...CALLER, since: 'later version' }));
    expect(await broker.whoami()).toEqual(CALLER);
    expect(server.requests).toMatchObject([{ method: 'POST', url: '/whoami', body: '{}' }]);
  });

  it.each([
    ['no role', { ...CALLER, role: undefined }],
    ['a role that would steer a terminal', { ...CALLER, role: 'arn:\u001b[31m' }],
    ['an account that is a number', { ...CALLER, account: 111111111111 }],
    ['rules that are no list', { ...CALLER, rules: 'all' }],
    ['a rule without services', { ...CALLER, rules: [{ clients: 'all', operations: ['token'] }] }],
    ['a rule for one name that is no list', { ...CALLER, rules: [{ ...CALLER.rules[0], clients: 'acme' }] }],
    ['a rule that is null', { ...CALLER, rules: [null] }],
  ])('refuses an answer with %s', async (_, answer) => {
    const { broker } = await startClientWorld(answerWith(200, answer));
    await expect(broker.whoami()).rejects.toMatchObject({ type: 'unexpected-answer' });
  });
});

describe('a refusal by the access rules', () => {
  it.each(['token', 'check'] as const)('of a %s says who was refused, and what the rules allow', async (operation) => {
    const { broker, server } = await startClientWorld(denying(answerWith(200, CALLER)));
    const error = await broker[operation](PAIR).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ type: 'access-denied', status: 403, retryable: false, caller: CALLER });
    expect(error).toMatchObject({
      message:
        'access-denied: What happened: access-denied. (request request-1) You are arn:aws:iam::111111111111:role/billing; ' +
        'its access rules allow token for acme, globex on customer-insights; token, check for all on all.',
      problem: { request_id: 'request-1' },
    });
    expect(server.requests).toHaveLength(2);
  });

  it('says that no rule names the role', async () => {
    const { broker } = await startClientWorld(denying(answerWith(200, { ...CALLER, rules: [] })));
    await expect(broker.token(PAIR)).rejects.toThrow(/You are \S+role\/billing; no access rule names it\.$/);
  });

  it.each([
    ['an older broker that does not know the question', problem('not-found')],
    ['a broker that refuses it, too', DENIED],
    ['a broker that fails, which is asked once', problem('internal')],
    ['an answer of AWS', answerWith(502, 'Internal Server Error')],
  ])('stays as it is with %s', async (_, answer) => {
    const { broker, server, waits } = await startClientWorld(denying(answer));
    const error = await broker.token(PAIR).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      message: 'access-denied: What happened: access-denied. (request request-1)',
      caller: undefined,
    });
    expect({ requests: server.requests.length, waits }).toEqual({ requests: 2, waits: [] });
  });

  it('is one question for all callers that wait for the same token', async () => {
    const { broker, server } = await startClientWorld(denying(answerWith(200, CALLER)));
    const all = await Promise.allSettled([broker.token(PAIR), broker.token(PAIR), broker.token(PAIR)]);
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(server.requests.map(({ url }) => url)).toEqual(['/token', '/whoami']);
  });
});

describe('a broker without an address', () => {
  it.each([undefined, {}, { url: '' }, { url: undefined }])(
    'is not made of %j, and says what is missing',
    (options) => {
      // As JavaScript calls it.
      const create = () => createTokenBroker(options as TokenBrokerOptions);
      expect(create).toThrow(TypeError);
      expect(create).toThrow(/needs the url of the broker, its Function URL/);
    },
  );
});
