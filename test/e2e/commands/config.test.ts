import { describe, expect, it } from 'vitest';
import { environments } from '../../../lib/environments.ts';
import { parseEnvironment } from '../../../lib/settings/environment.ts';
import { resourceOf, synthesise } from '../../stack/synthesise.ts';
import { runCommandLine } from './command-line.ts';

function config(...args: readonly string[]) {
  return runCommandLine(['config', ...args], { HTTPS_PROXY: 'http://127.0.0.1:9' });
}

describe('config', () => {
  it('prints every setting of an environment, and where it is from', async () => {
    const { exitCode, stdout, stderr } = await config('dev');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
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
  });

  it.each(Object.entries(environments))('answers --json with what %s is deployed with', async (name, form) => {
    const { stdout } = await config(name, '--json');
    const { name: _name, ...settings } = parseEnvironment(name, form);
    const answer = JSON.parse(stdout);
    expect(answer).toMatchObject({ environment: name, settings });
    expect(answer.defaults).toContain('services.customer-insights.tokenPath');
    expect(answer.defaults).not.toContain('account');
  });

  it('takes the environment of --environment when none is named', async () => {
    expect((await config('--environment', 'prod')).stdout).toMatch(/^account +222222222222 +written$/m);
  });

  it('prints with --changed only what is written and differs from the defaults', async () => {
    const { exitCode, stdout } = await config('dev', '--changed');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^canary +off +written$/m);
    expect(stdout).not.toMatch(/ (?:default|not set)$/m);
    expect(stdout).not.toContain('tokenPath');
    const { settings } = JSON.parse((await config('dev', '--changed', '--json')).stdout);
    expect(settings).toMatchObject({ canary: 'off', account: '111111111111' });
  });

  it('prints what npm start runs with, and no credential and no key of it', async () => {
    const { exitCode, stdout } = await config('local');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^services\.customer-insights\.authUrl +as npm start prints it +written$/m);
    expect(stdout).toMatch(/^accessRules\[1\]\.clients +acme +written$/m);
    expect(stdout).not.toMatch(/AKID|secret|canary/);
  });
});

it('config --key-policy prints what the key of the stack has in its policy', async () => {
  const { exitCode, stdout } = await runCommandLine(['config', 'dev', '--key-policy']);
  const key = resourceOf(synthesise('dev', environments.dev), 'ClientSecrets', 'AWS::KMS::Key');
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual(key.Properties.KeyPolicy);
});
