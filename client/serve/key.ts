import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { link, lstat, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The refusal to replace a file, which stays as it is. */
export class KeyFileRefused extends Error {
  override readonly name = 'KeyFileRefused';
}

/**
 * Writes the key of the server on `port` to a file that only its owner can read. `remove` deletes the file. Replaces
 * only a key whose server has ended. Of servers that start together, a single server keeps the file.
 *
 * @throws KeyFileRefused, or the error of Node
 */
export async function writeKeyFile(path: string | undefined, { key, port }: { key: string; port: number }) {
  const file = path === undefined ? join(await mkdtemp(join(tmpdir(), 'token-broker-')), 'key') : resolve(path);
  while (!(await isCreated(file, key))) await removeStale(file, port);
  const remove = async () => {
    // Another server may have written its own key to the file.
    if ((await readFile(file, 'utf8').catch(() => '')) !== key) return;
    await rm(path === undefined ? join(file, '..') : file, { recursive: true });
  };
  return { file, remove };
}

/** Links a complete file into place. Returns `false` if any file or link is already there. */
async function isCreated(file: string, key: string): Promise<boolean> {
  const fresh = `${file}.${randomUUID()}`;
  await writeFile(fresh, key, { mode: 0o600, flag: 'wx' });
  try {
    await link(fresh, file);
    return true;
  } catch (error) {
    if (Object(error).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(fresh);
  }
}

/** Deletes a key whose server has ended. @throws KeyFileRefused for the key of a running server, and any other file */
async function removeStale(file: string, ownPort: number): Promise<void> {
  try {
    const found = await lstat(file);
    const isOwn = found.isFile() && found.size <= 256 && found.uid === (process.getuid?.() ?? found.uid);
    const text = isOwn ? await readFile(file, 'utf8') : '';
    // The previous release wrote keys without a prefix.
    const isKey = /^tbk-[\w-]+\s*$|^[\w-]{43}$/.test(text);
    if (!isKey) throw new KeyFileRefused('The file exists and is not a key of yours that serve made');
    const port = Number(/^tbk-(\d{1,5})-/.exec(text)?.[1]);
    const isServed = port > 0 && port !== ownPort && (await isKeyOf(port, text.trim()));
    if (isServed) throw new KeyFileRefused(`The server on port ${port} has this file`);

    const aside = `${file}.${randomUUID()}`;
    await rename(file, aside);
    // Another server may have replaced the key meanwhile, and a third may have written its own by now.
    if ((await readFile(aside, 'utf8')) !== text) await link(aside, file).catch(() => undefined);
    await rm(aside);
  } catch (error) {
    if (Object(error).code !== 'ENOENT') throw error;
  }
}

/** Returns whether a server on this machine accepts the key. A server that does not answer has ended. */
async function isKeyOf(port: number, key: string): Promise<boolean> {
  const [headers, signal] = [{ 'x-token-broker-key': key }, AbortSignal.timeout(1_000)];
  try {
    // `fetch` refuses some ports.
    const request = get({ host: '127.0.0.1', port, path: '/ping', headers, agent: false, signal });
    const [answer] = await once(request, 'response');
    return answer.destroy().statusCode === 200;
  } catch {
    return false;
  }
}
