import { defineConfig } from 'vitest/config';

/** A tier: what `npm test -- --project unit` runs. */
function tier(name: string, include: readonly string[], options: { readonly exclude?: readonly string[] } = {}) {
  return { extends: true as const, test: { name, include: [...include], exclude: [...(options.exclude ?? [])] } };
}

export default defineConfig({
  test: {
    globalSetup: ['test/stack/synthesise-once.ts'],
    setupFiles: ['test/support/watch-contract.ts'],
    // Only for what hangs: a busy machine may take its time.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      tier('unit', ['test/unit/**/*.test.ts', 'test/lint.test.ts']),
      tier('protocol', ['test/protocol/*.test.ts']),
      tier('contract', ['test/contract/*.test.ts']),
      tier('stack', ['test/stack/*.test.ts']),
      tier('attacks', ['test/attacks/*.test.ts']),
      tier('e2e', ['test/e2e/**/*.test.ts']),
    ],
  },
});
