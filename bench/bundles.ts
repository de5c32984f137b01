import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { environments } from '../lib/environments.ts';
import { PAIR } from '../test/support/cold-start/exchange.ts';
import { exampleRule, exampleService } from '../test/support/example.ts';
import { bundleAsStack } from '../test/support/stack/stack-bundle.ts';
import { synthesise } from '../test/support/stack/synthesise.ts';

const VARIANTS = ['broker', 'calls', 'sdk'] as const;
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
  await bundle('../test/support/cold-start/runtime-client.ts', runtimeClient, 'esm');
  // The SDK starts faster as CommonJS.
  await bundle('references/sdk.ts', join(folders.sdk, 'index.js'), 'cjs');

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

/** Bundles for a fast start. */
async function bundle(entry: string, outfile: string, format: 'esm' | 'cjs'): Promise<void> {
  const usual = { bundle: true, platform: 'node', target: 'node24', logLevel: 'error' } as const;
  const small = { mainFields: ['module', 'main'], minify: true };
  await build({ entryPoints: [fileOf(entry)], outfile, format, ...usual, ...small });
}

function fileOf(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
