import { RootConstruct } from 'constructs';
import { type BuildResult, build, type Format } from 'esbuild';
import { functionBundle } from '../../../lib/token/function-bundle.ts';

/** Bundles a file with the options that the stack bundles the token function with, perhaps in another format. */
export async function bundleAsStack(entry: string, otherFormat?: Format): Promise<BuildResult<typeof IN_MEMORY>> {
  const options = functionBundle(new RootConstruct());
  const { mainFields = [], target = '', format: ownFormat, minify = false, define = {} } = options;
  const format = otherFormat ?? ownFormat;
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
