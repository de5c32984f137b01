// Reports the result of a test run, given as its report and its exit code: the ten slowest files, every skipped test,
// every file that failed as a whole, too few passed cases of the judges, and the closing line of .ci/run.
// Plain JavaScript: it runs on whatever Node is on the PATH.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const [report, exitCode] = process.argv.slice(2);
const { testResults } = readReport(report);
const tests = testResults.flatMap(({ name, assertionResults }) => assertionResults.map((test) => ({ ...test, name })));

const passed = tests.filter(({ status }) => status === 'passed');
const failed = tests.filter(({ status }) => status === 'failed');
const skipped = tests.filter((test) => !passed.includes(test) && !failed.includes(test));

const failures = testResults.filter(brokeAsAWhole).map(({ name, message }) => `${shown(name)}: ${message}`);
if (failed.length + failures.length === 0) {
  if (passed.length === 0) failures.push('no test ran');
  // An error outside of every test, for example.
  else if (exitCode !== '0') failures.push(`the test run ended with ${exitCode}`);
}

// Missing judges skip their cases, which must not look like success.
const without = process.env.TOKEN_BROKER_CI_WITHOUT ?? '';
for (const [folder, minimum] of Object.entries(readMinimum())) {
  const count = passed.filter(({ name }) => shown(name).startsWith(`${folder}/`)).length;
  if (count >= minimum) continue;
  const line = `${folder}: ${count} cases passed, and .ci/minimum.json asks for ${minimum}`;
  if (without === '') failures.push(line);
  else say(`incomplete: without ${without}; ${line}`);
}

const slowest = testResults.toSorted((a, b) => secondsOf(b) - secondsOf(a)).slice(0, 10);
for (const file of slowest) say(`${secondsOf(file).toFixed(1).padStart(6)} s ${shown(file.name)}`);
for (const { name, fullName } of skipped) say(`skipped: ${shown(name)}: ${fullName}`);
for (const failure of failures) say(`failed: ${failure}`);
const failedCount = failed.length + failures.length;
say(`${passed.length} passed, ${failedCount} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`);
process.exitCode = failedCount === 0 ? 0 : 1;

/** How many cases of each folder pass in a complete run, at least. A test passes numbers of its own. */
function readMinimum() {
  return JSON.parse(process.env.TOKEN_BROKER_CI_MINIMUM ?? readFileSync('.ci/minimum.json', 'utf8'));
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { testResults: [] };
  }
}

function secondsOf({ startTime, endTime }) {
  return (endTime - startTime) / 1_000;
}

/** It could not be loaded, or what it does before or after its tests failed, which alone has a message. */
function brokeAsAWhole({ status, message, assertionResults }) {
  return status === 'failed' && (message !== '' || assertionResults.every((test) => test.status !== 'failed'));
}

function shown(path) {
  return relative(process.cwd(), path);
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
