import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseEnvironment, toBrokerSettings } from '../../lib/settings/environment.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, type Synthesised, synthesise, synthesiseAnew } from './synthesise.ts';

const TOKEN = 'token-broker-test';
const HEALTH = 'token-broker-health-test';
const stack = synthesise('test', exampleForm(), { bundled: true });

it('the code assets and the template are the same in two synths, byte for byte', () => {
  const again = synthesiseAnew('test', exampleForm(), { bundled: true });
  expect(digests(again)).toEqual(digests(stack));
  expect(again.text).toBe(stack.text);
});

it('the code asset of the health function holds code and nothing else, that of the token function its settings too', () => {
  expect(Object.keys(stack.assets[HEALTH] ?? {})).toEqual(['index.mjs']);
  expect(Object.keys(stack.assets[TOKEN] ?? {})).toEqual(['index.mjs', 'settings.json']);
  expect(settingsIn(stack)).toEqual(toBrokerSettings(parseEnvironment('test', exampleForm())));
});

describe('2 000 changed access rules, one of them for another account,', () => {
  const accessRules = Array.from({ length: 2_000 }, (_, index) => ({
    role: `arn:aws:iam::${index === 0 ? '222222222222' : '111111111111'}:role/caller-${index}`,
    clients: [`client-${index}`],
    services: 'all' as const,
  }));
  const other = synthesise('test', { ...exampleForm(), accessRules }, { bundled: true });

  it('have room in the asset, whose code they do not change', () => {
    expect(settingsIn(other).accessRules).toHaveLength(2_000);
    expect(digests(other)[`${TOKEN}/index.mjs`]).toBe(digests(stack)[`${TOKEN}/index.mjs`]);
  });

  it('change the asset and the version that the alias names', () => {
    expect(codeKey(other)).not.toBe(codeKey(stack));
    expect(versionOf(other)).not.toBe(versionOf(stack));
  });

  it('change nothing else but the permissions of that account and what the metadata tells', () => {
    const { Metadata: _, Resources: before, ...rest } = JSON.parse(stack.text);
    const sameCode = other.text
      .replaceAll(codeKey(other), codeKey(stack))
      .replaceAll(versionOf(other), versionOf(stack));
    const { Metadata: __, Resources: after, ...otherRest }: Parsed = JSON.parse(sameCode);
    const added = Object.entries(after).filter(([id]) => !(id in before));
    expect(added.map(([, { Type, Properties }]) => [Type, Properties.Principal])).toEqual([
      ['AWS::Lambda::Permission', '222222222222'],
      ['AWS::Lambda::Permission', '222222222222'],
    ]);
    // The table is made last, so it waits for the new permissions too.
    const { id } = resourceOf(stack, 'PairTable', 'AWS::DynamoDB::Table');
    expect(after[id]?.DependsOn).toEqual(expect.arrayContaining(added.map(([one]) => one)));
    const expected = {
      ...before,
      ...Object.fromEntries(added),
      [id]: { ...before[id], DependsOn: after[id]?.DependsOn },
    };
    expect({ Resources: after, ...otherRest }).toEqual({ Resources: expected, ...rest });
  });
});

type Parsed = Pick<Synthesised['template'], 'Resources'> & { readonly Metadata: unknown };

function settingsIn({ assets }: Synthesised) {
  return JSON.parse(assets[TOKEN]?.['settings.json'] ?? '');
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

/** The id of the version that the alias names. */
function versionOf(synthesised: Synthesised): string {
  return resourceOf(synthesised, 'TokenEndpoint', 'AWS::Lambda::Alias').Properties.FunctionVersion['Fn::GetAtt'][0];
}

function codeKey(synthesised: Synthesised): string {
  return resourceOf(synthesised, 'TokenEndpoint', 'AWS::Lambda::Function').Properties.Code.S3Key;
}
