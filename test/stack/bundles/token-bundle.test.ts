import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { FIGURES } from '../../../bench/figures.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { BUNDLE, bundleAsStack } from '../../support/stack/stack-bundle.ts';
import { synthesise } from '../../support/stack/synthesise.ts';
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
