import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { parseEnvironment, toBrokerSettings } from '../../../lib/settings/settings.ts';
import { resourceOf, type Synthesised, synthesise, synthesiseAnew } from '../../support/stack/synthesise.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';

const TOKEN = 'token-broker-test';
const HEALTH = 'token-broker-health-test';
const stack = synthesise('test', exampleForm(), { bundled: true });
const aliasOf = (one: Synthesised) => resourceOf(one, 'TokenEndpoint', 'AWS::Lambda::Alias').Properties;

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

it('2 000 changed access rules have room in the asset, whose code they do not change, and change the version', () => {
  const accessRules = Array.from({ length: 2_000 }, (_, index) => ({
    role: `arn:aws:iam::111111111111:role/caller-${index}`,
    clients: [`client-${index}`],
    services: 'all',
  }));
  const other = synthesise('test', { ...exampleForm(), accessRules }, { bundled: true });
  expect(settingsIn(other).accessRules).toHaveLength(2_000);
  expect(digests(other)[`${TOKEN}/index.mjs`]).toBe(digests(stack)[`${TOKEN}/index.mjs`]);
  expect(aliasOf(other).FunctionVersion).not.toEqual(aliasOf(stack).FunctionVersion);
});

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
