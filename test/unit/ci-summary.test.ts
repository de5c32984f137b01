import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PASSED = { status: 'passed', fullName: 'it works' };
const FAILED = { status: 'failed', fullName: 'it breaks' };
const SKIPPED = { status: 'skipped', fullName: 'the AWS command line (skipped: it is not installed) works' };
const SKIPPED_LINE = `skipped: test/some.test.ts: ${SKIPPED.fullName}`;

/** Vitest's report of one file of tests. */
function report(assertionResults: readonly object[], changes: object = {}): string {
  const status = assertionResults.includes(FAILED) ? 'failed' : 'passed';
  const file = { name: resolve('test/some.test.ts'), status, message: '', assertionResults, ...changes };
  return JSON.stringify({ testResults: [file] });
}

const GOOD = report([PASSED]);
const NOT_SET_UP = report([SKIPPED], { status: 'failed', message: 'No port' });

type Run = readonly [report: string, exitCode: number];

it.each<readonly [what: string, runs: readonly Run[], code: number, lines: readonly string[]]>([
  ['that went well', [[report([PASSED, PASSED]), 0]], 0, ['2 passed, 0 failed']],
  ['with skipped tests', [[report([SKIPPED, PASSED]), 0]], 0, [SKIPPED_LINE, '1 passed, 0 failed, 1 skipped']],
  ['with failed tests', [[report([PASSED, FAILED, FAILED]), 1]], 1, ['1 passed, 2 failed']],
  [
    'with a file whose tests were skipped because their set-up failed',
    [[NOT_SET_UP, 1]],
    1,
    [SKIPPED_LINE, 'failed: test/some.test.ts: No port', '0 passed, 1 failed, 1 skipped'],
  ],
  ['with an error outside of every test', [[GOOD, 1]], 1, ['failed: the test run ended with 1', '1 passed, 1 failed']],
  [
    'in which every test was skipped',
    [[report([SKIPPED]), 0]],
    1,
    [SKIPPED_LINE, 'failed: no test ran', '0 passed, 1 failed, 1 skipped'],
  ],
  [
    'that does not hide that another one tested nothing',
    [
      [GOOD, 0],
      ['', 1],
    ],
    1,
    ['failed: no test ran', '1 passed, 1 failed'],
  ],
])('the summary of a test run %s', async (_, runs, code, lines) => {
  const folder = temporaryFolder();
  const given = runs.map(([text, exitCode], index) => ({ text, exitCode, path: join(folder, `${index}.json`) }));
  for (const { path, text } of given) await writeFile(path, text);
  expect(await summarise(given.flatMap(({ path, exitCode }) => [path, `${exitCode}`]))).toEqual({ code, lines });
});

function summarise(args: readonly string[]): Promise<{ readonly code: unknown; readonly lines: readonly string[] }> {
  return new Promise((done) => {
    execFile(process.execPath, ['.ci/summary.js', ...args], (error, stdout) => {
      done({ code: error?.code ?? 0, lines: stdout.trimEnd().split('\n') });
    });
  });
}
