import { statSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A mutant is dead at the first test that fails: the short files come first. */
class QuickFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const size = ({ moduleId }: TestSpecification) => statSync(moduleId).size;
    return files.toSorted((one, other) => size(one) - size(other));
  }
}

/** The tests that mutants have to fear, see tools/mutate/mutate.js. */
export default defineConfig({
  test: {
    include: JSON.parse(process.env.MUTATION_TESTS ?? '[]'),
    exclude: [
      // Generated cases would find little more, and take hours, also to make each failure smaller.
      'test/unit/broker/token-response/read.property.test.ts',
      // It starts processes of its own.
      'test/unit/aws/log/write-line.test.ts',
    ],
    // Not with moto and cfn-lint, which take as long for one call as all the rest for a test.
    testNamePattern: /^(?!against an independent server|the regions without Function URLs)/,
    isolate: false,
    // The time limit of a mutant is the runner's: one of a test would take a busy machine for a noticed change.
    testTimeout: 120_000,
    // What a mutant leaves behind says nothing about the next one.
    onUnhandledError: () => false,
    sequence: { sequencer: QuickFirst },
  },
});
