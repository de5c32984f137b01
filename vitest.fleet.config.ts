import { defineConfig } from 'vitest/config';

/**
 * Hundreds of environments in processes of their own, in real time. On a busy machine the stand-in of DynamoDB exceeds the
 * time budgets, and every environment rightly goes by itself: these run on a machine that has nothing else to do.
 */
export default defineConfig({
  test: {
    include: ['test/fleet/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
