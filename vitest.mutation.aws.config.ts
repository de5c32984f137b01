import { defineConfig } from 'vitest/config';
import rules from './vitest.mutation.config.ts';

/** The tests that mutants of the adapters have to fear, see stryker.aws.config.js. */
export default defineConfig({
  ...rules,
  test: {
    ...rules.test,
    include: ['test/unit/aws/*.test.ts', 'test/contract/pair-table.contract.test.ts'],
    // Thousands of altered items, or processes of their own.
    exclude: ['test/unit/aws/{pair-table.bits,write-line}.test.ts'],
  },
});
