import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { inject, TestRunner } from 'vitest';

/** A test that takes this long with a mutant, and a moment without, waits for what will not come. */
const TIME_LIMIT_MS = 5_000;

const killedBy = {};
const late = new Set();
const undecided = new Set();

/**
 * Runs each test once as it is, and then once with each mutant in the code that it reached: thousands of times faster than a
 * new environment for every mutant. What it finds is read by stryker-plugin.js.
 */
// biome-ignore lint/style/noDefaultExport: this is how vitest takes a runner.
export default class MutantRunner extends TestRunner {
  async runTask(test) {
    const run = TestRunner.getTestFn(test);
    await run();
    if (inject('mode') === 'dry-run') await withEveryMutant(run, globalThis[inject('globalNamespace')]);
  }

  async onAfterRunFiles() {
    await super.onAfterRunFiles?.();
    if (inject('mode') !== 'dry-run') return;
    writeFileSync('mutants.json', JSON.stringify({ killedBy, late: [...late], undecided: [...undecided] }));
  }
}

async function withEveryMutant(run, stryker) {
  const test = stryker.currentTestId;
  const reached = Object.entries(stryker.mutantCoverage?.perTest[test] ?? {});
  const rest = reached.filter(([mutant]) => killedBy[mutant] === undefined);
  const name = relative(process.cwd(), test.slice(0, test.indexOf('#'))) + test.slice(test.indexOf('#'));
  stryker.currentTestId = 'again';
  let isRepeatable = (await outcomeOf(run)) === 'passed';
  for (const [mutant, hits] of rest) {
    if (!isRepeatable) {
      undecided.add(mutant);
      continue;
    }
    Object.assign(stryker, { activeMutant: mutant, hitCount: 0, hitLimit: hits * 100 });
    const outcome = await outcomeOf(run);
    Object.assign(stryker, { activeMutant: undefined, hitCount: undefined, hitLimit: undefined });
    if (outcome === 'passed') continue;
    // A mutant may leave something behind. Then this test can say nothing about it, nor about those that follow.
    isRepeatable = (await outcomeOf(run)) === 'passed';
    if (!isRepeatable) undecided.add(mutant);
    else if (outcome === 'late') late.add(mutant);
    else killedBy[mutant] = name;
  }
  delete stryker.mutantCoverage?.perTest.again;
  stryker.currentTestId = test;
}

async function outcomeOf(run) {
  let timer;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, TIME_LIMIT_MS, 'late');
  });
  const ended = Promise.resolve()
    .then(run)
    .then(
      () => 'passed',
      () => 'failed',
    );
  const outcome = await Promise.race([ended, limit]);
  clearTimeout(timer);
  return outcome;
}
