import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/watch-contract.ts'],
    // See vitest.fleet.config.ts.
    exclude: ['test/fleet/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
