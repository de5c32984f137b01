import { fileURLToPath } from 'node:url';
import { BUNDLE, bundleAsStack } from '../../test/support/stack-bundle.ts';

interface Analysed {
  readonly code: string;
  /** The packages that a part of the bundle is from, in alphabetical order. */
  readonly packages: readonly string[];
}

/** Bundles the token function with the options of the stack, and tells what went in. */
export async function analyseTokenBundle(): Promise<Analysed> {
  const entry = fileURLToPath(new URL('../../functions/token.ts', import.meta.url));
  const { outputFiles, metafile } = await bundleAsStack(entry);
  const inputs = Object.entries(metafile.outputs[BUNDLE]?.inputs ?? {});
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
