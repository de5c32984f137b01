import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { finished, startScript } from './commands/shared/command-line.ts';

const SMALL = ['--instances', '20', '--pairs', '10', '--hours', '2'];

const start = (...args: readonly string[]) => startScript('bench/simulate.ts', ...args);

it('npm run simulate shows the three ways side by side, by how much the goal is met, and their requests in a chart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'charts-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { exitCode, stdout } = await finished(start(...SMALL, '--charts', folder));
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/broker +memory only +no broker/);
  expect(stdout).toMatch(/\d+ of at most \d+: (met, \d+\.\d % below|MISSED, \d+\.\d % above)/);
  expect(await readdir(folder)).toEqual(['token-requests.svg']);
  for (const name of await readdir(folder)) {
    const svg = await readFile(join(folder, name), 'utf8');
    expect(svg).toMatch(/^<svg .*prefers-color-scheme: dark.*<\/svg>\n$/s);
    for (const way of ['broker', 'memory only', 'no broker']) expect(svg).toContain(`>${way}</text>`);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(svg.length).toBeLessThan(8_000);
  }
});

it('npm run simulate answers in JSON as all measurements do, on a day of faults too', async () => {
  const { stdout } = await finished(start(...SMALL, '--faults', '--json'));
  const { goals, skipped, samples } = JSON.parse(stdout);
  const { value, goal } = goals[0];
  expect(goals).toEqual([{ id: 'simulated-fleet', value, goal, met: value <= goal }]);
  expect(skipped).toEqual([]);
  expect(samples.map(({ way }: { way: string }) => way)).toEqual(['broker', 'memory-only', 'no-broker']);
});

it('npm run simulate prints its results so far on Ctrl-C', async () => {
  const child = start('--json');
  await once(child.stderr, 'data');
  child.kill('SIGINT');
  const { exitCode, stdout } = await finished(child);
  expect(exitCode).toBe(130);
  const { goals, skipped, samples } = JSON.parse(stdout);
  expect({ goals, skipped }).toEqual({ goals: [], skipped: [{ id: 'simulated-fleet', why: 'interrupted' }] });
  expect(samples.length).toBeGreaterThan(0);
  for (const { simulatedHours } of samples) expect(simulatedHours).toBeLessThan(24);
});

it('npm run simulate is the script that docs/scale.md describes', async () => {
  const page = await readFile(new URL('../../docs/scale.md', import.meta.url), 'utf8');
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  expect(page.match(/(?<=^npm run simulate).*$/gm)).toEqual(['', ' -- --faults', ' -- --charts docs/charts']);
  expect(JSON.parse(manifest).scripts.simulate).toBe('node bench/simulate.ts');
  const pictures = [...page.matchAll(/\]\(charts\/(.*?)\)/g)].map(([, name]) => name);
  expect(await readdir(new URL('../../docs/charts', import.meta.url))).toEqual(expect.arrayContaining(pictures));
});
