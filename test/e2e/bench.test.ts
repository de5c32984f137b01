import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { KINDS } from '../../bench/cold-start.ts';
import { FIGURES } from '../../bench/figures.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { HOUR_MS } from '../support/example.ts';
import { ended, finished, ROOT, runProgram } from './commands/shared/command-line.ts';

it.each([
  ['bench', ['--help'], 0, /--rounds.*--hits.*--json/s, ''],
  ['bench', ['--rounds', '0'], 2, '', /--help shows how/],
  ['simulate', ['--help'], 0, /--instances.*--pairs.*--hours.*--seed.*--json/s, ''],
  ['simulate', ['--pairs', '10001'], 2, '', /--help shows how/],
  ['simulate', ['--calm', '--faults'], 2, '', /'--calm' cannot be used with option '--faults'/],
] as const)('npm run %s says how it is used: %s', async (name, args, exitCode, stdout, stderr) => {
  expect(packageJson.scripts[name]).toBe(`node bench/${name}.ts`);
  expect(await runProgram(`bench/${name}.ts`, args)).toEqual(ended(exitCode, stdout, stderr));
});

describe('npm run bench', () => {
  it('measures everything once, and prints only JSON', async () => {
    const { exitCode, stdout } = await runProgram('bench/bench.ts', ['--rounds', '1', '--hits', '3', '--json']);
    const { figures, samples, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({});

    expect(figures.map(({ name }: { name: string }) => name)).toEqual(FIGURES.map(({ name }) => name));
    for (const { name, value, limit, isAbove } of figures) {
      expect({ name, isAbove, isNumber: value > 0 }).toEqual({ name, isAbove: value > limit, isNumber: true });
    }
    expect(exitCode).toBe(figures.some(({ isAbove }: { isAbove: boolean }) => isAbove) ? 3 : 0);
    expect(samples.rounds).toHaveLength(1);
    expect(Object.keys(samples.rounds[0].atOnce).toSorted()).toEqual(Object.keys(KINDS).toSorted());
  });

  it('has its table in docs/performance.md', async () => {
    const rows = (await pageOf('performance')).match(/^\| .* \|$/gm)?.map((row) => row.split(' | '));
    for (const { name, limit, target } of FIGURES) {
      const row = rows?.find(([first]) => first === `| ${name}`) ?? [];
      expect([name, ...row.slice(2)]).toEqual([name, `${limit}`, `${target ?? ''} |`]);
    }
  });
});

describe('npm run simulate', () => {
  it('prints the table of docs/scale.md: the three ways side by side', async () => {
    const { exitCode, stdout } = await runProgram('bench/simulate.ts', SMALL);
    expect(exitCode).toBe(0);
    const rows = stdout.trimEnd().split('\n');
    expect(rows[0]).toBe('|  | broker | memory-only | no-broker |');
    const page = await pageOf('scale');
    for (const row of rows.slice(2, -1)) {
      const [name = '', ...cells] = row.slice(2, -2).split(' | ');
      expect(page).toContain(`| ${name}`);
      expect([name, cells.length, ...cells.join(' ').matchAll(/NaN|undefined|Infinity/g)]).toEqual([name, 3]);
    }
  });

  it('answers in JSON, on a day of faults too', async () => {
    const { stdout } = await runProgram('bench/simulate.ts', [...SMALL, '--faults', '--json']);
    const { interrupted, days } = JSON.parse(stdout);
    expect(interrupted).toBe(false);
    expect(days.map(({ way }: { way: string }) => way)).toEqual(['broker', 'memory-only', 'no-broker']);
    for (const { tokensIssued } of days) expect(tokensIssued).toBeGreaterThan(0);
  });

  it('prints its results so far on Ctrl-C', async () => {
    const child = spawn(process.execPath, ['bench/simulate.ts', '--json'], { cwd: ROOT });
    await once(child.stderr, 'data');
    child.kill('SIGINT');
    const { exitCode, stdout } = await finished(child);
    expect(exitCode).toBe(130);
    const { interrupted, days } = JSON.parse(stdout);
    expect(interrupted).toBe(true);
    for (const { elapsedMs } of days) expect(elapsedMs).toBeLessThan(24 * HOUR_MS);
  });

  it('has the options that docs/scale.md describes', async () => {
    expect((await pageOf('scale')).match(/(?<=^npm run simulate).*$/gm)).toEqual(['', ' -- --faults']);
  });
});

const SMALL = ['--instances', '20', '--pairs', '10', '--hours', '2'];

function pageOf(name: string): Promise<string> {
  return readFile(join(ROOT, `docs/${name}.md`), 'utf8');
}
