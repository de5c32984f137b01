import { getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { examineConnection } from '../../../client/commands/doctor/reach.ts';
import { terminalCommand } from '../../../client/commands/failure.ts';
import { timeText } from '../../../client/commands/output.ts';
import { processShell } from '../../../client/commands/shell.ts';
import { parseEndpoint } from '../../../client/index.ts';

it('doctor names HTTPS_PROXY where Node ignores it', async () => {
  for (const name of ['NODE_USE_ENV_PROXY', 'NODE_OPTIONS', 'https_proxy']) vi.stubEnv(name, undefined);
  vi.stubEnv('HTTPS_PROXY', 'http://proxy.example.com:3128');
  onTestFinished(() => void vi.unstubAllEnvs());
  const endpoint = parseEndpoint('https://127.0.0.1:9', 'eu-west-1');
  expect(await examineConnection(endpoint, new AbortController().signal)).toMatchObject([
    { outcome: 'failed', cause: 'connection-failed', advice: expect.stringMatching(/NODE_USE_ENV_PROXY=1/) },
  ]);
});

it('a command allows each address of a host two seconds, where Node allows a fraction of one', () => {
  const before = getDefaultAutoSelectFamilyAttemptTimeout();
  const on = vi.spyOn(process, 'on').mockReturnThis();
  processShell();
  on.mockRestore();
  onTestFinished(() => setDefaultAutoSelectFamilyAttemptTimeout(before));
  expect([before < 1_000, getDefaultAutoSelectFamilyAttemptTimeout()]).toEqual([true, 2_000]);
});

it('shows the date of a time at a terminal only where the hour does not say the day', () => {
  vi.setSystemTime('2026-01-01T23:30:00Z');
  onTestFinished(() => void vi.useRealTimers());
  const terminal = { stdout: Object.assign(new PassThrough(), { columns: 80 }) };
  const times = ['2026-01-02T00:29:59Z', '2026-01-01T11:31:00Z', '2026-01-01T11:30:00Z', '2026-01-02T12:00:00Z'];
  const shown = times.map((time) => timeText(Date.parse(time), terminal));
  expect(shown).toEqual(['00:29Z', '11:31Z', '2026-01-01 11:30Z', '2026-01-02 12:00Z']);
});

/** @see docker-archive-public/docker.machine#733 */
it('shows the command for the variables of a terminal in PowerShell on Windows, and for other shells elsewhere', () => {
  expect(terminalCommand('--unset', 'win32')).toBe(
    'npm.cmd run --silent token-broker -- env --unset --powershell | Invoke-Expression',
  );
  expect(terminalCommand('operator', 'linux')).toBe('eval "$(npm run --silent token-broker -- env operator)"');
});
