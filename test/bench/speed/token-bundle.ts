import { fileURLToPath } from 'node:url';
import { App } from 'aws-cdk-lib';
import { build } from 'esbuild';
import { functionBundle } from '../../../lib/function-bundle.ts';

interface Analysed {
  readonly code: string;
  /** The packages that a part of the bundle is from, in alphabetical order. */
  readonly packages: readonly string[];
}

/** Bundles the token function with the options of the stack, and tells what went in. */
export async function analyseTokenBundle(): Promise<Analysed> {
  const {
    externalModules = [],
    mainFields = [],
    target = '',
    format,
    minify = false,
    esbuildArgs,
  } = functionBundle(new App(), { sdkRepeats: false });
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL('../../../functions/token.ts', import.meta.url))],
    outfile: 'index.mjs',
    write: false,
    metafile: true,
    bundle: true,
    platform: 'node',
    logLevel: 'error',
    external: externalModules,
    mainFields,
    target,
    minify,
    ...(format && { format }),
    alias: Object.fromEntries([esbuildArgs?.['--alias'] ?? []].flat().map((alias) => `${alias}`.split('='))),
  });
  const inputs = Object.entries(metafile.outputs['index.mjs']?.inputs ?? {});
  const used = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => packageOf(path));
  return {
    code: outputFiles[0]?.text ?? '',
    packages: [...new Set(used)].filter((name) => name !== undefined).toSorted(),
  };
}

/** `undefined` for files of this project. */
function packageOf(path: string): string | undefined {
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
}
