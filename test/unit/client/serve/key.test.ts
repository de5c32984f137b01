import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KeyFileRefused, writeKeyFile } from '../../../../client/serve/key.ts';
import { startServer } from '../../../../client/serve/server.ts';
import { createFakeBroker } from '../../../../client/testing.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

describe('the file of a key', () => {
  it('can be read only by its owner, and is removed at the end', async () => {
    const [server, folder] = [await start(), temporaryFolder()];
    const { file, remove } = await writeKeyFile(join(folder, 'key'), server);
    expect(readFileSync(file, 'utf8')).toBe(server.key);
    expect(server.key).toMatch(new RegExp(`^tbk-${server.port}-[\\w-]{43}$`));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['key']);
    await remove();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is in a folder that only its owner can enter when no path is given, and the folder is removed with it', async () => {
    const { file, remove } = await writeKeyFile(undefined, await start());
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    await remove();
    expect(existsSync(dirname(file))).toBe(false);
  });

  it('stays while its server answers: a second server is refused, and the first goes on', async () => {
    const [first, second, path] = [await start(), await start(), join(temporaryFolder(), 'key')];
    const { remove } = await writeKeyFile(path, first);
    await expect(writeKeyFile(path, second)).rejects.toMatchObject({
      message: `The server on port ${first.port} has this file`,
    });
    expect(readFileSync(path, 'utf8')).toBe(first.key);
    await remove();
    expect(existsSync(path)).toBe(false);
  });

  it.each([
    ['of a server that has ended', 'ended'],
    ['of a server whose port another server has', 'taken'],
    ['of its own port, as a killed server leaves it', 'own'],
    ['of a port that does not exist', 'tbk-99999-x'],
    ['that an editor has cut', 'tbk-x\n'],
    ['of the previous release', 'A'.repeat(43)],
  ])('replaces a key %s', async (_, kind) => {
    const [server, other, ending] = [await start(), await start(), await start()];
    await ending.close(0);
    const stale = { ended: ending.key, taken: other.key.slice(0, -1), own: `tbk-${server.port}-x` }[kind] ?? kind;
    const path = join(temporaryFolder(), 'key');
    writeFileSync(path, stale);
    const { remove } = await writeKeyFile(path, server);
    expect(readFileSync(path, 'utf8')).toBe(server.key);
    expect(readdirSync(dirname(path))).toEqual(['key']);
    await remove();
  });

  it.each<[string, (path: string, other: string) => void]>([
    ['file of another program', (path) => writeFileSync(path, 'kept')],
    ['empty file', (path) => writeFileSync(path, '')],
    ['text that is longer than a key', (path) => writeFileSync(path, `tbk-${'x'.repeat(300)}`)],
    ['link to a stale key', (path, other) => symlinkSync(other, path)],
    ['link to nothing', (path) => symlinkSync('/nonexistent/key', path)],
    ['folder', (path) => mkdirSync(path)],
  ])('refuses to replace a %s, and leaves it as it is', async (_, put) => {
    const folder = temporaryFolder();
    const [path, other] = [join(folder, 'key'), join(folder, 'other')];
    writeFileSync(other, 'tbk-1-x');
    put(path, other);
    const before = snapshot(folder);
    await expect(writeKeyFile(path, await start())).rejects.toEqual(
      new KeyFileRefused('The file exists and is not a key of yours that serve made'),
    );
    expect(snapshot(folder)).toEqual(before);
  });

  it('goes to one of two servers that start together, with a stale key in the file or none', async () => {
    for (const stale of [undefined, 'tbk-1-stale', 'A'.repeat(43)]) {
      const path = join(temporaryFolder(), 'key');
      if (stale !== undefined) writeFileSync(path, stale);
      const servers = [await start(), await start()];
      const outcomes = await Promise.allSettled(servers.map((server) => writeKeyFile(path, server)));
      const winners = servers.filter((_, index) => outcomes[index]?.status === 'fulfilled');
      expect(winners.map(({ key }) => key)).toEqual([readFileSync(path, 'utf8')]);
      expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
        reason: { name: 'KeyFileRefused' },
      });
      expect(readdirSync(dirname(path))).toEqual(['key']);
    }
  });

  it('is left alone at the end when it has another key by then', async () => {
    const path = join(temporaryFolder(), 'key');
    const { remove } = await writeKeyFile(path, await start());
    writeFileSync(path, 'kept');
    await remove();
    expect(readFileSync(path, 'utf8')).toBe('kept');
  });
});

/** A server with a key of its own on a free port. */
async function start() {
  const { token, whoami } = createFakeBroker().broker;
  const server = await startServer({ broker: { token, whoami }, port: 0, note: () => undefined });
  onTestFinished(() => server.close(0));
  return server;
}

/** The entries of a folder, each with its kind and its content. */
function snapshot(folder: string) {
  return readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const isRead = entry.isFile();
    return [entry.name, isRead ? readFileSync(join(folder, entry.name), 'utf8') : entry.isSymbolicLink()];
  });
}
