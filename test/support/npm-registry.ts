import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface NpmRegistry {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** A registry on loopback that has exactly what is installed here: `npm install` as ever, without a network. */
export async function startNpmRegistry(): Promise<NpmRegistry> {
  const installed = await readInstalled();
  const tarballs = new Map<string, Promise<Buffer>>();
  const server = createServer(async (request, response) => {
    const [name = '', folder] = decodeURIComponent(request.url ?? '')
      .slice(1)
      .split('?');
    const answer = await (folder === undefined ? packument(name) : packed(folder)).catch(() => undefined);
    response.writeHead(answer === undefined ? 404 : 200).end(answer ?? '{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;

  /** Made once, so that it is what its integrity says. */
  async function packed(folder: string): Promise<Buffer> {
    if (!installed.includes(folder)) throw new Error(`nothing is installed in ${folder}`);
    const known = tarballs.get(folder) ?? pack(join(ROOT, folder));
    tarballs.set(folder, known);
    return known;
  }

  /** Every version of a package, in the form of the npm registry. */
  async function packument(name: string): Promise<string> {
    const folders = installed.filter((folder) => folder.endsWith(`node_modules/${name}`));
    if (folders.length === 0) throw new Error(`${name} is not installed`);
    const versions: Record<string, unknown> = {};
    for (const folder of folders) {
      const manifest = JSON.parse(await readFile(join(ROOT, folder, 'package.json'), 'utf8'));
      const digest = createHash('sha512').update(await packed(folder));
      const dist = { tarball: `${url}/${name}?${folder}`, integrity: `sha512-${digest.digest('base64')}` };
      versions[manifest.version] = { ...manifest, dist };
    }
    return JSON.stringify({ name, versions, 'dist-tags': { latest: Object.keys(versions)[0] } });
  }

  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The folders of all installed packages. */
async function readInstalled(): Promise<readonly string[]> {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'node_modules/.package-lock.json'), 'utf8'));
  return Object.keys(packages);
}

async function pack(folder: string): Promise<Buffer> {
  const work = await mkdtemp(join(tmpdir(), 'npm-registry-'));
  try {
    await symlink(folder, join(work, 'package'));
    const args = ['-czhf', '-', '--exclude=node_modules', '-C', work, 'package'];
    const { stdout } = await promisify(execFile)('tar', args, { encoding: 'buffer', maxBuffer: 100 * 1024 * 1024 });
    return stdout;
  } finally {
    await rm(work, { recursive: true });
  }
}
