// Tells what came of a test run: every skipped test, every file that failed as a whole, and the line that .ci/run ends with.
// Plain JavaScript: it runs on whatever Node is on the PATH.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const [file = '', exitCode = ''] = process.argv.slice(2);
const { testResults } = readReport(file);
const tests = testResults.flatMap(({ name, assertionResults }) => assertionResults.map((test) => ({ ...test, name })));

const passed = tests.filter(({ status }) => status === 'passed');
const failed = tests.filter(({ status }) => status === 'failed');
const skipped = tests.filter((test) => !passed.includes(test) && !failed.includes(test));

const failures = testResults.filter(brokeAsAWhole).map(({ name, message }) => `${shown(name)}: ${message}`);
if (passed.length + failed.length + failures.length === 0) failures.push('no test ran');
// An error outside of every test, for example.
if (exitCode !== '0' && failed.length + failures.length === 0) failures.push(`the test run ended with ${exitCode}`);

for (const { name, fullName } of skipped) say(`skipped: ${shown(name)}: ${fullName}`);
for (const failure of failures) say(`failed: ${failure}`);
const failedCount = failed.length + failures.length;
say(`${passed.length} passed, ${failedCount} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`);
process.exitCode = failedCount === 0 ? 0 : 1;

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { testResults: [] };
  }
}

/** It could not be loaded, or what it does before or after its tests failed. */
function brokeAsAWhole({ status, assertionResults }) {
  return status === 'failed' && assertionResults.every((test) => test.status !== 'failed');
}

function shown(path) {
  return relative(process.cwd(), path);
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
