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

it.each([
  ['fails', {}, 1, ['failed: test: 1 cases passed, and .ci/minimum.json asks for 2', '1 passed, 1 failed']],
  [
    'is incomplete where the run says what is missing',
    { TOKEN_BROKER_CI_WITHOUT: 'moto' },
    0,
    ['incomplete: without moto; test: 1 cases passed, and .ci/minimum.json asks for 2', '1 passed, 0 failed'],
  ],
])('a run with fewer passed cases than the minimum %s', async (_, env, code, lines) => {
  const path = join(temporaryFolder(), 'report.json');
  await writeFile(path, GOOD);
  const minimum = { TOKEN_BROKER_CI_MINIMUM: '{"test":2}' };
  expect(await summarise([path, '0'], { ...minimum, ...env })).toEqual({ code, lines });
});

function summarise(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: unknown; readonly lines: readonly string[] }> {
  return new Promise((done) => {
    const variables = { ...process.env, TOKEN_BROKER_CI_WITHOUT: '', TOKEN_BROKER_CI_MINIMUM: '{}', ...env };
    execFile(process.execPath, ['.ci/summary.js', ...args], { env: variables }, (error, stdout) => {
      done({ code: error?.code ?? 0, lines: stdout.trimEnd().split('\n') });
    });
  });
}
