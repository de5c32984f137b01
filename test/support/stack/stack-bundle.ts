import { RootConstruct } from 'constructs';
import { type BuildResult, build } from 'esbuild';
import { functionBundle } from '../../../lib/token/function-bundle.ts';

/** Bundles a file with the options that the stack bundles the token function with. */
export async function bundleAsStack(entry: string): Promise<BuildResult<typeof IN_MEMORY>> {
  const options = functionBundle(new RootConstruct());
  const { mainFields = [], target = '', format, minify = false, define = {} } = options;
  return build({
    ...IN_MEMORY,
    entryPoints: [entry],
    outfile: BUNDLE,
    bundle: true,
    platform: 'node',
    logLevel: 'error',
    mainFields,
    define,
    target,
    minify,
    ...(format && { format }),
  });
}

/** The one file that comes out. */
export const BUNDLE = 'index.mjs';

const IN_MEMORY = { write: false, metafile: true } as const;
