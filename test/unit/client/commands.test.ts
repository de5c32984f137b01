import { getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { examineConnection } from '../../../client/commands/doctor/reach.ts';
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
  const [before, listeners] = [getDefaultAutoSelectFamilyAttemptTimeout(), process.listeners('SIGINT')];
  processShell();
  onTestFinished(() => {
    setDefaultAutoSelectFamilyAttemptTimeout(before);
    for (const listener of process.listeners('SIGINT')) {
      if (!listeners.includes(listener)) process.off('SIGINT', listener);
    }
  });
  expect([before < 1_000, getDefaultAutoSelectFamilyAttemptTimeout()]).toEqual([true, 2_000]);
});
