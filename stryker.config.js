/**
 * Mutation testing of the rules and the adapters. Types are stripped, not checked, so some mutants would not even compile:
 * the tests must notice them all the same.
 * @type {import('@stryker-mutator/core').PartialStrykerOptions}
 */
export default {
  // Processes of their own prove write-line, and no mutant gets into them.
  mutate: ['functions/{broker,aws}/**/*.ts', '!functions/aws/log/write-line.ts'],
  testRunner: 'vitest',
  vitest: { configFile: 'vitest.mutation.config.ts' },
  // Stryker would rewrite tsconfig.json with the API of TypeScript 6, which TypeScript 7 does not have.
  tsconfigFile: 'none',
  disableTypeChecks: false,
  concurrency: 2,
  incremental: true,
  incrementalFile: 'coverage/mutants/incremental.json',
  tempDirName: 'coverage/mutants/sandboxes',
  reporters: ['progress', 'clear-text', 'json'],
  clearTextReporter: { reportTests: false, allowColor: false },
  jsonReporter: { fileName: 'coverage/mutants/report.json' },
  thresholds: { high: 95, low: 90, break: 90 },
};
