import { describe, expect, it } from 'vitest';
import { createTokenBroker } from '../../../client/index.ts';
import { createFakeBroker } from '../../../client/testing.ts';
import { PAIR, startClientWorld } from './client-world.ts';

/** The calls as a program without types may write them. */
const untyped = (call: object): Record<string, (...args: readonly unknown[]) => unknown> => Object(call);

describe('a first slip in a call', () => {
  const example = '{ client: "acme", service: "customer-insights" }';
  const members = 'client, service, minTtl, signal, deadline';

  it.each<[string, readonly unknown[], string]>([
    ['token', [], `client is missing or is not a name. Call token(${example})`],
    ['token', ['acme', 'customer-insights'], 'client is missing or is not a name.'],
    ['token', [{ client: 'acme' }], 'service is missing or is not a name.'],
    ['token', [{ ...PAIR, client: '' }], 'client is missing or is not a name.'],
    [
      'token',
      [{ ...PAIR, min_ttl: 60 }],
      `min_ttl is not one of its members: ${members}, refused. Call token(${example})`,
    ],
    ['fetch', ['https://example.com'], `Call fetch(url, { method: "GET" }, ${example})`],
    ['withToken', [PAIR], `a function is missing. Call withToken(${example}, async ({ accessToken }) => { … })`],
    ['withToken', [{ ...PAIR, refused: 'x' }, () => 1], `refused is not one of its members: ${members}. `],
  ])('is a TypeError that shows how to call %s: %j', async (name, args, message) => {
    const { broker, server } = await startClientWorld([]);
    const called = untyped(broker)[name]?.(...args);
    await expect(called).rejects.toThrow(message);
    await expect(called).rejects.toBeInstanceOf(TypeError);
    expect(server.requests).toEqual([]);
  });

  const url = 'https://abcdefghij.lambda-url.eu-west-1.on.aws/';
  const NO_URL = 'needs the url of the broker, its Function URL';

  it.each<[string, unknown, string]>([
    ['createTokenBroker', undefined, NO_URL],
    ['createTokenBroker', {}, NO_URL],
    ['createTokenBroker', { url: '' }, NO_URL],
    [
      'createTokenBroker',
      { url, services: { one: 'https://example.com' } },
      'services: one takes a list of URLs: { one:',
    ],
    [
      'createTokenBroker',
      { url, services: { one: ['example.com'] } },
      'services: the entries of one must be URLs such as',
    ],
    [
      'createTokenBroker',
      { url, timeout: 5 },
      'timeout is not one of its members: url, region, credentials, services,',
    ],
    ['createFakeBroker', { lifetime: 60 }, 'lifetime is not one of its members: startsAt, lifetimeSeconds, '],
  ])('of %s is a TypeError: %j', (name, options, message) => {
    const create = () => untyped({ createTokenBroker, createFakeBroker })[name]?.(options);
    expect(create).toThrow(message);
    expect(create).toThrow(TypeError);
  });

  it('is no member that is undefined, and no member of the init of fetch', async () => {
    const fake = createFakeBroker({ fetch: async (_, init) => Response.json(Object(init).extra) });
    const call = { ...PAIR, more: undefined, minTtl: undefined };
    const init: object = { extra: 'kept' };
    expect(await (await fake.broker.fetch('https://example.com', init, call)).json()).toBe('kept');
  });

  it('is none of the options that the types name', () => {
    const all: Required<Parameters<typeof createTokenBroker>[0]> = {
      ...{ url, region: 'eu-west-1', credentials: { accessKeyId: 'A', secretAccessKey: 'B' } },
      ...{ services: {}, cache: false, maxAttempts: 1, timeoutMs: 1, patienceMs: 1 },
      ...{ fetch, now: Date.now, sleep: async () => undefined, random: Math.random },
    };
    expect(() => createTokenBroker(all)).not.toThrow();
    const caller = { role: 'arn:aws:iam::111111111111:role/fake', account: '111111111111', rules: [] };
    const fake: Required<NonNullable<Parameters<typeof createFakeBroker>[0]>> = {
      ...{ startsAt: 0, lifetimeSeconds: 1, services: {}, fetch, caller },
    };
    expect(() => createFakeBroker(fake)).not.toThrow();
  });
});
