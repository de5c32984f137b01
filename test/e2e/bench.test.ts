import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GOALS } from '../../bench/start/goals.ts';
import { reportOf } from '../../bench/start/report.ts';
import { finished } from './commands/command-line.ts';

describe('npm run bench', () => {
  it('says how it is used', async () => {
    const { exitCode, stdout } = await finished(start('--help'));
    expect(exitCode).toBe(0);
    for (const option of ['rounds', 'hits', 'no-fleet', 'chart', 'json']) expect(stdout).toContain(`--${option}`);
  });

  it('refuses a number that it cannot use', async () => {
    const { exitCode, stdout, stderr } = await finished(start('--rounds', '0'));
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('--help shows how');
  });

  it('measures everything once, prints only JSON, and draws what it measured', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'bench-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { exitCode, stdout } = await finished(start(...ONCE, '--json', '--chart', folder));
    expect(exitCode).toBe(0);
    const { goals, skipped, samples, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({});

    for (const each of goals) {
      const { id, value, goal } = each;
      expect(each).toEqual({ id, value: expect.any(Number), goal, met: value <= goal });
    }
    for (const each of skipped) expect(each).toEqual({ id: each.id, why: expect.stringMatching(/./) });
    const ids = [...goals, ...skipped].map(({ id }) => id);
    expect(ids.toSorted()).toEqual(GOALS.map(({ id }) => id).toSorted());
    expect(samples[0].rounds).toHaveLength(1);
    const text = expect.stringMatching(/\w/);
    const lines = reportOf(samples[0], goals, skipped).split('\n');
    const linesOf = (begin: string, end: string) =>
      lines.filter((line) => line.startsWith(begin) && line.endsWith(end));
    const missed = goals.filter(({ met }: { met: boolean }) => !met).map(({ id }: { id: string }) => id);
    expect(samples[0].missed).toEqual(
      missed.map((id: string) => ({ id, name: text, by: text, parts: text, why: text })),
    );
    for (const { name, by, why } of samples[0].missed)
      expect(linesOf(`MISSED by ${by}: ${name}: `, why)).toHaveLength(1);
    for (const { id, why } of skipped) expect(linesOf(`skipped: ${id}: `, why)).toHaveLength(1);
    expect(JSON.stringify(samples[0].missed)).not.toMatch(/NaN|Infinity|undefined/);

    const chart = await readFile(join(folder, 'bench.svg'), 'utf8');
    expect(chart).toMatch(/^<svg .*<\/svg>\n$/s);
    for (const variant of ['broker', 'empty', 'sdk', 'stack']) expect(chart).toContain(`>${variant}</text>`);
    expect(chart).not.toMatch(/NaN|Infinity|undefined/);
  }, 120_000);

  it('is a script, and its chart is the one that docs/performance.md shows', async () => {
    const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
    expect(JSON.parse(manifest).scripts.bench).toBe('node bench/bench.ts');
    const page = await readFile(new URL('../../docs/performance.md', import.meta.url), 'utf8');
    expect(page).toContain('](charts/bench.svg)');
    expect(existsSync(new URL('../../docs/charts/bench.svg', import.meta.url))).toBe(true);
  });
});

const ONCE = ['--rounds', '1', '--hits', '3', '--no-fleet'];

function start(...args: readonly string[]) {
  return spawn(process.execPath, [PROGRAM, ...args]);
}

const PROGRAM = fileURLToPath(new URL('../../bench/bench.ts', import.meta.url));
