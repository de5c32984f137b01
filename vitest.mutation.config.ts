import { statSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The short tests first: a mutant is dead at the first test that fails. */
class ShortFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const sizes = new Map(files.map((file) => [file, statSync(file.moduleId).size]));
    return files.toSorted((one, other) => (sizes.get(one) ?? 0) - (sizes.get(other) ?? 0));
  }
}

/** The tests that mutants of the rules have to fear, see stryker.config.js. */
export default defineConfig({
  test: {
    include: ['test/functions/broker/*.test.ts', 'test/attacks/requests.test.ts'],
    // Thousands of generated cases each, which would find little more here and take hours.
    exclude: [
      'test/functions/broker/{fleet,fleet-model,fleet-attacks,fleet-outages,fleet-scenarios,lease-protocol}.test.ts',
      'test/functions/broker/{health-message,token-response.property}.test.ts',
    ],
    runner: 'test/mutation/test-runner.js',
    isolate: false,
    // What a mutant leaves behind says nothing about the next one.
    onUnhandledError: () => false,
    experimental: { viteModuleRunner: false },
    sequence: { sequencer: ShortFirst },
    testTimeout: 30_000,
  },
});
