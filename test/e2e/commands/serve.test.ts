import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { beginCommandLine, ended, finished, runCommandLine, startCommandLine } from './shared/command-line.ts';

const URL_OF_BROKER = { TOKEN_BROKER_URL: 'http://127.0.0.1:9' };

describe('token-broker serve', () => {
  it('prints where it listens and how to call it, keeps its key in a file until Ctrl-C, and ends with 0', async () => {
    const command = await begin(['--port', '0']);
    const [, url = '', file = ''] = /^Listening on (\S+); .* The key is in (\S+)\.$/m.exec(command.output.stdout) ?? [];
    const key = readFileSync(file, 'utf8');
    expect((await fetch(`${url}/ping`)).status).toBe(200);
    expect((await fetch(`${url}/check`, { headers: { 'x-token-broker-key': key } })).status).toBe(404);

    command.interrupt();
    const result = await command.finished;
    expect(result).toEqual(ended(0, /curl -sK - .*\/token\n$/s, /^Stopping: .* 30 s\.\n$/));
    expect(result.stdout + result.stderr).not.toContain(key);
    expect(existsSync(file)).toBe(false);
  });

  it('writes the key where --key-file says, notes failures, and removes the file at SIGTERM', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'key');
    const child = startCommandLine(['serve', '--port', '0', '--key-file', file, '--json'], URL_OF_BROKER);
    const end = finished(child);
    const [told] = await once(child.stdout, 'data');
    const { url, key_file } = JSON.parse(told);
    const headers = { 'x-token-broker-key': readFileSync(key_file, 'utf8') };
    const whoami = await fetch(`${url}/whoami`, { method: 'POST', headers });
    expect(await whoami.json()).toMatchObject({ type: 'network-error', status: 503 });

    child.kill('SIGTERM');
    expect(await end).toEqual(ended(0, told, /^network-error: .*\nStopping: .* 30 s\.\n$/));
    expect(key_file).toBe(file);
    expect(existsSync(file)).toBe(false);
  });

  it('writes and deletes nothing when its port is taken, or its key file is that of a running server', async () => {
    const file = join(temporaryFolder(), 'key');
    const first = await begin(['--port', '0', '--key-file', file, '--json']);
    const { port } = new URL(JSON.parse(first.output.stdout).url);
    const key = readFileSync(file, 'utf8');
    const start = (...args: string[]) => runCommandLine(['serve', '--key-file', file, ...args], URL_OF_BROKER);
    expect(await start('--port', port)).toEqual(ended(1, '', /^error: port-unavailable: .*EADDRINUSE.*\n.*--port/));
    const inUse = new RegExp(`^error: key-file-refused: The server on port ${port} has this file\\n.*--key-file`);
    expect(await start('--port', '0')).toEqual(ended(1, '', inUse));
    expect(readFileSync(file, 'utf8')).toBe(key);
    first.interrupt();
    await first.finished;
    expect(existsSync(file)).toBe(false);
  });

  it('says so when the key cannot be written, or is empty', async () => {
    const empty = await runCommandLine(['serve'], { ...URL_OF_BROKER, TOKEN_BROKER_SERVE_KEY: '' });
    expect(empty).toEqual(ended(2, '', /^error: TOKEN_BROKER_SERVE_KEY is empty/));
    const missing = join(temporaryFolder(), 'missing', 'key');
    const unwritten = await runCommandLine(['serve', '--port', '0', '--key-file', missing, '--json'], URL_OF_BROKER);
    expect(unwritten).toEqual(ended(1, /"type": "key-file-failed"/, /ENOENT.*\n.*--key-file/));
  });
});

/** Begins the command, and waits until it listens. */
async function begin(args: readonly string[], env = {}) {
  const command = beginCommandLine(['serve', ...args], { ...URL_OF_BROKER, ...env });
  const isListening = () => /\/token\n$|\}\n$/.test(command.output.stdout);
  while (!isListening()) await new Promise((resolve) => setImmediate(resolve));
  return command;
}
