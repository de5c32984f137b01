import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

const PASSED = { status: 'passed', fullName: 'it works' };
const FAILED = { status: 'failed', fullName: 'it breaks' };
const SKIPPED = { status: 'skipped', fullName: 'the AWS command line (skipped: it is not installed) works' };

/** A file of tests in the form of vitest's report. */
function file(assertionResults: readonly object[], changes: object = {}) {
  const status = assertionResults.includes(FAILED) ? 'failed' : 'passed';
  return { name: resolve('test/some.test.ts'), status, message: '', assertionResults, ...changes };
}

/** What the summary says about a report, and whether CI is content. */
async function summarise(report: string, status = 0) {
  return summariseAll([report, status]);
}

/** The same of several runs. */
async function summariseAll(...runs: readonly (readonly [report: string, status: number])[]) {
  const folder = await mkdtemp(join(tmpdir(), 'summary-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const given = runs.map(([report, status], index) => ({ report, status, path: join(folder, `${index}.json`) }));
  for (const { path, report } of given) await writeFile(path, report);
  return run(...given.flatMap(({ path, status }) => [path, `${status}`]));
}

function run(...given: readonly string[]): Promise<{ readonly code: unknown; readonly lines: readonly string[] }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['.ci/summary.js', ...given], (error, stdout) => {
      resolve({ code: error?.code ?? 0, lines: stdout.trimEnd().split('\n') });
    });
  });
}

describe('the summary of a test run', () => {
  it('is one line when all is well', async () => {
    const testResults = [file([PASSED, PASSED]), file([PASSED])];
    expect(await summarise(JSON.stringify({ testResults }))).toEqual({ code: 0, lines: ['3 passed, 0 failed'] });
  });

  it('repeats every skipped test with its reason just before that line', async () => {
    const testResults = [file([SKIPPED, PASSED])];
    expect(await summarise(JSON.stringify({ testResults }))).toEqual({
      code: 0,
      lines: [`skipped: test/some.test.ts: ${SKIPPED.fullName}`, '1 passed, 0 failed, 1 skipped'],
    });
  });

  it('fails when a test failed', async () => {
    const testResults = [file([PASSED, FAILED, FAILED])];
    expect(await summarise(JSON.stringify({ testResults }), 1)).toEqual({ code: 1, lines: ['1 passed, 2 failed'] });
  });

  it('counts a file that could not be loaded', async () => {
    const testResults = [file([PASSED]), file([], { status: 'failed', message: 'Cannot find module' })];
    expect(await summarise(JSON.stringify({ testResults }), 1)).toEqual({
      code: 1,
      lines: ['failed: test/some.test.ts: Cannot find module', '1 passed, 1 failed'],
    });
  });

  it('counts a file whose tests were skipped because what comes before them failed', async () => {
    const testResults = [file([{ status: 'skipped', fullName: 'it works' }], { status: 'failed', message: 'No port' })];
    expect(await summarise(JSON.stringify({ testResults }), 1)).toEqual({
      code: 1,
      lines: [
        'skipped: test/some.test.ts: it works',
        'failed: test/some.test.ts: No port',
        '0 passed, 1 failed, 1 skipped',
      ],
    });
  });

  it('counts an error outside of every test', async () => {
    const testResults = [file([PASSED])];
    expect(await summarise(JSON.stringify({ testResults }), 1)).toEqual({
      code: 1,
      lines: ['failed: the test run ended with 1', '1 passed, 1 failed'],
    });
  });

  it.each([
    ['without a test', '{"testResults":[]}'],
    ['that is empty', ''],
    ['that breaks off', '{"testResults":['],
  ])('fails for a report %s, even if the run ended well', async (_, report) => {
    expect(await summarise(report)).toEqual({ code: 1, lines: ['failed: no test ran', '0 passed, 1 failed'] });
  });

  it('fails when every test was skipped', async () => {
    const { code, lines } = await summarise(JSON.stringify({ testResults: [file([SKIPPED])] }));
    expect({ code, lines: lines.slice(1) }).toEqual({
      code: 1,
      lines: ['failed: no test ran', '0 passed, 1 failed, 1 skipped'],
    });
  });

  it('adds up several runs', async () => {
    const [good, bad] = [[file([PASSED])], [file([PASSED, FAILED])]].map((files) =>
      JSON.stringify({ testResults: files }),
    );
    expect(await summariseAll([good ?? '', 0], [bad ?? '', 1])).toEqual({ code: 1, lines: ['2 passed, 1 failed'] });
    expect(await summariseAll([good ?? '', 0], [good ?? '', 0])).toEqual({ code: 0, lines: ['2 passed, 0 failed'] });
  });

  it('does not let one run hide that another one tested nothing, or ended badly', async () => {
    const good = JSON.stringify({ testResults: [file([PASSED])] });
    expect(await summariseAll([good, 0], ['', 1])).toEqual({
      code: 1,
      lines: ['failed: no test ran', '1 passed, 1 failed'],
    });
    expect(await summariseAll([good, 3], [good, 0])).toEqual({
      code: 1,
      lines: ['failed: the test run ended with 3', '2 passed, 1 failed'],
    });
  });

  it('fails without a report', async () => {
    expect(await run('/nonexistent/report.json', '0')).toMatchObject({ code: 1 });
  });
});
