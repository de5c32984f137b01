import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/watch-contract.ts'],
    // See vitest.fleet.config.ts.
    exclude: ['test/fleet/**'],
    // Only for what hangs: a busy machine may take its time.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
