import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { KINDS } from '../../bench/start/cold-start.ts';
import { FIGURES } from '../../bench/start/figures.ts';
import { reportOf } from '../../bench/start/report.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { temporaryFolder } from '../support/temporary-folder.ts';
import { ended, finished, startScript } from './commands/shared/command-line.ts';

it.each([
  ['bench', ['--help'], 0, /--rounds.*--hits.*--write.*--json/s, ''],
  ['bench', ['--rounds', '0'], 2, '', /--help shows how/],
  ['simulate', ['--help'], 0, /--instances.*--pairs.*--hours.*--seed.*--charts.*--json/s, ''],
  ['simulate', ['--pairs', '10001'], 2, '', /--help shows how/],
  ['simulate', ['--calm', '--faults'], 2, '', /'--calm' cannot be used with option '--faults'/],
] as const)('npm run %s says how it is used: %s', async (name, args, exitCode, stdout, stderr) => {
  expect(packageJson.scripts[name]).toBe(`node bench/${name}.ts`);
  expect(await finished(startScript(`bench/${name}.ts`, ...args))).toEqual(ended(exitCode, stdout, stderr));
});

describe('npm run bench', () => {
  it('measures everything once, prints only JSON, and writes the figures into the page and its chart', async () => {
    const docs = temporaryFolder();
    await cp(DOCS, docs, { recursive: true });
    const args = ['--rounds', '1', '--hits', '3', '--json', '--write', docs];
    const { exitCode, stdout } = await finished(startScript('bench/bench.ts', ...args));
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

const MEASURED = /<!-- measured -->.*<!-- \/measured -->/s;

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));
