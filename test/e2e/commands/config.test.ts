import { describe, expect, it } from 'vitest';
import { environments } from '../../../lib/environments.ts';
import { parseEnvironment } from '../../../lib/settings/environment.ts';
import { resourceOf, synthesise } from '../../stack/synthesise.ts';
import { runCommandLine } from './command-line.ts';

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
      /^services\.customer-insights\.response\.tokenMember +- +not set$/m,
      /^accessRules\[0\]\.operations +token, check +written$/m,
      /^accessRules\[1\]\.operations +token +default$/m,
      /^health\.notify +\[\] +default$/m,
      /^alarms\.off +\[\] +default$/m,
      /^canary +off +written$/m,
      /^reservedConcurrency +none +default$/m,
      /^vpc +- +not set$/m,
    ]) {
      expect(stdout).toMatch(line);
    }
    expect(await config('--environment', 'prod')).toMatch(/^account +222222222222 +written$/m);
  });

  it.each(Object.entries(environments))('answers --json with what %s is deployed with', async (name, form) => {
    const { name: _name, ...settings } = parseEnvironment(name, form);
    const answer = JSON.parse(await config(name, '--json'));
    expect(answer).toMatchObject({ environment: name, settings });
    expect(answer.defaults).toContain('services.customer-insights.tokenPath');
    expect(answer.defaults).not.toContain('account');
  });

  it('prints with --changed only what is written and differs from the defaults', async () => {
    const stdout = await config('dev', '--changed');
    expect(stdout).toMatch(/^canary +off +written$/m);
    expect(stdout).not.toMatch(/ (?:default|not set)$|tokenPath/m);
    const { settings } = JSON.parse(await config('dev', '--changed', '--json'));
    expect(settings).toMatchObject({ canary: 'off', account: '111111111111' });
  });

  it('prints what npm start runs with, and no credential and no key of it', async () => {
    const stdout = await config('local');
    expect(stdout).toMatch(/^services\.customer-insights\.authUrl +as npm start prints it +written$/m);
    expect(stdout).toMatch(/^accessRules\[1\]\.clients +acme +written$/m);
    expect(stdout).not.toMatch(/AKID|secret|canary/);
  });

  it('prints with --key-policy what the key of the stack has in its policy', async () => {
    const key = resourceOf(synthesise('dev', environments.dev), 'ClientSecrets', 'AWS::KMS::Key');
    expect(JSON.parse(await config('dev', '--key-policy'))).toEqual(key.Properties.KeyPolicy);
  });
});
