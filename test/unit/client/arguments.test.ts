import { describe, expect, it } from 'vitest';
import { createTokenBroker } from '../../../client/index.ts';
import { createFakeBroker } from '../../../client/testing.ts';
import { PAIR, startClientWorld } from './client-world.ts';

const URL_OF_BROKER = 'https://abcdefghij.lambda-url.eu-west-1.on.aws/';

/** The calls as a program without types may write them. */
const untyped = (call: object): Record<string, (...args: readonly unknown[]) => unknown> => Object(call);

describe('a first slip in a call', () => {
  const example = '{ client: "acme", service: "customer-insights" }';

  it.each<[string, readonly unknown[], string]>([
    ['token', [], `client is missing or is not a name. Call token(${example})`],
    ['token', ['acme', 'customer-insights'], `client is missing or is not a name. Call token(${example})`],
    ['token', [{ client: 'acme' }], `service is missing or is not a name. Call token(${example})`],
    ['token', [{ ...PAIR, client: '' }], `client is missing or is not a name. Call token(${example})`],
    [
      'token',
      [{ ...PAIR, min_ttl: 60 }],
      `min_ttl is not one of its members: client, service, minTtl, signal, deadline, refused. Call token(${example})`,
    ],
    [
      'fetch',
      ['https://example.com'],
      `client is missing or is not a name. Call fetch(url, { method: "GET" }, ${example})`,
    ],
    ['withToken', [PAIR], `a function is missing. Call withToken(${example}, async ({ accessToken }) => { … })`],
    ['withToken', [{ ...PAIR, refused: 'x' }, () => 1], 'refused is not one of its members: client, service, minTtl,'],
  ])('is a TypeError that shows how to call %s: %j', async (name, args, message) => {
    const { broker, server } = await startClientWorld([]);
    const called = untyped(broker)[name]?.(...args);
    await expect(called).rejects.toThrow(message);
    await expect(called).rejects.toBeInstanceOf(TypeError);
    expect(server.requests).toEqual([]);
  });

  it.each<[object, string]>([
    [{ services: { insights: 'https://example.com' } }, 'services: insights takes a list of URLs: { insights: ["'],
    [{ timeout: 5 }, 'timeout is not one of its members: url, region, credentials, services, cache, maxAttempts,'],
  ])('of createTokenBroker is a TypeError: %j', (options, message) => {
    const create = () => createTokenBroker({ url: URL_OF_BROKER, ...options });
    expect(create).toThrow(message);
    expect(create).toThrow(TypeError);
  });

  it('of createFakeBroker is a TypeError', () => {
    const create = () => untyped({ createFakeBroker }).createFakeBroker?.({ lifetime: 60 });
    expect(create).toThrow(/^lifetime is not one of its members: startsAt, lifetimeSeconds, /);
  });

  it('is no member that is undefined, and no member of the init of fetch', async () => {
    const fake = createFakeBroker({ fetch: async (_, init) => Response.json(Object(init).extra) });
    const call = { ...PAIR, more: undefined, minTtl: undefined };
    const init: object = { extra: 'kept' };
    expect(await (await fake.broker.fetch('https://example.com', init, call)).json()).toBe('kept');
  });

  it('is none of the options that the types name', () => {
    const hooks = { now: Date.now, sleep: async () => undefined, random: Math.random, fetch };
    const limits = { cache: false, maxAttempts: 1, timeoutMs: 1, patienceMs: 1 };
    const all: Required<Parameters<typeof createTokenBroker>[0]> = {
      ...{
        url: URL_OF_BROKER,
        region: 'eu-west-1',
        credentials: { accessKeyId: 'A', secretAccessKey: 'B' },
        services: {},
      },
      ...hooks,
      ...limits,
    };
    expect(() => createTokenBroker(all)).not.toThrow();
    const caller = { role: 'arn:aws:iam::111111111111:role/fake', account: '111111111111', rules: [] };
    const fake: Required<NonNullable<Parameters<typeof createFakeBroker>[0]>> = {
      ...{ startsAt: 0, lifetimeSeconds: 1, services: {}, fetch, caller },
    };
    expect(() => createFakeBroker(fake)).not.toThrow();
  });
});

describe('the cause of a failure', () => {
  it('is a fresh error with name, code and host, because the message of the engine may quote a header', async () => {
    const engine = Object.assign(new TypeError('invalid header value "marked-secret"'), { code: 'ERR_INVALID_CHAR' });
    const fetch = () => Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: engine }));
    const { broker, server } = await startClientWorld([], { fetch, maxAttempts: 1 });
    const error = await broker.token(PAIR).catch((failure: unknown) => failure);
    const { host } = new URL(server.url);
    expect(error).toMatchObject({
      type: 'network-error',
      cause: { name: 'TypeError', code: 'ERR_INVALID_CHAR', host },
    });
    expect(Object(error).cause).not.toBe(engine);
    expect(Object(error).cause.stack).not.toContain('marked');
  });

  it.each(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])(
    'tells a missing module from missing credentials: %s',
    async (code) => {
      const credentials = () => Promise.reject(Object.assign(new Error('Cannot find package /home/marked'), { code }));
      const { broker } = await startClientWorld([], { credentials });
      const error = await broker.token(PAIR).catch((failure: unknown) => failure);
      expect(error).toMatchObject({ type: 'aws-sdk-missing', retryable: false, cause: { code } });
      expect(Object(error).cause.message).toBe(code);
    },
  );

  it('tells the time-out of the signal from its abort', async () => {
    const { broker } = await startClientWorld([]);
    const passed = AbortSignal.abort(new DOMException('marked', 'TimeoutError'));
    await expect(broker.token({ ...PAIR, signal: passed })).rejects.toMatchObject({
      ...{ type: 'signal-timeout', retryable: true, cause: passed.reason },
    });
    await expect(broker.token({ ...PAIR, signal: AbortSignal.abort() })).rejects.toMatchObject({ type: 'aborted' });
  });
});
