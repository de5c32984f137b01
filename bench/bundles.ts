import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { PAIR } from '../test/support/cold-start/exchange.ts';
import { exampleRule, exampleService } from '../test/support/example.ts';
import { bundleAsStack } from '../test/support/stack/stack-bundle.ts';

export type Bundles = Awaited<ReturnType<typeof makeBundles>>;

/** Bundles the token function and the programs of the bench as the stack does. Each has a folder of its name. */
export async function makeBundles(folder: string, authUrl: string) {
  for (const [name, entry] of Object.entries(ENTRIES)) {
    const { outputFiles } = await bundleAsStack(entry);
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'index.mjs'), outputFiles[0]?.contents ?? '');
  }
  // The SDK starts faster as CommonJS.
  await build({
    entryPoints: ['bench/references/sdk.ts'],
    outfile: join(folder, 'sdk/index.js'),
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    mainFields: ['module', 'main'],
    minify: true,
    logLevel: 'error',
  });

  // The settings name the token endpoint.
  const settings = join(folder, 'settings.json');
  const services = { [PAIR.service]: exampleService({ authUrl }) };
  await writeFile(settings, JSON.stringify({ services, accessRules: [exampleRule()], provenForSeconds: 3_600 }));
  return { folder, settings };
}

const ENTRIES = {
  broker: 'functions/token.ts',
  calls: 'bench/references/calls.ts',
  'memory-hits': 'bench/memory-hits.ts',
  'runtime-client': 'bench/runtime-client.ts',
};
