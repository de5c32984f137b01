import { defineConfig } from 'vitest/config';

/**
 * Hundreds of environments in processes of their own, in real time. Apart from `npm test` because the cold start fails:
 * taking the lease exceeds its 150 ms when 200 ask at once, and whoever times out makes a token request alone.
 */
export default defineConfig({
  test: {
    include: ['test/fleet/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
