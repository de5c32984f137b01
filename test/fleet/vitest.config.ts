import { defineConfig } from 'vitest/config';

/** Hundreds of environments in processes of their own, one file after the other: they need the machine for themselves. */
export default defineConfig({
  test: {
    include: ['test/fleet/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
