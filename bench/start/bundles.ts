import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { environments } from '../../lib/environments.ts';
import { synthesise } from '../../test/stack/synthesise.ts';
import { exampleRule, exampleService } from '../../test/support/example.ts';

const REFERENCES = ['empty', 'sdk', 'stack'] as const;
export type Variant = 'broker' | (typeof REFERENCES)[number];

/** Where each variant's bundle lies, and where the runtime client does. */
export interface Bundles {
  readonly folders: Readonly<Record<Variant, string>>;
  readonly runtimeClient: string;
  readonly brokerBytes: number;
  /** The broker's settings, which name the token endpoint. */
  readonly settings: string;
}

/** Makes the token function's bundle as `cdk synth` does, and those of the references with the same bundler. */
export async function makeBundles(folder: string, authUrl: string): Promise<Bundles> {
  const folders = {
    broker: join(folder, 'broker'),
    empty: join(folder, 'empty'),
    sdk: join(folder, 'sdk'),
    stack: join(folder, 'stack'),
  };
  await Promise.all(Object.values(folders).map((each) => mkdir(each)));

  const { assets } = synthesise('prod', environments.prod, { bundled: true });
  const asset = assets['token-broker-prod'] ?? {};
  for (const [name, content] of Object.entries(asset)) await writeFile(join(folders.broker, name), content);
  await Promise.all(REFERENCES.map((name) => bundle(`references/${name}.ts`, join(folders[name], 'index.js'), 'cjs')));
  const runtimeClient = join(folder, 'runtime-client.mjs');
  await bundle('runtime-client.ts', runtimeClient, 'esm');

  const settings = join(folder, 'settings.json');
  const services = { [PAIR.service]: exampleService({ authUrl }) };
  await writeFile(settings, JSON.stringify({ services, accessRules: [exampleRule()], provenForSeconds: 3_600 }));
  return { folders, runtimeClient, brokerBytes: Buffer.byteLength(asset['index.mjs'] ?? ''), settings };
}

/** The pair that is asked for. */
export const PAIR = { client: 'acme', service: 'customer-insights' };

/** With what the stack gives to the bundler, but without the stand-ins; required as CommonJS they start sooner. */
async function bundle(entry: string, outfile: string, format: 'cjs' | 'esm'): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
    outfile,
    format,
    bundle: true,
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    minify: true,
    logLevel: 'error',
  });
}
