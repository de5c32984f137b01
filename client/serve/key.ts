import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Creates a key in a file that only its owner can read. `remove` deletes the file. @throws the error of Node */
export async function makeKey(path: string | undefined) {
  const key = randomBytes(32).toString('base64url');
  const file = path === undefined ? join(await mkdtemp(join(tmpdir(), 'token-broker-')), 'key') : resolve(path);
  // Renames a new file, because an existing file may be another user's, or a link to elsewhere.
  const fresh = `${file}.${process.pid}`;
  await writeFile(fresh, key, { mode: 0o600, flag: 'wx' });
  await rename(fresh, file);
  const remove = async () => {
    // Another server may have written its own key to the file.
    if ((await readFile(file, 'utf8').catch(() => '')) !== key) return;
    await rm(path === undefined ? join(file, '..') : file, { recursive: true });
  };
  return { key, file, remove };
}
