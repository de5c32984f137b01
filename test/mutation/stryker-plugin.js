import { readFileSync } from 'node:fs';
import { strykerPlugins as plugins, strykerValidationSchema } from '@stryker-mutator/vitest-runner';

const [plugin] = plugins;
pluginFactory.inject = plugin.factory.inject;

/** Stryker's runner of vitest. It takes what test-runner.js found out, and runs only the tests of the other mutants. */
function pluginFactory(injector) {
  const runner = plugin.factory(injector);
  const run = runner.mutantRun.bind(runner);
  runner.mutantRun = async (options) =>
    known(options) ?? run({ ...options, testFilter: options.testFilter && filesOf(options.testFilter) });
  return runner;
}

let found;

function known({ activeMutant: { id }, testFilter = [], reloadEnvironment }) {
  found ??= JSON.parse(readFileSync('mutants.json', 'utf8'));
  const { killedBy, late, undecided } = found;
  if (killedBy[id]) return { status: 'killed', killedBy: [killedBy[id]], failureMessage: killedBy[id], nrOfTests: 1 };
  if (late.includes(id)) return { status: 'timeout' };
  // Code that runs when a module is loaded needs a new test environment.
  if (reloadEnvironment || undecided.includes(id)) return undefined;
  return { status: 'survived', nrOfTests: testFilter.length };
}

/**
 * The names of files instead of those of tests: Stryker 9 writes the latter in a way that vitest 5 does not know, so that no
 * test would run and every mutant survive.
 * @see https://github.com/stryker-mutator/stryker-js/issues/6210
 */
function filesOf(tests) {
  return [...new Set(tests.map((id) => id.slice(0, id.indexOf('#') + 1)))];
}

export const strykerPlugins = [{ ...plugin, factory: pluginFactory }];
export { strykerValidationSchema };
