import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { environments } from '../../../lib/environments.ts';
import { SETTINGS_VARIABLE } from '../../../lib/settings/names.ts';
import { resourceOf, synthesise } from '../../support/stack/synthesise.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ended, runCommandLine } from './shared/command-line.ts';

async function config(...args: readonly string[]) {
  const result = await runCommandLine(['config', ...args], { HTTPS_PROXY: 'http://127.0.0.1:9' });
  expect(result).toMatchObject({ exitCode: 0, stderr: '' });
  return result.stdout;
}

it('env --unset removes the variables, and says that those of before are not restored', async () => {
  const unset = await runCommandLine(['env', '--unset']);
  expect(unset).toEqual(ended(0, /^unset .*AWS_SECRET_ACCESS_KEY\n$/, /AWS_PROFILE and AWS_REGION, are not restored/));
});

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
    requiring({ permissionsBoundary: 'team/bounds', bootstrapQualifier: 'broker1' });
    expect(await config('dev')).toMatch(
      /^organisation\.permissionsBoundary +team\/bounds +written\norganisation\.boot/m,
    );
  });

  it('separates the wrong places of a file', async () => {
    requiring({ permissionsBoundary: 'a b', bootstrapQualifier: 'A' });
    const places = /: The settings are wrong in 2 places: organisation\.perm[^;]+; organisation\.boot[^;]+\n.*\n$/;
    expect(await runCommandLine(['config', 'dev'])).toEqual(ended(1, '', places));
  });

  it('prints with --key-policy the policy of the stack’s key', async () => {
    const key = resourceOf(synthesise('dev', environments.dev), 'ClientSecrets', 'AWS::KMS::Key');
    expect(JSON.parse(await config('dev', '--key-policy'))).toEqual(key.Properties.KeyPolicy);
  });
});

function requiring(organisation: object): void {
  const file = path.join(temporaryFolder(), 'environments.json');
  writeFileSync(file, JSON.stringify({ environments, organisation }));
  vi.stubEnv(SETTINGS_VARIABLE, file);
  onTestFinished(() => void vi.unstubAllEnvs());
}
