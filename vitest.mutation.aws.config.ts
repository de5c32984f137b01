import { defineConfig } from 'vitest/config';
import rules from './vitest.mutation.config.ts';

/** The tests that mutants of the adapters have to fear, see stryker.aws.config.js. */
export default defineConfig({
  ...rules,
  test: {
    ...rules.test,
    include: ['test/unit/aws/**/*.test.ts', 'test/contract/pair-table.contract.test.ts'],
    // It starts processes of its own.
    exclude: ['test/unit/aws/log/write-line.test.ts'],
    // Not with moto, which takes as long for one call as all the rest for a test.
    testNamePattern: /^(?!against an independent server)/,
    // With names of modules as a stack shows them outside of vitest.
    experimental: { viteModuleRunner: true },
  },
});
