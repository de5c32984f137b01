import { createHmac, randomBytes, randomUUID } from 'node:crypto';
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
    const port = Number(/^tbk-([1-9]\d{0,4})-[\w-]{43}$/.exec(text)?.[1]);
    if (!(port < 65_536)) throw new KeyFileRefused('The file exists and is not a key of yours that serve made');
    const isServed = port !== ownPort && (await isKeyOf(port, text));
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

/**
 * Returns whether a server on this machine has the key. The server proves that, because any program may have its port
 * by now, and must not get the key. A server that does not answer has ended.
 */
async function isKeyOf(port: number, key: string): Promise<boolean> {
  const challenge = randomBytes(32).toString('hex');
  try {
    // `fetch` refuses some ports.
    const headers = { 'x-token-broker-challenge': challenge };
    const options = { host: '127.0.0.1', port, path: '/ping', headers, agent: false };
    const request = get({ ...options, signal: AbortSignal.timeout(1_000) });
    const [answer] = await once(request, 'response');
    return answer.destroy().headers['x-token-broker-proof'] === proofOf(key, challenge);
  } catch {
    return false;
  }
}

/** Returns what only a server with the key can answer. It reveals nothing of the key. */
export function proofOf(key: string, challenge: string): string {
  return createHmac('sha256', key).update(challenge).digest('hex');
}
