import { afterEach, describe, expect, it, vi } from 'vitest';
import { defaultProvider } from '../../../functions/aws/bundle/credential-provider-node.ts';
import {
  booleanSelector,
  loadConfig,
  NODE_REGION_CONFIG_OPTIONS,
  NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS,
  resolveRegionConfig,
} from '../../../functions/aws/bundle/smithy-core-config.ts';

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
    await expect(defaultProvider()()).rejects.toThrow('There are no credentials in the environment.');
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
