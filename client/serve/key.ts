import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Makes a key, in a file that its owner alone can read until `remove`. @throws the error of Node when it cannot */
export async function makeKey(path: string | undefined) {
  const key = randomBytes(32).toString('base64url');
  const file = path === undefined ? join(await mkdtemp(join(tmpdir(), 'token-broker-')), 'key') : resolve(path);
  // Renamed, because a file that is there already may be another user's, or lead elsewhere.
  const fresh = `${file}.${process.pid}`;
  await writeFile(fresh, key, { mode: 0o600, flag: 'wx' });
  await rename(fresh, file);
  const remove = async () => {
    // Another server may have put its own key there.
    if ((await readFile(file, 'utf8').catch(() => '')) !== key) return;
    await rm(path === undefined ? join(file, '..') : file, { recursive: true });
  };
  return { key, file, remove };
}
