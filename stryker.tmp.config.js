/**
 * Mutation testing of the rules. Types are stripped, not checked, so some mutants would not even compile: the tests must
 * notice them all the same.
 * @type {import('@stryker-mutator/core').PartialStrykerOptions}
 */
export default {
  mutate: ['functions/broker/health/*.ts'],
  testRunner: 'vitest',
  plugins: ['./test/mutation/stryker-plugin.js'],
  vitest: { configFile: 'vitest.tmp.config.ts', related: false },
  // Stryker would rewrite tsconfig.json with the API of TypeScript 6, which TypeScript 7 does not have.
  tsconfigFile: 'none',
  disableTypeChecks: false,
  // Most mutants are tried in the first run, see test/mutation/test-runner.js.
  dryRunTimeoutMinutes: 60,
  concurrency: 1,
  incremental: false,
  incrementalFile: 'coverage/tmpmut/incremental.json',
  tempDirName: 'coverage/tmpmut/sandboxes',
  reporters: ['clear-text', 'json'],
  clearTextReporter: { reportTests: false, allowColor: false },
  jsonReporter: { fileName: 'coverage/tmpmut/report.json' },
  thresholds: { high: 95, low: 85, break: 85 },
};
