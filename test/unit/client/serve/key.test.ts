import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { KeyFileRefused, writeKeyFile } from '../../../../client/serve/key.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { type Answer, answerWith, startLoopbackServer } from '../loopback-server.ts';
import { startServing } from './forward-world.ts';

/** A key in the form of this server. */
const keyOf = (port: number) => `tbk-${port}-${'A'.repeat(43)}`;

describe('the file of a key', () => {
  it.each([
    ['a path is given', () => join(temporaryFolder(), 'key')],
    ['no path is given, in a folder that is removed with it', () => undefined],
  ])('can be found and read only by its owner, and is removed at the end, when %s', async (_, pathOf) => {
    const [server, path] = [await startServing(), pathOf()];
    const { file, remove } = await writeKeyFile(path, server);
    expect(readFileSync(file, 'utf8')).toBe(server.key);
    expect(server.key).toMatch(new RegExp(`^tbk-${server.port}-[\\w-]{43}$`));
    expect([file, dirname(file)].map((name) => statSync(name).mode & 0o777)).toEqual([0o600, 0o700]);
    expect(readdirSync(dirname(file))).toEqual(['key']);
    await remove();
    expect(existsSync(path === undefined ? dirname(file) : file)).toBe(false);
  });

  it('replaces a key of a server that has ended, of its own port, and of a port that another server has now', async () => {
    const [server, other, ending] = [await startServing(), await startServing(), await startServing()];
    await ending.close(0);
    for (const { port } of [ending, server, other]) {
      const path = join(temporaryFolder(), 'key');
      writeFileSync(path, keyOf(port));
      await writeKeyFile(path, server);
      expect(readFileSync(path, 'utf8')).toBe(server.key);
      expect(readdirSync(dirname(path))).toEqual(['key']);
    }
  });

  it('does not send an old key to the program that has its port now, whatever that answers', async () => {
    const proving = (proof: unknown) => answerWith(200, {}, { 'x-token-broker-proof': `${proof}` });
    const echo: Answer = (...exchange) => proving(exchange[1].headers['x-token-broker-challenge'])(...exchange);
    const answers = [answerWith(200, { ok: true }), proving(''), echo, answerWith(401, {})];
    for (const answer of answers) {
      const program = await startLoopbackServer(answer);
      onTestFinished(program.close);
      const [server, path] = [await startServing(), join(temporaryFolder(), 'key')];
      const stale = keyOf(Number(new URL(program.url).port));
      writeFileSync(path, stale);
      await writeKeyFile(path, server);
      expect(readFileSync(path, 'utf8')).toBe(server.key);
      expect(program.requests).toHaveLength(1);
      expect(JSON.stringify(program.requests)).not.toContain(stale.slice(10));
    }
  });

  it.each<[string, (path: string, other: string) => void]>([
    ['file of another program', (path) => writeFileSync(path, 'kept')],
    ['empty file', (path) => writeFileSync(path, '')],
    ['text that is longer than a key', (path) => writeFileSync(path, `${keyOf(1)}x`)],
    ['text with the beginning of a key', (path) => writeFileSync(path, 'tbk-1-x')],
    ['key with a line break', (path) => writeFileSync(path, `${keyOf(1)}\n`)],
    ['key of a port that does not exist', (path) => writeFileSync(path, keyOf(99_999))],
    ['43 characters that may be the key of another program', (path) => writeFileSync(path, 'A'.repeat(43))],
    ['link to a stale key', (path, other) => symlinkSync(other, path)],
    ['link to nothing', (path) => symlinkSync('/nonexistent/key', path)],
    ['folder', (path) => mkdirSync(path)],
    ['key of another user', ofAnotherUser],
  ])('refuses to replace a %s, and leaves it as it is', async (_, put) => {
    const folder = temporaryFolder();
    const [path, other] = [join(folder, 'key'), join(folder, 'other')];
    writeFileSync(other, keyOf(1));
    put(path, other);
    const before = snapshot(folder);
    await expect(writeKeyFile(path, await startServing())).rejects.toEqual(
      new KeyFileRefused('The file exists and is not a key of yours that serve made'),
    );
    expect(snapshot(folder)).toEqual(before);
  });

  it('goes to one of two servers that start together, with a stale key in the file or none', async () => {
    for (const stale of [undefined, keyOf(1)]) {
      const path = join(temporaryFolder(), 'key');
      if (stale !== undefined) writeFileSync(path, stale);
      const servers = [await startServing(), await startServing()];
      const outcomes = await Promise.allSettled(servers.map((server) => writeKeyFile(path, server)));
      const winners = servers.filter((_, index) => outcomes[index]?.status === 'fulfilled');
      expect(winners.map(({ key }) => key)).toEqual([readFileSync(path, 'utf8')]);
      expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
        reason: { name: 'KeyFileRefused' },
      });
      expect(readdirSync(dirname(path))).toEqual(['key']);
    }
  });

  it('that another server writes while this one examines a stale key is put back', async () => {
    const [server, winner, path] = [await startServing(), await startServing(), join(temporaryFolder(), 'key')];
    const program = await startLoopbackServer((...exchange) => {
      writeFileSync(path, winner.key);
      answerWith(200, {})(...exchange);
    });
    onTestFinished(program.close);
    writeFileSync(path, keyOf(Number(new URL(program.url).port)));
    await expect(writeKeyFile(path, server)).rejects.toThrow(`The server on port ${winner.port} has this file`);
    expect(readFileSync(path, 'utf8')).toBe(winner.key);
    expect(readdirSync(dirname(path))).toEqual(['key']);
  });

  it('is left alone at the end when it has another key by then', async () => {
    const path = join(temporaryFolder(), 'key');
    const { remove } = await writeKeyFile(path, await startServing());
    writeFileSync(path, 'kept');
    await remove();
    expect(readFileSync(path, 'utf8')).toBe('kept');
  });
});

function ofAnotherUser(path: string): void {
  writeFileSync(path, keyOf(1));
  const getuid = vi.spyOn(process, 'getuid').mockReturnValue(statSync(path).uid + 1);
  onTestFinished(() => getuid.mockRestore());
}

/** The entries of a folder, each with its kind and its content. */
function snapshot(folder: string) {
  return readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const isRead = entry.isFile();
    return [entry.name, isRead ? readFileSync(join(folder, entry.name), 'utf8') : entry.isSymbolicLink()];
  });
}
