import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FIGURES } from '../../bench/figures.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { ROOT, runProgram } from './commands/shared/command-line.ts';

it('npm run bench prints the table of docs/performance.md, and says with its exit code whether a figure is above', async () => {
  expect(packageJson.scripts.bench).toBe('node bench/bench.ts');
  const { exitCode, stdout } = await runProgram('bench/bench.ts', ['--rounds', '1', '--hits', '3']);
  const measured = tableOf(stdout);
  expect(measured.slice(2).map(([name]) => name)).toEqual(FIGURES.map(({ name }) => name));
  for (const [name, value] of measured.slice(2)) expect([name, Number(value) > 0]).toEqual([name, true]);
  expect(exitCode).toBe(stdout.includes('Above its limit') ? 3 : 0);

  const withoutValues = (rows: readonly string[][]) => rows.map((row) => row.toSpliced(1, 1));
  expect(withoutValues(tableOf(await pageOf('performance')))).toEqual(expect.arrayContaining(withoutValues(measured)));
});

it('npm run simulate prints the table of docs/scale.md: the three ways side by side', async () => {
  expect(packageJson.scripts.simulate).toBe('node bench/simulate.ts');
  const { exitCode, stdout } = await runProgram('bench/simulate.ts', SMALL);
  expect(exitCode).toBe(0);
  const table = tableOf(stdout);
  expect(table[0]).toEqual(['', 'broker', 'memory-only', 'no-broker']);
  expect(stdout).not.toMatch(/NaN|undefined|Infinity/);
  const page = tableOf(await pageOf('scale')).map(([name]) => name);
  expect(page).toEqual(expect.arrayContaining(table.map(([name]) => name)));
});

const SMALL = ['--instances', '20', '--pairs', '10', '--hours', '2'];

function tableOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.slice(2, -2).trim().split(/ ?\| /));
}

function pageOf(name: string): Promise<string> {
  return readFile(join(ROOT, `docs/${name}.md`), 'utf8');
}
