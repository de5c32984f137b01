import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { environments } from '../../../lib/environments.ts';
import { parseEnvironment, toBrokerSettings } from '../../../lib/settings/settings.ts';
import { resourcesOf, synthesise } from '../../support/stack/synthesise.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';

const FORMS = { test: exampleForm(), prod: environments.prod };
const [test, prod] = [codesIn('test'), codesIn('prod')];

it('the code asset of the health function holds code and nothing else, that of the token function its settings too', () => {
  expect(Object.keys(test['token-broker-health']?.files ?? {})).toEqual(['index.mjs']);
  expect(Object.keys(test['token-broker']?.files ?? {})).toEqual(['index.mjs', 'settings.json']);
  const settings = JSON.parse(test['token-broker']?.files['settings.json'] ?? '');
  expect(settings).toEqual(toBrokerSettings(parseEnvironment('test', FORMS.test)));
});

it('other settings change no byte of any code, and only the asset of the token function', () => {
  expect(Object.keys(prod)).toHaveLength(3);
  for (const [name, { asset, code }] of Object.entries(prod)) {
    expect([name, code]).toEqual([name, test[name]?.code]);
    expect([name, asset === test[name]?.asset]).toEqual([name, name !== 'token-broker']);
  }
});

/** The files of each function, its asset, and the digest of its code, which would fill the screen when it differs. */
function codesIn(environment: keyof typeof FORMS) {
  const stack = synthesise(environment, FORMS[environment], { bundled: true });
  const codes = resourcesOf(stack, 'AWS::Lambda::Function').map(({ Properties: { FunctionName, Code } }) => {
    const files = stack.assets[FunctionName] ?? {};
    const code = createHash('sha256')
      .update(files['index.mjs'] ?? '')
      .digest('hex');
    return [`${FunctionName}`.replace(`-${environment}`, ''), { files, code, asset: `${Code.S3Key}` }] as const;
  });
  return Object.fromEntries(codes);
}
