import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { App, Stack } from 'aws-cdk-lib';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogLevel, NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { build } from 'esbuild';
import { environments } from '../../lib/environments.ts';
import { exampleRule, exampleService } from '../../test/support/example.ts';
import { synthesise } from '../../test/support/stack/synthesise.ts';
import { bundleAsStack } from '../../test/support/stack-bundle.ts';
import { PAIR } from './exchange.ts';

export type Variant = 'broker' | 'calls' | 'empty' | 'sdk' | 'cdk' | 'stack';

export interface Bundles {
  /** Where each variant's bundle lies. */
  readonly folders: Readonly<Record<Variant, string>>;
  readonly runtimeClient: string;
  /** A program that measures answers from memory. */
  readonly memoryHits: string;
  readonly brokerBytes: number;
  /** The broker's settings, which name the token endpoint. */
  readonly settings: string;
}

/** Makes the token function's bundle as `cdk synth` does, and those of the references beside it. */
export async function makeBundles(folder: string, authUrl: string): Promise<Bundles> {
  const broker = join(folder, 'broker');
  await mkdir(broker);

  const { assets } = synthesise('prod', environments.prod, { bundled: true });
  const asset = assets['token-broker-prod'] ?? {};
  for (const [name, content] of Object.entries(asset)) await writeFile(join(broker, name), content);
  const memoryHits = join(folder, 'memory-hits.mjs');
  await bundleAsBroker('memory-hits.ts', memoryHits);
  const calls = join(folder, 'calls');
  await mkdir(calls);
  await bundleAsBroker('references/calls.ts', join(calls, 'index.mjs'));
  const runtimeClient = join(folder, 'runtime-client.mjs');
  await bundle('runtime-client.ts', runtimeClient, 'esm');
  const [empty = '', sdk = '', stack = ''] = await Promise.all(
    ['empty', 'sdk', 'stack'].map(async (name) => {
      await bundle(`references/${name}.ts`, join(folder, name, 'index.js'), 'cjs');
      return join(folder, name);
    }),
  );

  const settings = join(folder, 'settings.json');
  const services = { [PAIR.service]: exampleService({ authUrl }) };
  await writeFile(settings, JSON.stringify({ services, accessRules: [exampleRule()], provenForSeconds: 3_600 }));
  return {
    folders: { broker, calls, empty, sdk, stack, cdk: await bundleAsCdk('references/sdk.ts', join(folder, 'cdk')) },
    runtimeClient,
    memoryHits,
    brokerBytes: Buffer.byteLength(asset['index.mjs'] ?? ''),
    settings,
  };
}

/** With the bundler options of the stack for the token function. */
async function bundleAsBroker(entry: string, outfile: string): Promise<void> {
  const { outputFiles } = await bundleAsStack(fileOf(entry));
  await writeFile(outfile, outputFiles[0]?.contents ?? '');
}

/** With the bundler options of the stack, but without its aliases; required as CommonJS the packages start sooner. */
async function bundle(entry: string, outfile: string, format: 'cjs' | 'esm'): Promise<void> {
  await build({
    entryPoints: [fileOf(entry)],
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

/**
 * By the CDK itself with its defaults, but for the SDK: by default that comes from Lambda's runtime, which is not on this
 * machine. In the bundle it starts sooner than from its many files.
 */
async function bundleAsCdk(entry: string, outdir: string): Promise<string> {
  const stack = new Stack(new App({ outdir, analyticsReporting: false }), 'references');
  new NodejsFunction(stack, 'cdk', {
    entry: fileOf(entry),
    depsLockFilePath: fileOf('../../package-lock.json'),
    runtime: Runtime.NODEJS_24_X,
    bundling: { bundleAwsSDK: true, logLevel: LogLevel.ERROR },
  });
  const asset = (await readdir(outdir)).find((name) => name.startsWith('asset.')) ?? '';
  return join(outdir, asset);
}

function fileOf(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
