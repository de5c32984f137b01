import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseEnvironment, toBrokerSettings } from '../../lib/settings.ts';
import { changed, exampleForm } from './example-form.ts';
import { resourcesOf, type Synthesised, synthesise } from './synthesise.ts';

const stack = bundle(exampleForm());

describe('the code asset of the token function', () => {
  it('holds the code and the settings, and nothing else', () => {
    expect(Object.keys(stack.asset)).toEqual(['index.js', 'settings.json']);
    expect(JSON.parse(stack.asset['settings.json'] ?? '')).toEqual(
      toBrokerSettings(parseEnvironment('test', exampleForm())),
    );
  });

  it('loads where nothing is installed', () => {
    expect(loadAsset(stack)).toBe('function');
  });

  it('is the same in two synths, byte for byte, and so is the template', () => {
    const again = bundle(exampleForm());
    expect(digests(again)).toEqual(digests(stack));
    expect(again.text).toBe(stack.text);
  });

  it('alone changes with an access rule', () => {
    const other = bundle(changed(exampleForm(), 'accessRules/0/clients', ['acme', 'globex']));
    expect(digests(other)['index.js']).toBe(digests(stack)['index.js']);
    expect(codeKey(other)).not.toBe(codeKey(stack));
    expect(other.text.replace(codeKey(other), codeKey(stack))).toBe(stack.text);
  });

  it('changes together with the permissions when the access rule is for another account', () => {
    const rule = { role: 'arn:aws:iam::222222222222:role/billing', clients: 'all', services: 'all' };
    const other = bundle(changed(exampleForm(), 'accessRules/1', rule));
    const added = Object.entries(other.template.Resources).filter(([id]) => !(id in stack.template.Resources));
    expect(added.map(([, { Type, Properties }]) => [Type, Properties.Principal])).toEqual([
      ['AWS::Lambda::Permission', '222222222222'],
      ['AWS::Lambda::Permission', '222222222222'],
    ]);
    const kept = Object.entries(other.template.Resources).filter(([id]) => id in stack.template.Resources);
    const withOldCode = JSON.stringify(Object.fromEntries(kept)).replace(codeKey(other), codeKey(stack));
    expect(JSON.parse(withOldCode)).toEqual(stack.template.Resources);
  });

  it('has room for 2 000 access rules', () => {
    const accessRules = Array.from({ length: 2_000 }, (_, index) => ({
      role: `arn:aws:iam::111111111111:role/caller-${index}`,
      clients: [`client-${index}`],
      services: 'all',
    }));
    const { asset } = bundle({ ...exampleForm(), accessRules });
    expect(JSON.parse(asset['settings.json'] ?? '').accessRules).toHaveLength(2_000);
  });
});

function bundle(form: unknown): Synthesised {
  return synthesise('test', form, { bundled: true });
}

/** Instead of the files themselves, which would fill the screen when they differ. */
function digests({ asset }: Synthesised): Readonly<Record<string, string>> {
  const digest = (content: string) => createHash('sha256').update(content).digest('hex');
  return Object.fromEntries(Object.entries(asset).map(([name, content]) => [name, digest(content)]));
}

function codeKey(synthesised: Synthesised): string {
  return resourcesOf(synthesised, 'AWS::Lambda::Function')[0]?.Properties.Code.S3Key;
}

/** What the asset exports as its handler, in a directory and with variables that are Lambda's. */
function loadAsset({ asset }: Synthesised): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'token-broker-test-'));
  try {
    for (const [name, content] of Object.entries(asset)) writeFileSync(path.join(directory, name), content);
    const script = `process.stdout.write(typeof require('./index.js').handler)`;
    const env = {
      TOKEN_BROKER_ENVIRONMENT: 'test',
      TOKEN_BROKER_TABLE: 'pairs',
      TOKEN_BROKER_SETTINGS: path.join(directory, 'settings.json'),
      TOKEN_BROKER_CHECKER_ROLES: 'arn:aws:iam::111111111111:role/health',
      AWS_REGION: 'eu-west-1',
    };
    return execFileSync(process.execPath, ['-e', script], { cwd: directory, env, encoding: 'utf8' });
  } finally {
    rmSync(directory, { recursive: true });
  }
}
