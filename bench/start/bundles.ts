import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build } from 'esbuild';
import { environments } from '../../lib/environments.ts';
import { exampleRule, exampleService } from '../../test/support/example.ts';
import { bundleAsStack } from '../../test/support/stack/stack-bundle.ts';
import { synthesise } from '../../test/support/stack/synthesise.ts';
import { PAIR } from './exchange.ts';

const VARIANTS = ['broker', 'calls', 'sdk', 'cdk'] as const;
export type Variant = (typeof VARIANTS)[number];

export type Bundles = Awaited<ReturnType<typeof makeBundles>>;

/** Bundles the token function as `cdk synth` does, and the references next to it. */
export async function makeBundles(folder: string, authUrl: string) {
  const inFolder = (name: string) => join(folder, name);
  const folders = Object.fromEntries(VARIANTS.map((name) => [name, inFolder(name)])) as Record<Variant, string>;
  await Promise.all(Object.values(folders).map((each) => mkdir(each)));
  const asset = synthesise('prod', environments.prod, { bundled: true }).assets['token-broker-prod'] ?? {};
  for (const [name, content] of Object.entries(asset)) await writeFile(join(folders.broker, name), content);
  const [memoryHits, runtimeClient] = [inFolder('memory-hits.mjs'), inFolder('runtime-client.mjs')];
  await bundleAsBroker('memory-hits.ts', memoryHits);
  await bundleAsBroker('references/calls.ts', join(folders.calls, 'index.mjs'));
  await bundle('runtime-client.ts', runtimeClient, { ...SMALL, format: 'esm' });
  await bundle('references/sdk.ts', join(folders.sdk, 'index.js'), SMALL);
  await bundle('references/sdk.ts', join(folders.cdk, 'index.js'), {});

  // The settings name the token endpoint.
  const settings = inFolder('settings.json');
  const services = { [PAIR.service]: exampleService({ authUrl }) };
  await writeFile(settings, JSON.stringify({ services, accessRules: [exampleRule()], provenForSeconds: 3_600 }));
  return { folders, runtimeClient, memoryHits, settings, bytes: Buffer.byteLength(asset['index.mjs'] ?? '') };
}

/** Bundles with the stack's options for the token function. */
async function bundleAsBroker(entry: string, outfile: string): Promise<void> {
  const { outputFiles } = await bundleAsStack(fileOf(entry));
  await writeFile(outfile, outputFiles[0]?.contents ?? '');
}

/** Bundles by default as the CDK's `NodejsFunction` does if its only option is to bundle the SDK. */
async function bundle(entry: string, outfile: string, options: BuildOptions): Promise<void> {
  const usual = { bundle: true, platform: 'node', target: 'node24', logLevel: 'error' } as const;
  await build({ entryPoints: [fileOf(entry)], outfile, ...usual, ...options });
}

/** The options for a fast start. The SDK starts faster as CommonJS. */
const SMALL: BuildOptions = { format: 'cjs', mainFields: ['module', 'main'], minify: true };

function fileOf(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
