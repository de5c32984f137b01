import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { parseEnvironment, toBrokerSettings } from '../../../lib/settings/settings.ts';
import { resourceOf, resourcesOf, type Synthesised, synthesise } from '../../support/stack/synthesise.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';

const TOKEN = 'token-broker-test';
const HEALTH = 'token-broker-health-test';
const stack = synthesise('test', exampleForm(), { bundled: true });
const aliasOf = (one: Synthesised) => resourceOf(one, 'TokenEndpoint', 'AWS::Lambda::Alias').Properties;

it('the code asset of the health function holds code and nothing else, that of the token function its settings too', () => {
  expect(Object.keys(stack.assets[HEALTH] ?? {})).toEqual(['index.mjs']);
  expect(Object.keys(stack.assets[TOKEN] ?? {})).toEqual(['index.mjs', 'settings.json']);
  expect(settingsIn(stack)).toEqual(toBrokerSettings(parseEnvironment('test', exampleForm())));
});

it('2 000 changed access rules have room in the asset, change no byte of any code, and change the version', () => {
  const accessRules = Array.from({ length: 2_000 }, (_, index) => ({
    role: `arn:aws:iam::111111111111:role/caller-${index}`,
    clients: [`client-${index}`],
    services: 'all',
  }));
  const other = synthesise('test', { ...exampleForm(), accessRules }, { bundled: true });
  expect(settingsIn(other).accessRules).toHaveLength(2_000);
  const [before, after] = [codesOf(stack), codesOf(other)];
  expect(after).toEqual({ ...before, [TOKEN]: { ...before[TOKEN], asset: expect.any(String) } });
  expect(aliasOf(other).FunctionVersion).not.toEqual(aliasOf(stack).FunctionVersion);
});

function settingsIn({ assets }: Synthesised) {
  return JSON.parse(assets[TOKEN]?.['settings.json'] ?? '');
}

/** The asset of each function, and the digest of its code, which would fill the screen when it differs. */
function codesOf(one: Synthesised): Readonly<Record<string, object>> {
  const codes = resourcesOf(one, 'AWS::Lambda::Function').map(({ Properties: { FunctionName, Code } }) => {
    const code = one.assets[FunctionName]?.['index.mjs'] ?? '';
    return [FunctionName, { asset: Code.S3Key, code: createHash('sha256').update(code).digest('hex') }];
  });
  return Object.fromEntries(codes);
}
