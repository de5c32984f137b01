import { Stack } from 'aws-cdk-lib';
import { expect, it } from 'vitest';
import { parseEnvironment, toBrokerSettings } from '../../../lib/settings/settings.ts';
import { functionBundle } from '../../../lib/token/function-bundle.ts';
import { newApp, synthesise } from '../../support/stack/synthesise.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';

it('the code asset of the health function holds code and nothing else, that of the token function its settings too', () => {
  const { assets } = synthesise('test', exampleForm(), { bundled: true });
  expect(Object.keys(assets['token-broker-health-test'] ?? {})).toEqual(['index.mjs']);
  const token = assets['token-broker-test'] ?? {};
  expect(Object.keys(token)).toEqual(['index.mjs', 'settings.json']);
  const settings = toBrokerSettings(parseEnvironment('test', exampleForm()));
  expect(JSON.parse(token['settings.json'] ?? '')).toEqual(settings);
});

it('settings change no byte of any code: they are laid beside it, in a file that is named by its content', () => {
  const scope = new Stack(newApp());
  const [plain, one, other] = [undefined, { a: 1 }, { a: 2 }].map((settings) => functionBundle(scope, { settings }));
  const commandHooks = expect.anything();
  expect([one, other]).toEqual([one, other].map(() => ({ ...plain, commandHooks })));
  const laid = [one, other].map((options) => options?.commandHooks?.afterBundling('in', 'out').join());
  for (const command of laid) expect(command).toMatch(/settings\.[0-9a-f]+\.json" "out.settings\.json"$/);
  expect(laid[0]).not.toBe(laid[1]);
});
