import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { inject, TestRunner } from 'vitest';

/** A test that takes this long with a mutant, and a moment without, waits for an event that will not come. */
const TIME_LIMIT_MS = 5_000;

/** How many more questions than the original code a mutant may ask; beyond that it is an endless loop. */
const MORE_OFTEN = 100;

/** After so many turns of the event loop, code that runs in a loop has asked once more. */
const TURNS = 1_000;

/** The real ones: a test may have stopped the time. */
const { setTimeout, clearTimeout, setImmediate } = globalThis;

const killedBy = {};
const late = new Set();
const undecided = new Set();

/**
 * Runs each test once as it is, and then once with each mutant in the code that it reached: thousands of times faster than a
 * new test environment for every mutant. stryker-plugin.js reads its result.
 */
// biome-ignore lint/style/noDefaultExport: this is how vitest takes a runner.
export default class MutantRunner extends TestRunner {
  async runTask(test) {
    const run = TestRunner.getTestFn(test);
    if (inject('mode') !== 'dry-run') return run();
    // What an earlier mutant has left behind, in a server for example, ends this test and not the whole measurement.
    const outcome = await outcomeOf(() => runWhole(test, run));
    if (outcome === 'passed') await withEveryMutant(() => runWhole(test, run), globalThis[inject('globalNamespace')]);
    else process.stderr.write(`left out, because it ${outcome} without a mutant: ${test.name}\n`);
  }

  async onAfterRunFiles() {
    await super.onAfterRunFiles?.();
    if (inject('mode') !== 'dry-run') return;
    writeFileSync('mutants.json', JSON.stringify({ killedBy, late: [...late], undecided: [...undecided] }));
  }
}

/** Runs a test with what it does when it is finished: the next mutant meets no server and no stopped time of this one. */
async function runWhole(test, run) {
  const before = test.onFinished ?? [];
  test.onFinished = [];
  try {
    await run();
  } finally {
    const hooks = test.onFinished.toReversed();
    test.onFinished = before;
    for (const hook of hooks) await hook(test.context);
  }
}

async function withEveryMutant(run, stryker) {
  const test = stryker.currentTestId;
  const reached = Object.keys(stryker.mutantCoverage?.perTest[test] ?? {});
  const rest = reached.filter((mutant) => killedBy[mutant] === undefined && !late.has(mutant));
  const name = relative(process.cwd(), test.slice(0, test.indexOf('#'))) + test.slice(test.indexOf('#'));
  stryker.currentTestId = 'again';
  const questions = countQuestions(stryker);
  let isRepeatable = (await outcomeOf(run)) === 'passed';
  const limit = questions.asked() * MORE_OFTEN;
  for (const mutant of rest) {
    if (!isRepeatable) {
      undecided.add(mutant);
      continue;
    }
    questions.answer(mutant, limit);
    const outcome = await outcomeOf(run);
    if (outcome === 'late') await questions.refuse();
    questions.answer(undefined, Number.POSITIVE_INFINITY);
    if (outcome === 'passed') continue;
    // A mutant may leave something behind. Then this test can say nothing about it, nor about those that follow.
    isRepeatable = (await outcomeOf(run)) === 'passed';
    if (!isRepeatable) undecided.add(mutant);
    else if (outcome === 'late') late.add(mutant);
    else killedBy[mutant] = name;
  }
  questions.end();
  delete stryker.mutantCoverage?.perTest.again;
  stryker.currentTestId = test;
}

/** At every mutated place the code asks Stryker which mutant is active. Code that asks too often gets an error. */
function countQuestions(stryker) {
  let asked = 0;
  let active;
  let limit = Number.POSITIVE_INFINITY;
  const get = () => {
    asked += 1;
    if (asked > limit) throw new Error('The mutant has no end');
    return active;
  };
  Object.defineProperty(stryker, 'activeMutant', { get, configurable: true });
  return {
    asked: () => asked,
    answer: (mutant, newLimit) => {
      [asked, active, limit] = [0, mutant, newLimit];
    },
    /** Ends code that still runs at its next question. Without this, an endless loop would never stop. */
    refuse: async () => {
      limit = 0;
      for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    },
    end: () => Object.defineProperty(stryker, 'activeMutant', { value: undefined, writable: true, configurable: true }),
  };
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
