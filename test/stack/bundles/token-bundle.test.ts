import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeBundles } from '../../../bench/start/bundles.ts';
import { startVariant } from '../../../bench/start/cold-start.ts';
import { EVENT } from '../../../bench/start/exchange.ts';
import { startStandIns } from '../../../bench/start/stand-ins.ts';
import { environments } from '../../../lib/environments.ts';
import { synthesise } from '../../support/stack/synthesise.ts';
import { BUNDLE, bundleAsStack } from '../../support/stack-bundle.ts';

describe('the bundle of the token function', () => {
  let bundle: Awaited<ReturnType<typeof analyseTokenBundle>>;
  beforeAll(async () => {
    bundle = await analyseTokenBundle();
  });

  it('equals the asset of cdk synth, byte for byte', () => {
    const { assets } = synthesise('prod', environments.prod, { bundled: true });
    expect(assets['token-broker-prod']?.['index.mjs'] === bundle.code).toBe(true);
  }, 120_000);

  it('has parts of exactly these packages', () => {
    expect(bundle.packages).toEqual(PACKAGES);
  });

  it(`has at most ${MAX_KILOBYTES} kB`, () => {
    expect(Buffer.byteLength(bundle.code)).toBeLessThanOrEqual(MAX_KILOBYTES * 1_000);
  });

  it('loads no code later', () => {
    expect(bundle.code).not.toMatch(/\bimport\(/);
  });
});

describe('an instance that has started, requested a token and answered from memory', () => {
  let loaded: Readonly<Record<'broker' | 'empty', readonly string[]>>;
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'token-bundle-'));
    const standIns = await startStandIns(folder);
    const bundles = await makeBundles(folder, standIns.authUrl);
    const modulesAfter = async (variant: 'broker' | 'empty') => {
      const instance = await startVariant({ bundles, standIns }, variant);
      for (const cache of ['fwd=miss', 'hit; detail=memory']) {
        const { result } = await instance.invoke(EVENT);
        if (variant === 'broker') expect(JSON.stringify(result)).toContain(`token-broker; ${cache}`);
      }
      const { result } = await instance.invoke({ tellModules: true });
      await instance.close();
      return Array.isArray(result) ? result.map(String) : [];
    };
    for (const file of [join(bundles.folders.broker, 'index.mjs'), join(bundles.folders.empty, 'index.js')]) {
      await rename(file, join(dirname(file), `function${extname(file)}`));
      const index = TELL_MODULES.replace('FILE', `./function${extname(file)}`);
      await writeFile(join(dirname(file), 'index.mjs'), index);
    }
    loaded = { broker: await modulesAfter('broker'), empty: await modulesAfter('empty') };
    standIns.close();
    await rm(folder, { recursive: true });
  });

  it('has not loaded undici, nor the streams of browsers', () => {
    expect(loaded.empty.length).toBeGreaterThan(50);
    expect(loaded.broker.filter(isOfBrowsers)).toEqual([]);
  });

  it('has loaded exactly these modules of Node beside those of the runtime client', () => {
    const own = loaded.broker.filter((name) => !loaded.empty.includes(name));
    const modules = own.flatMap((name) => /^NativeModule ((?!internal\/|_).*)$/.exec(name)?.[1] ?? []);
    expect(modules.toSorted()).toEqual(MODULES);
  });
});

const isOfBrowsers = (name: string) => /undici|webstreams/.test(name);

const MAX_KILOBYTES = 95;

/** Each of them runs inside the function and can read its secrets: a further one is a decision. */
const PACKAGES = ['@smithy/core', '@smithy/signature-v4'];

const MODULES = ['crypto', 'dns', 'https', 'os', 'timers/promises', 'tls'];

/** Wraps a function, and can list the modules that Node has loaded. */
const TELL_MODULES = `
import * as functionModule from 'FILE';
const handler_ = functionModule.handler;
export const handler = async (event, context) => event.tellModules ? process.moduleLoadList : handler_(event, context);
`;

/** Bundles the token function with the options of the stack, and tells from which packages a part went in. */
async function analyseTokenBundle() {
  const entry = fileURLToPath(new URL('../../../functions/token.ts', import.meta.url));
  const { outputFiles, metafile } = await bundleAsStack(entry);
  const inputs = Object.entries(metafile.outputs[BUNDLE]?.inputs ?? {});
  const used = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
  // Files of this project are in none.
  const packages = used.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  return { code: outputFiles[0]?.text ?? '', packages: [...new Set(packages)].toSorted() };
}
