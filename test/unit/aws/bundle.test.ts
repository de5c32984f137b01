import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  booleanSelector,
  defaultProvider,
  getRetryPlugin,
  loadConfig,
  NODE_REGION_CONFIG_OPTIONS,
  NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS,
  resolveRegionConfig,
  Sha256,
} from '../../../functions/aws/bundle/sdk.ts';

afterEach(() => void vi.unstubAllEnvs());

describe('the credentials of a bundled client', () => {
  it('are those of the variables, as they are at that moment', async () => {
    const provider = defaultProvider();
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'ASIAEXAMPLE');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'example');
    vi.stubEnv('AWS_SESSION_TOKEN', 'session');
    expect(await provider()).toEqual({
      accessKeyId: 'ASIAEXAMPLE',
      secretAccessKey: 'example',
      sessionToken: 'session',
    });
    vi.stubEnv('AWS_SESSION_TOKEN', undefined);
    expect(await provider()).toEqual({ accessKeyId: 'ASIAEXAMPLE', secretAccessKey: 'example' });
  });

  it.each(['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])('are missed when there is no %s', async (name) => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'ASIAEXAMPLE');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'example');
    vi.stubEnv(name, undefined);
    await expect(defaultProvider()()).rejects.toMatchObject({
      name: 'CredentialsProviderError',
      message: 'There are no credentials in the environment.',
    });
  });
});

describe('a setting of a bundled client', () => {
  it('is that of its variable, else its default', async () => {
    vi.stubEnv('AWS_USE_FIPS_ENDPOINT', undefined);
    expect(await loadConfig(NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS)()).toBe(false);
    vi.stubEnv('AWS_USE_FIPS_ENDPOINT', 'true');
    expect(await loadConfig(NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS)()).toBe(true);
  });

  it('may have a default that has to be waited for, once', async () => {
    let asked = 0;
    const load = loadConfig({
      environmentVariableSelector: () => undefined,
      default: async () => {
        asked += 1;
        return 'waited for';
      },
    });
    expect([await load(), await load(), asked]).toEqual(['waited for', 'waited for', 1]);
  });

  it('is refused when it is neither true nor false', () => {
    expect(booleanSelector({}, 'AWS_USE_FIPS_ENDPOINT')).toBe(undefined);
    expect(() => booleanSelector({ AWS_USE_FIPS_ENDPOINT: 'yes' }, 'AWS_USE_FIPS_ENDPOINT')).toThrow(
      'AWS_USE_FIPS_ENDPOINT must be true or false.',
    );
  });

  it('must be there if it is the region', async () => {
    vi.stubEnv('AWS_REGION', undefined);
    await expect(loadConfig(NODE_REGION_CONFIG_OPTIONS)()).rejects.toThrow('AWS_REGION must be set.');
    vi.stubEnv('AWS_REGION', 'eu-west-1');
    expect(await loadConfig(NODE_REGION_CONFIG_OPTIONS)()).toBe('eu-west-1');
  });

  it('may be given as a value or as a function', async () => {
    const given = resolveRegionConfig({ region: 'eu-west-1', useFipsEndpoint: async () => true });
    expect([await given.region(), await given.useFipsEndpoint()]).toEqual(['eu-west-1', true]);
  });
});

describe('the hash that a bundled client signs with', () => {
  const bytes = new Uint8Array([0, ...new TextEncoder().encode('abc'), 0]).subarray(1, 4);

  it.each([
    ['a text', 'abc'],
    ['a view of bytes', bytes],
  ])('is SHA-256 of %s', async (_, data) => {
    const hash = new Sha256();
    hash.update(data);
    expect(hex(await hash.digest())).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it.each([
    ['a text', 'Jefe'],
    ['bytes', new TextEncoder().encode('Jefe')],
  ])('is HMAC with the secret that it is given, %s', async (_, secret) => {
    const hash = new Sha256(secret);
    hash.update('what do ya want ');
    hash.update('for nothing?');
    expect(hex(await hash.digest())).toBe('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843');
  });
});

it('what stands in for repetition keeps its place, does nothing, and is found where signing looks for it', () => {
  const added: unknown[] = [];
  const next = () => 'asked once';
  getRetryPlugin().applyToStack({ add: (middleware, place) => void added.push(middleware(next), place) });
  expect(added).toEqual([next, expect.objectContaining({ name: 'retryMiddleware', step: 'finalizeRequest' })]);
});

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
