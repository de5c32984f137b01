import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseEnvironment, toBrokerSettings } from '../../lib/settings/environment.ts';
import { changed, exampleForm } from '../unit/settings/example-form.ts';
import { type Asset, type Resource, resourceOf, resourcesOf, type Synthesised, synthesise } from './synthesise.ts';

const stack = bundle(exampleForm());

describe('the code asset of the token function', () => {
  it('holds the code and the settings, and nothing else', () => {
    const asset = assetOf(stack, 'token-broker-test');
    expect(Object.keys(asset)).toEqual(['index.mjs', 'settings.json']);
    expect(JSON.parse(asset['settings.json'] ?? '')).toEqual(toBrokerSettings(parseEnvironment('test', exampleForm())));
  });

  it('is the same each time, as the whole template is', () => {
    expect(bundle(exampleForm())).toEqual(stack);
  });

  it('changes with an access rule, and so does the version that the alias names: nothing else but what the metadata tells of it', () => {
    const other = bundle(changed(exampleForm(), 'accessRules/0/clients', ['acme', 'globex']));
    expect(digests(other)['token-broker-test/index.mjs']).toBe(digests(stack)['token-broker-test/index.mjs']);
    expect(codeKey(other)).not.toBe(codeKey(stack));
    expect(versionOf(other)).not.toBe(versionOf(stack));
    expect(withoutAccess(withCodeOf(stack, other, other.text))).toEqual(withoutAccess(stack.text));
  });

  it('changes together with the permissions of an account that comes, or goes, with an access rule', () => {
    const rule = { role: 'arn:aws:iam::222222222222:role/billing', clients: 'all', services: 'all' };
    const other = bundle(changed(exampleForm(), 'accessRules/1', rule));
    const { Resources: before } = stack.template;
    const { Resources: after, ...rest } = withoutAccess(withCodeOf(stack, other, other.text));
    const [kept, added] = Object.entries(after).reduce<[Entry[], Entry[]]>(
      ([old, fresh], entry) => (entry[0] in before ? [[...old, entry], fresh] : [old, [...fresh, entry]]),
      [[], []],
    );
    expect(added.map(([, { Type, Properties }]) => [Type, Properties.Principal])).toEqual([
      ['AWS::Lambda::Permission', '222222222222'],
      ['AWS::Lambda::Permission', '222222222222'],
    ]);
    // The table is made last, so it waits for the new permissions too.
    const isNew = new Set(added.map(([id]) => id));
    const same = kept.map(([id, resource]) => {
      const { DependsOn } = resource;
      return [id, DependsOn ? { ...resource, DependsOn: DependsOn.filter((one) => !isNew.has(one)) } : resource];
    });
    expect({ ...rest, Resources: Object.fromEntries(same) }).toEqual(withoutAccess(stack.text));
  });

  it('has room for 2 000 access rules', () => {
    const accessRules = Array.from({ length: 2_000 }, (_, index) => ({
      role: `arn:aws:iam::111111111111:role/caller-${index}`,
      clients: [`client-${index}`],
      services: 'all',
    }));
    const asset = assetOf(bundle({ ...exampleForm(), accessRules }), 'token-broker-test');
    expect(JSON.parse(asset['settings.json'] ?? '').accessRules).toHaveLength(2_000);
  });
});

/** The template without what its metadata tells of the access rules. */
function withoutAccess(text: string): typeof stack.template {
  const { Metadata: _, ...template } = JSON.parse(text);
  return template;
}

describe('the code assets', () => {
  it.each(['token-broker-health-test'])('of %s hold code and nothing else', (name) => {
    expect(Object.keys(assetOf(stack, name))).toEqual(['index.mjs']);
  });

  it.each(['token-broker-test', 'token-broker-health-test'])('of %s load where nothing is installed', (name) => {
    expect(loadAsset(name)).toBe('function');
  });

  it('are the same in two synths, byte for byte, and so is the template', () => {
    const again = bundle(exampleForm());
    expect(digests(again)).toEqual(digests(stack));
    expect(again.text).toBe(stack.text);
  });
});

function bundle(form: unknown): Synthesised {
  return synthesise('test', form, { bundled: true });
}

function assetOf({ assets }: Synthesised, functionName: string): Asset {
  return assets[functionName] ?? {};
}

/** Of every file of every asset, instead of the files themselves, which would fill the screen when they differ. */
function digests({ assets }: Synthesised): Readonly<Record<string, string>> {
  const digest = (content: string) => createHash('sha256').update(content).digest('hex');
  return Object.fromEntries(
    Object.entries(assets).flatMap(([name, asset]) =>
      Object.entries(asset).map(([file, content]) => [`${name}/${file}`, digest(content)]),
    ),
  );
}

type Entry = [id: string, resource: Resource];

/** A template's text as if its code were that of another one. */
function withCodeOf(code: Synthesised, own: Synthesised, text: string): string {
  return text.replaceAll(codeKey(own), codeKey(code)).replaceAll(versionOf(own), versionOf(code));
}

/** The id of the version that the alias names. */
function versionOf(synthesised: Synthesised): string {
  return resourceOf(synthesised, 'TokenEndpoint', 'AWS::Lambda::Alias').Properties.FunctionVersion['Fn::GetAtt'][0];
}

function codeKey(synthesised: Synthesised): string {
  return resourceOf(synthesised, 'TokenEndpoint', 'AWS::Lambda::Function').Properties.Code.S3Key;
}

/** What the asset exports as its handler, in a directory of its own and with the variables that the stack gives. */
function loadAsset(functionName: string): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'token-broker-test-'));
  try {
    for (const [name, content] of Object.entries(assetOf(stack, functionName))) {
      writeFileSync(path.join(directory, name), content);
    }
    const script = `import('./index.mjs').then(({ handler }) => process.stdout.write(typeof handler))`;
    const env = {
      ...variablesOf(functionName),
      TOKEN_BROKER_SETTINGS: path.join(directory, 'settings.json'),
      AWS_REGION: 'eu-west-1',
    };
    return execFileSync(process.execPath, ['-e', script], { cwd: directory, env, encoding: 'utf8' });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Only what deployment knows is made up. */
function variablesOf(functionName: string): Record<string, string> {
  const found = resourcesOf(stack, 'AWS::Lambda::Function').find(
    ({ Properties }) => Properties.FunctionName === functionName,
  );
  const variables = Object.entries(found?.Properties.Environment.Variables ?? {});
  return Object.fromEntries(
    variables.map(([name, value]) => [name, typeof value === 'string' ? value : (MADE_UP[name] ?? 'known-later')]),
  );
}

const ROLE = 'arn:aws:iam::111111111111:role/some-role';
const MADE_UP: Readonly<Record<string, string>> = {
  TOKEN_BROKER_CHECKER_ROLES: `${ROLE} ${ROLE}`,
  TOKEN_BROKER_PROBE_ROLE: ROLE,
  TOKEN_BROKER_TOPIC: 'arn:aws:sns:eu-west-1:111111111111:token-broker-test',
  TOKEN_BROKER_URL: 'https://0123456789.lambda-url.eu-west-1.on.aws/',
};
