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
  const times = { startTime: 1_000, endTime: 2_234 };
  const file = { name: resolve('test/some.test.ts'), status, message: '', assertionResults, ...times, ...changes };
  return JSON.stringify({ testResults: [file] });
}

const GOOD = report([PASSED]);

it.each<readonly [what: string, text: string, exitCode: number, code: number, lines: readonly string[]]>([
  ['that went well', report([PASSED, PASSED]), 0, 0, ['2 passed, 0 failed']],
  ['with skipped tests', report([SKIPPED, PASSED]), 0, 0, [SKIPPED_LINE, '1 passed, 0 failed, 1 skipped']],
  ['with failed tests', report([PASSED, FAILED, FAILED]), 1, 1, ['1 passed, 2 failed']],
  [
    'with a file whose tests were skipped because their set-up failed',
    report([SKIPPED], { status: 'failed', message: 'No port' }),
    1,
    1,
    [SKIPPED_LINE, 'failed: test/some.test.ts: No port', '0 passed, 1 failed, 1 skipped'],
  ],
  [
    'with a file in which a set-up and a test failed',
    report([FAILED], { status: 'failed', message: 'No port' }),
    1,
    1,
    ['failed: test/some.test.ts: No port', '0 passed, 2 failed'],
  ],
  ['with an error outside of every test', GOOD, 1, 1, ['failed: the test run ended with 1', '1 passed, 1 failed']],
  [
    'in which every test was skipped',
    report([SKIPPED]),
    0,
    1,
    [SKIPPED_LINE, 'failed: no test ran', '0 passed, 1 failed, 1 skipped'],
  ],
  ['without a report', '', 1, 1, ['failed: no test ran', '0 passed, 1 failed']],
])('the summary of a test run %s', async (_, text, exitCode, code, lines) => {
  const path = join(temporaryFolder(), 'report.json');
  await writeFile(path, text);
  expect(await summarise([path, `${exitCode}`])).toMatchObject({ code, lines });
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
  expect(await summarise([path, '0'], { ...minimum, ...env })).toMatchObject({ code, lines });
});

it('the summary names the ten slowest files, the slowest first', async () => {
  const path = join(temporaryFolder(), 'report.json');
  const testResults = [3, 1, 12, 2, 4, 5, 6, 7, 8, 9, 10, 11].map((seconds) => {
    const times = { startTime: 1_000, endTime: 1_000 + seconds * 1_000 };
    return { name: resolve(`test/${seconds}.test.ts`), status: 'passed', assertionResults: [PASSED], ...times };
  });
  await writeFile(path, JSON.stringify({ testResults }));
  const { slowest } = await summarise([path, '0']);
  expect(slowest.slice(0, 2)).toEqual(['  12.0 s test/12.test.ts', '  11.0 s test/11.test.ts']);
  expect(slowest).toHaveLength(10);
});

it('the summary of a real test run shows why the set-up of a group of tests failed', async () => {
  const folder = temporaryFolder();
  const group = `describe('with a port', () => { beforeAll(() => { throw new Error('No port') }); it('works', () => {}) })`;
  await writeFile(join(folder, 'some.test.ts'), group);
  const [report, vitest] = [join(folder, 'report.json'), resolve('node_modules/vitest/vitest.mjs')];
  const args = ['run', '--globals', '--root', folder, '--reporter', resolve('.ci/reporter.js'), '--outputFile', report];
  await new Promise((done) => void execFile(process.execPath, [vitest, ...args], done));
  const { lines } = await summarise([report, '1']);
  expect(lines[1]).toMatch(/^failed: \S+some\.test\.ts: No port$/);
});

type Summary = Readonly<{ code: unknown; slowest: readonly string[]; lines: readonly string[] }>;

function summarise(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Summary> {
  return new Promise((done) => {
    const variables = { ...process.env, TOKEN_BROKER_CI_WITHOUT: '', TOKEN_BROKER_CI_MINIMUM: '{}', ...env };
    execFile(process.execPath, ['.ci/summary.js', ...args], { env: variables }, (error, stdout) => {
      const all = stdout.trimEnd().split('\n');
      const isDuration = (line: string) => /^ *\d+\.\d s /.test(line);
      const lines = all.filter((line) => !isDuration(line));
      done({ code: error?.code ?? 0, slowest: all.filter(isDuration), lines });
    });
  });
}
