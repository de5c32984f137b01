import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { KINDS } from '../../bench/start/cold-start.ts';
import { FIGURES } from '../../bench/start/figures.ts';
import { reportOf } from '../../bench/start/report.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { temporaryFolder } from '../support/temporary-folder.ts';
import { ended, finished, ROOT, runProgram } from './commands/shared/command-line.ts';

it.each([
  ['bench', ['--help'], 0, /--rounds.*--hits.*--write.*--json/s, ''],
  ['bench', ['--rounds', '0'], 2, '', /--help shows how/],
  ['simulate', ['--help'], 0, /--instances.*--pairs.*--hours.*--seed.*--charts.*--json/s, ''],
  ['simulate', ['--pairs', '10001'], 2, '', /--help shows how/],
  ['simulate', ['--calm', '--faults'], 2, '', /'--calm' cannot be used with option '--faults'/],
] as const)('npm run %s says how it is used: %s', async (name, args, exitCode, stdout, stderr) => {
  expect(packageJson.scripts[name]).toBe(`node bench/${name}.ts`);
  expect(await runProgram(`bench/${name}.ts`, args)).toEqual(ended(exitCode, stdout, stderr));
});

describe('npm run bench', () => {
  it('measures everything once, prints only JSON, and writes the figures into the page and its chart', async () => {
    const docs = temporaryFolder();
    await cp(DOCS, docs, { recursive: true });
    const args = ['--rounds', '1', '--hits', '3', '--json', '--write', docs];
    const { exitCode, stdout } = await runProgram('bench/bench.ts', args);
    const { figures, samples, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({});

    expect(figures.map(({ name }: { name: string }) => name)).toEqual(FIGURES.map(({ name }) => name));
    for (const { name, value, limit = Number.POSITIVE_INFINITY, isAbove } of figures) {
      expect({ name, isAbove }).toEqual({ name, isAbove: value > limit });
    }
    expect(exitCode).toBe(figures.some(({ isAbove }: { isAbove: boolean }) => isAbove) ? 3 : 0);
    expect(samples.rounds).toHaveLength(1);
    expect(Object.keys(samples.rounds[0].atOnce).toSorted()).toEqual(Object.keys(KINDS).toSorted());

    const page = await readFile(join(docs, 'performance.md'), 'utf8');
    const before = await readFile(join(DOCS, 'performance.md'), 'utf8');
    expect(page.replace(MEASURED, '')).toBe(before.replace(MEASURED, ''));
    expect(page).toContain('\n1 round with Node ');
    const chart = await readFile(join(docs, 'charts/bench.svg'), 'utf8');
    expect(chart).toMatch(/^<svg .*<\/svg>\n$/s);
    for (const kind of Object.keys(KINDS)) expect(chart).toContain(`>${kind}</text>`);
    const report = reportOf(samples);
    expect(page).toContain(report);
    for (const text of [page, chart, report]) expect(text).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('has its chart and its table in docs/performance.md', async () => {
    const page = await readFile(join(DOCS, 'performance.md'), 'utf8');
    expect(page).toContain('](charts/bench.svg)');
    for (const { name } of FIGURES) expect(page.match(MEASURED)?.[0]).toContain(`| ${name} |`);
  });
});

describe('npm run simulate', () => {
  it('shows the three ways side by side, and by how much the goal is met', async () => {
    const { exitCode, stdout } = await runProgram('bench/simulate.ts', SMALL);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/broker +memory-only +no-broker/);
    expect(stdout).toMatch(/tokenRequests all( +\d+){3}/);
    expect(stdout).toMatch(/slo answeredPercent +[\d.]+ +[\d.]+ +0\n/);
    expect(stdout).toMatch(/\d+ of at most \d+: (met, \d+\.\d % below|MISSED, \d+\.\d % above)/);
  });

  it('answers in JSON, on a day of faults too', async () => {
    const { stdout } = await runProgram('bench/simulate.ts', [...SMALL, '--faults', '--json']);
    const { interrupted, samples } = JSON.parse(stdout);
    const { goal } = samples[0];
    expect({ interrupted, met: goal.met }).toEqual({ interrupted: false, met: goal.tokenRequests <= goal.atMost });
    expect(samples.map(({ way }: { way: string }) => way)).toEqual(['broker', 'memory-only', 'no-broker']);
  });

  it('prints its results so far on Ctrl-C, and draws no chart of them', async () => {
    const args = ['bench/simulate.ts', '--json', '--charts', temporaryFolder()];
    const child = spawn(process.execPath, args, { cwd: ROOT });
    await once(child.stderr, 'data');
    child.kill('SIGINT');
    const { exitCode, stdout, stderr } = await finished(child);
    expect([exitCode, /chart/.test(stderr)]).toEqual([130, false]);
    const { interrupted, samples } = JSON.parse(stdout);
    expect(interrupted).toBe(true);
    expect(samples).toHaveLength(3);
    for (const { simulatedHours } of samples) expect(simulatedHours).toBeLessThan(24);
  });

  it('has the options that docs/scale.md describes', async () => {
    const page = await readFile(join(DOCS, 'scale.md'), 'utf8');
    expect(page.match(/(?<=^npm run simulate).*$/gm)).toEqual(['', ' -- --faults', ' -- --charts docs/charts']);
  });
});

const SMALL = ['--instances', '20', '--pairs', '10', '--hours', '2'];

const MEASURED = /<!-- measured -->.*<!-- \/measured -->/s;

const DOCS = join(ROOT, 'docs');
