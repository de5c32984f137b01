import { statSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A mutant is dead at the first test that fails: those that simulate much come last, and the short ones first. */
class QuickFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const weights = new Map(files.map((file) => [file, weight(file)]));
    return files.toSorted((one, other) => (weights.get(one) ?? 0) - (weights.get(other) ?? 0));
  }
}

function weight({ moduleId }: TestSpecification): number {
  const isSlow = /(fleet-\w+|health\/(?:evaluate|run|notify)|read-echo)\.test/.test(moduleId);
  return statSync(moduleId).size + (isSlow ? 1e6 : 0);
}

/** The tests that mutants of the rules have to fear, see stryker.config.js. */
export default defineConfig({
  test: {
    include: ['test/unit/broker/**/*.test.ts', 'test/protocol/{fleet-outages,lease-rules}.test.ts'],
    // Thousands of generated cases, as in the other suites of the protocol: they would find little more, and take hours.
    exclude: ['test/unit/broker/token-response/read.property.test.ts'],
    runner: 'test/mutation/test-runner.js',
    isolate: false,
    // What a mutant leaves behind says nothing about the next one.
    onUnhandledError: () => false,
    experimental: { viteModuleRunner: false },
    sequence: { sequencer: QuickFirst },
    // Stryker has time limits of its own, and one test is run with hundreds of mutants.
    testTimeout: 0,
  },
});
