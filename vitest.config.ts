import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// The tests are about the settings of this repository.
delete process.env.TOKEN_BROKER_ENVIRONMENTS_FILE;

/** Slow: they start another program, a browser, a bundler or an installation, or wait as long as an operator. */
const SLOW = [
  'test/contract/{oauth-libraries,openapi-generators}.test.ts',
  'test/e2e/{app,bench,local,local-config,readme-commands,settings-file,stack}.test.ts',
  'test/e2e/client/*.test.ts',
  'test/e2e/commands/{clients/rehearsal,doctor/stack,process,serve-api}.test.ts',
  'test/e2e/docs/{examples,languages,operations,python,ten-minutes}.test.ts',
  'test/e2e/local/page/page-{board,browser,crowd,looks}.test.ts',
  'test/stack/cfn-lint.test.ts',
  'test/unit/ci-*.test.ts',
];

/** What `vitest run --project <name>` runs. The files of a worker share the modules that they load: half the price. */
function tier(name: string, include: string[], exclude = SLOW) {
  return { extends: true as const, test: { name, include, exclude, isolate: false } };
}

/** The same for files that wait half of their time, for processes or timers. After the others, twice as many run at a time. */
function waitingTier(name: string, include: string[]) {
  const { test } = tier(name, include, []);
  const maxWorkers = 2 * availableParallelism();
  return { extends: true as const, test: { ...test, maxWorkers, sequence: { groupOrder: 1 } } };
}

export default defineConfig({
  // It warns of source maps that packages leave out.
  logLevel: 'error',
  test: {
    globalSetup: ['test/support/stack/synthesise-once.ts'],
    setupFiles: ['test/support/contract/watch-contract.ts'],
    maxWorkers: '100%',
    // The collector's helper threads take processors from the other workers: a fifth of the price of the stack's tests.
    execArgv: ['--single-threaded-gc'],
    // It imports JSON in a way that Node itself does not take.
    server: { deps: { inline: ['@actions/workflow-parser'] } },
    // A dot for each test, or in a log a dot for each file and what fails.
    reporters: process.stdout.isTTY ? ['dot'] : ['minimal', './.ci/dots.js'],
    // Only for what hangs: a busy machine may take its time.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    projects: [
      tier('unit', ['test/{unit,support}/**/*.test.ts', 'test/lint.test.ts']),
      tier('protocol', ['test/protocol/**/*.test.ts']),
      tier('contract', ['test/contract/*.test.ts']),
      tier('stack', ['test/stack/**/*.test.ts']),
      tier('e2e', ['test/e2e/**/*.test.ts']),
      // `npm run test:rest` and `npm run test:fleet` run these.
      waitingTier('attacks', ['test/attacks/**/*.test.ts']),
      waitingTier('slow', SLOW),
      waitingTier('fleet', ['test/fleet/*.test.ts']),
    ],
  },
});
