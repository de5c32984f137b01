import { describe, expect, it } from 'vitest';
import { environments } from '../../../lib/environments.ts';
import { ended, runCommandLine, writeSettings } from './shared/command-line.ts';

async function config(...args: readonly string[]) {
  const result = await runCommandLine(['config', ...args], { HTTPS_PROXY: 'http://127.0.0.1:9' });
  expect(result).toMatchObject({ exitCode: 0, stderr: '' });
  return result.stdout;
}

describe('config', () => {
  it('prints every setting of an environment, and where it is from', async () => {
    const stdout = await config('dev');
    for (const line of [
      /^SETTING +VALUE +FROM$/m,
      /^account +111111111111 +written$/m,
      /^services\.customer-insights\.tokenPath +\/auth\/v1\/token +default$/m,
      /^accessRules\[1\]\.operations +token +default$/m,
    ]) {
      expect(stdout).toMatch(line);
    }
    expect(stdout).not.toMatch(/^(?:name|folder) /m);
    expect(await config('--environment', 'prod')).toMatch(/^account +222222222222 +written$/m);
  });

  it('answers --json with the same', async () => {
    const { environment, settings } = JSON.parse(await config('dev', '--json'));
    expect(environment).toBe('dev');
    const path = 'services.customer-insights.tokenPath';
    expect(settings).toContainEqual({ path, value: '/auth/v1/token', source: 'default' });
    expect(settings).toContainEqual({ path: 'canary', value: 'off', source: 'written' });
  });

  it('prints what the organisation requires', async () => {
    writeSettings(environments, { permissionsBoundary: 'team/bounds', bootstrapQualifier: 'broker1' });
    expect(await config('dev')).toMatch(/^organisation\.permissionsBoundary +team\/bounds +written\norganisation\./m);
  });

  it('separates the wrong places of a file', async () => {
    writeSettings(environments, { permissionsBoundary: 'a b', bootstrapQualifier: 'A' });
    const places = /: The settings are wrong in 2 places: organisation\.perm[^;]+; organisation\.boot[^;]+\n.*\n$/;
    expect(await runCommandLine(['config', 'dev'])).toEqual(ended(1, '', places));
  });
});
