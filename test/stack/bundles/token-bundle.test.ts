import { fileURLToPath } from 'node:url';
import { Stack } from 'aws-cdk-lib';
import { beforeAll, describe, expect, it } from 'vitest';
import { FIGURES } from '../../../bench/figures.ts';
import { parseEnvironment, toBrokerSettings } from '../../../lib/settings/settings.ts';
import { functionBundle } from '../../../lib/token/function-bundle.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { BUNDLE, bundleAsStack } from '../../support/stack/stack-bundle.ts';
import { newApp, synthesise } from '../../support/stack/synthesise.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';

describe('the bundle of the token function', () => {
  let bundle: Awaited<ReturnType<typeof analyseTokenBundle>>;
  beforeAll(async () => {
    bundle = await analyseTokenBundle();
  });

  it('equals the asset of cdk synth, byte for byte', () => {
    const { assets } = synthesise('test', exampleForm(), { bundled: true });
    expect(assets['token-broker-test']?.['index.mjs'] === bundle.code).toBe(true);
  });

  it('has no part of a package, which could read its secrets', () => {
    expect(bundle.packages).toEqual([]);
  });

  it('names the version of the package to AWS', () => {
    const [, release] = /`token-broker\/\$\{(\w+)\} \(\$\{/.exec(bundle.code) ?? [];
    expect(bundle.code).toContain(`${release}="${packageJson.version}"`);
  });

  it(`has at most ${MAX_KILOBYTES} kB`, () => {
    expect(Buffer.byteLength(bundle.code)).toBeLessThanOrEqual(MAX_KILOBYTES * 1_000);
  });

  it('imports exactly these modules of Node, and loads no code later', () => {
    expect(bundle.modules).toEqual(MODULES);
    expect(bundle.code).not.toMatch(/\bimport\(/);
  });
});

/** The limit of the benchmark. */
const MAX_KILOBYTES = FIGURES.find(({ name }) => name.startsWith('token bundle'))?.limit ?? 0;

const MODULES = ['node:crypto', 'node:fs', 'node:https', 'node:net', 'node:timers/promises'];

/** Bundles the token function with the options of the stack, and tells which packages and modules of Node it needs. */
async function analyseTokenBundle() {
  const entry = fileURLToPath(new URL('../../../functions/token.ts', import.meta.url));
  const { outputFiles, metafile } = await bundleAsStack(entry);
  const { inputs = {}, imports = [] } = metafile.outputs[BUNDLE] ?? {};
  const used = Object.entries(inputs)
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => path);
  // Files of this project are in none.
  const packages = used.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  const inOrder = (names: readonly string[]) => [...new Set(names)].toSorted();
  const modules = inOrder(imports.map(({ path }) => path));
  return { code: outputFiles[0]?.text ?? '', packages: inOrder(packages), modules };
}

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
  const [plain, one, other] = [undefined, { a: 1 }, { a: 2 }].map((settings) => functionBundle(scope, settings));
  const commandHooks = expect.anything();
  expect([one, other]).toEqual([one, other].map(() => ({ ...plain, commandHooks })));
  const laid = [one, other].map((options) => options?.commandHooks?.afterBundling('in', 'out').join());
  for (const command of laid) expect(command).toMatch(/settings\.[0-9a-f]+\.json" "out.settings\.json"$/);
  expect(laid[0]).not.toBe(laid[1]);
});
