import { afterEach, expect, it, vi } from 'vitest';
import { defaultProvider } from '../../../functions/aws/bundle.ts';

afterEach(() => void vi.unstubAllEnvs());

it('the credentials of a bundled client are those of the variables, as they are at that moment', async () => {
  const provider = defaultProvider();
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'ASIAEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'example');
  vi.stubEnv('AWS_SESSION_TOKEN', 'session');
  const key = { accessKeyId: 'ASIAEXAMPLE', secretAccessKey: 'example' };
  expect(await provider()).toEqual({ ...key, sessionToken: 'session' });
  vi.stubEnv('AWS_SESSION_TOKEN', undefined);
  expect(await provider()).toEqual(key);
  for (const name of ['AWS_SECRET_ACCESS_KEY', 'AWS_ACCESS_KEY_ID']) {
    vi.stubEnv(name, undefined);
    await expect(provider()).rejects.toMatchObject({ name: 'CredentialsProviderError' });
    vi.stubEnv(name, 'example');
  }
});
