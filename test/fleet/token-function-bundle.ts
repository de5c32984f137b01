import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { BUNDLE, bundleAsStack } from '../support/stack-bundle.ts';

/**
 * Bundles the token function as it runs in Lambda, for processes with many environments: with it, a client and its first
 * call take half of what they take from the sources.
 */
export async function bundleTokenFunction(): Promise<{
  /** To be imported: what `functions/token-function.ts` exports. */
  readonly url: string;
  readonly remove: () => Promise<void>;
}> {
  const { outputFiles } = await bundleAsStack(ENTRY);
  const folder = await mkdtemp(path.join(tmpdir(), 'token-broker-fleet-'));
  const file = path.join(folder, BUNDLE);
  await writeFile(file, outputFiles[0]?.contents ?? '');
  return { url: pathToFileURL(file).href, remove: () => rm(folder, { recursive: true }) };
}

const ENTRY = fileURLToPath(new URL('../../functions/token-function.ts', import.meta.url));
