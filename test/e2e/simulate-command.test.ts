import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { finished } from './commands/command-line.ts';

describe('npm run simulate', () => {
  it('says how it is used', async () => {
    const { exitCode, stdout } = await finished(start('--help'));
    expect(exitCode).toBe(0);
    for (const option of ['environments', 'pairs', 'hours', 'seed', 'calm', 'charts', 'json']) {
      expect(stdout).toContain(`--${option}`);
    }
  });

  it.each([
    ['--pairs', '10001'],
    ['--seed', 'x'],
  ])('refuses %s %s', async (...args) => {
    const { exitCode, stdout, stderr } = await finished(start(...args));
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('--help shows how');
  });

  it('shows the three ways side by side, and by how much the goal is met', async () => {
    const { exitCode, stdout } = await finished(start(...SMALL));
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/broker +memory only +no broker/);
    expect(stdout).toMatch(/\d+ of at most \d+: (met, \d+\.\d % below|MISSED, \d+\.\d % above)/);
  });

  it('answers in JSON as all measurements do', async () => {
    const { stdout } = await finished(start(...SMALL, '--json'));
    const { goals, skipped, samples } = JSON.parse(stdout);
    const { value, goal } = goals[0];
    expect(goals).toEqual([{ id: 'simulated-fleet', value, goal, met: value <= goal }]);
    expect(skipped).toEqual([]);
    expect(samples.map(({ way }: { way: string }) => way)).toEqual(['broker', 'memory-only', 'no-broker']);
  });

  it('tells on Ctrl-C what it knows by then', async () => {
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

  it('is a script, and does what docs/scale.md says', async () => {
    const page = await readFile(new URL('../../docs/scale.md', import.meta.url), 'utf8');
    const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
    const commands = page.match(/(?<=^npm run simulate).*$/gm) ?? [];
    expect(commands).toEqual(['', ' -- --charts docs/charts']);
    expect(JSON.parse(manifest).scripts.simulate).toBe('node bench/simulate.ts');
    const pictures = [...page.matchAll(/\]\(charts\/(.*?)\)/g)].map(([, name]) => name);
    expect(await readdir(new URL('../../docs/charts', import.meta.url))).toEqual(expect.arrayContaining(pictures));
  });

  describe('with a folder for charts', () => {
    let folder = '';
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'charts-'));
    });
    afterEach(() => rm(folder, { recursive: true }));

    it('draws what a reader of either colour scheme can read', async () => {
      const { exitCode } = await finished(start(...SMALL, '--charts', folder));
      expect(exitCode).toBe(0);
      expect(await readdir(folder)).toEqual(['cost.svg', 'token-requests.svg']);
      for (const name of await readdir(folder)) {
        const svg = await readFile(join(folder, name), 'utf8');
        expect(svg).toMatch(/^<svg .*<\/svg>\n$/s);
        expect(svg).toContain('prefers-color-scheme: dark');
        for (const way of ['broker', 'memory only', 'no broker']) expect(svg).toContain(`>${way}</text>`);
        expect(svg).not.toMatch(/NaN|Infinity|undefined/);
        expect(svg.length).toBeLessThan(8_000);
      }
    });
  });
});

const SMALL = ['--environments', '20', '--pairs', '10', '--hours', '2'];

function start(...args: readonly string[]): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [PROGRAM, ...args]);
}

const PROGRAM = fileURLToPath(new URL('../../bench/simulate.ts', import.meta.url));
