import { afterEach, describe, expect, it, vi } from 'vitest';
import { defaultProvider } from '../../../functions/aws/bundle.ts';

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
