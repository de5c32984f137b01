import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // See vitest.fleet.config.ts.
    exclude: ['test/fleet/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
