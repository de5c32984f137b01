import rules from './stryker.config.js';

/**
 * Mutation testing of the adapters: `stryker run stryker.aws.config.js`. What is evaluated when a module is loaded is left
 * out: these tests start servers, and each such mutant would need all of them.
 * @type {import('@stryker-mutator/core').PartialStrykerOptions}
 */
export default {
  ...rules,
  mutate: ['functions/aws/**/*.ts'],
  vitest: { configFile: 'vitest.mutation.aws.config.ts', related: false },
  ignoreStatic: true,
  incrementalFile: 'coverage/mutants/aws-incremental.json',
  jsonReporter: { fileName: 'coverage/mutants/aws-report.json' },
};
