import { randomUUID } from 'node:crypto';
import { link, lstat, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The refusal to replace a file. The file stays as it is. */
export class KeyFileRefused extends Error {
  override readonly name = 'KeyFileRefused';
  readonly type: 'key-file-foreign' | 'key-file-in-use';

  constructor(type: KeyFileRefused['type'], message: string) {
    super(message);
    this.type = type;
  }
}

/**
 * Writes the key of the server on `port` to a file that only its owner can read. `remove` deletes the file. Replaces
 * only a key whose server has ended. Of servers that start together, a single server keeps the file.
 *
 * @throws KeyFileRefused, or the error of Node
 */
export async function writeKeyFile(path: string | undefined, { key, port }: { key: string; port: number }) {
  const file = path === undefined ? join(await mkdtemp(join(tmpdir(), 'token-broker-')), 'key') : resolve(path);
  while (!(await isCreated(file, key))) {
    const found = await readKeyFile(file);
    const [, foundPort] = /^tbk-(\d{1,5})-/.exec(found ?? '') ?? [];
    // Our own port cannot be another server's.
    const isServed = Number(foundPort) !== port && (await isKeyOf(Number(foundPort), found ?? ''));
    if (isServed) throw new KeyFileRefused('key-file-in-use', `The server on port ${foundPort} has this file`);
    if (found !== undefined) await removeStale(file, found);
  }
  const remove = async () => {
    if ((await readKeyFile(file).catch(() => undefined)) !== key) return;
    await rm(path === undefined ? join(file, '..') : file, { recursive: true });
  };
  return { file, remove };
}

/** Links a complete file into place, which fails if another file is there. */
async function isCreated(file: string, key: string): Promise<boolean> {
  const fresh = `${file}.${randomUUID()}`;
  await writeFile(fresh, key, { mode: 0o600, flag: 'wx' });
  try {
    await link(fresh, file);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(fresh);
  }
}

/** Returns the key in a file, or `undefined` if the file no longer exists. @throws KeyFileRefused for any other file */
async function readKeyFile(file: string): Promise<string | undefined> {
  try {
    const found = await lstat(file);
    const isOwn = found.isFile() && found.size <= 256 && (!process.getuid || found.uid === process.getuid());
    const text = isOwn ? await readFile(file, 'utf8') : '';
    // The previous release wrote keys without a prefix.
    if (/^tbk-[\w-]+\s*$|^[\w-]{43}$/.test(text)) return text;
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  throw new KeyFileRefused('key-file-foreign', 'The file exists and is not a key of yours that serve made');
}

/** Deletes a stale key. Another server may have replaced it meanwhile, so moves the file aside before a last look. */
async function removeStale(file: string, stale: string): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
    if ((await readFile(aside, 'utf8')) !== stale) await link(aside, file);
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'EEXIST')) throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** Returns whether a server on this machine accepts the key. A server that does not answer has ended. */
function isKeyOf(port: number, key: string): Promise<boolean> {
  if (!(port > 0 && port <= 65_535)) return Promise.resolve(false);
  return new Promise((resolve) => {
    const headers = { 'x-token-broker-key': key.trim() };
    const signal = AbortSignal.timeout(1_000);
    // `fetch` refuses some ports.
    get({ host: '127.0.0.1', port, path: '/ping', headers, agent: false, signal }, (answer) => {
      resolve(answer.resume().statusCode === 200);
    }).on('error', () => resolve(false));
  });
}

function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => error.code === code);
}
