import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { finished, startScript } from './commands/shared/command-line.ts';

const SMALL = ['--instances', '20', '--pairs', '10', '--hours', '2'];

const start = (...args: readonly string[]) => startScript('bench/simulate.ts', ...args);

it('npm run simulate shows the three ways side by side, and by how much the goal is met', async () => {
  const { exitCode, stdout } = await finished(start(...SMALL));
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/broker +memory-only +no-broker/);
  expect(stdout).toMatch(/tokenRequests all( +\d+){3}/);
  expect(stdout).toMatch(/slo answeredPercent +[\d.]+ +[\d.]+ +0\n/);
  expect(stdout).toMatch(/\d+ of at most \d+: (met, \d+\.\d % below|MISSED, \d+\.\d % above)/);
});

it('npm run simulate answers in JSON, on a day of faults too', async () => {
  const { stdout } = await finished(start(...SMALL, '--faults', '--json'));
  const { interrupted, samples } = JSON.parse(stdout);
  const { goal } = samples[0];
  expect({ interrupted, met: goal.met }).toEqual({ interrupted: false, met: goal.tokenRequests <= goal.atMost });
  expect(samples.map(({ way }: { way: string }) => way)).toEqual(['broker', 'memory-only', 'no-broker']);
});

it('npm run simulate prints its results so far on Ctrl-C, and draws no chart of them', async () => {
  const child = start('--json', '--charts', temporaryFolder());
  await once(child.stderr, 'data');
  child.kill('SIGINT');
  const { exitCode, stdout, stderr } = await finished(child);
  expect([exitCode, /chart/.test(stderr)]).toEqual([130, false]);
  const { interrupted, samples } = JSON.parse(stdout);
  expect(interrupted).toBe(true);
  expect(samples).toHaveLength(3);
  for (const { simulatedHours } of samples) expect(simulatedHours).toBeLessThan(24);
});

it('npm run simulate has the options that docs/scale.md describes', async () => {
  const page = await readFile(new URL('../../docs/scale.md', import.meta.url), 'utf8');
  expect(page.match(/(?<=^npm run simulate).*$/gm)).toEqual(['', ' -- --faults', ' -- --charts docs/charts']);
});
