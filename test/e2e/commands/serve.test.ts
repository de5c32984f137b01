import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { beginCommandLine, ended, ISOLATED, runCommandLine } from './shared/command-line.ts';

const URL_OF_BROKER = { TOKEN_BROKER_URL: 'http://127.0.0.1:9' };

describe('token-broker serve', () => {
  it('prints where it listens and how to call it, notes failures, keeps its key in a file until Ctrl-C, and ends with 0', async () => {
    const command = await begin(['--port', '0']);
    const [, url = '', file = ''] = /^Listening on (\S+); .* The key is in (\S+)\.$/m.exec(command.output.stdout) ?? [];
    const key = readFileSync(file, 'utf8');
    expect((await fetch(`${url}/ping`)).status).toBe(200);
    const whoami = await fetch(`${url}/whoami`, { method: 'POST', headers: { 'x-token-broker-key': key } });
    expect(await whoami.json()).toMatchObject({ type: 'network-error', status: 503 });

    command.interrupt();
    const result = await command.finished;
    expect(result).toEqual(ended(0, /curl -sK - .*\/token\n$/s, /^network-error: .*\nStopping: .* 30 s\.\n$/));
    expect(result.stdout + result.stderr).not.toContain(key);
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

  it('says so when the key cannot be written', async () => {
    const missing = join(temporaryFolder(), 'missing', 'key');
    const unwritten = await runCommandLine(['serve', '--port', '0', '--key-file', missing, '--json'], URL_OF_BROKER);
    expect(unwritten).toEqual(ended(1, /"type": "key-file-failed"/, /ENOENT.*\n.*--key-file/));
  });
});

/** Begins the command, and waits until it listens. */
async function begin(args: readonly string[], env = {}) {
  // The server finds the keys of its process.
  for (const [name, value] of Object.entries(ISOLATED)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const command = beginCommandLine(['serve', ...args], { ...URL_OF_BROKER, ...env });
  const isListening = () => /\/token\n$|\}\n$/.test(command.output.stdout);
  while (!isListening()) await new Promise((resolve) => setImmediate(resolve));
  return command;
}
