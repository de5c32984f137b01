import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';

const RULES = [
  'test/unit/{broker,aws}/**/*.test.ts',
  'test/protocol/fleet-outages.test.ts',
  'test/contract/pair-table.contract.test.ts',
  'test/unit/functions/release-check.test.ts',
];

/** The tests that a change of each folder has to fear. The first two folders are the default. */
const TESTS = {
  'functions/broker': RULES,
  'functions/aws': RULES,
  'functions/health': ['test/unit/{functions,health}/*.test.ts'],
  client: ['test/unit/client/**/*.test.ts'],
  'lib/settings': ['test/unit/settings/*.test.ts', 'test/e2e/commands/config.test.ts'],
  'lib/checks': ['test/stack/template-checks.test.ts'],
  'cli/clients': ['test/e2e/commands/clients/*.test.ts'],
};
const FOLDERS = Object.keys(TESTS);

const { values, positionals } = parseArgs({
  options: { mutate: { type: 'string', multiple: true, default: [] }, force: { type: 'boolean' } },
  // A shell turns the pattern after `--mutate` into many words.
  allowPositionals: true,
});
const words = [...values.mutate, ...positionals];
const asked = (words.length > 0 ? words : FOLDERS.slice(0, 2)).map((word) =>
  word.includes('.ts') ? word : `${word.replace(/\/$/, '')}/**/*.ts`,
);
const folders = [...new Set(asked.flatMap(foldersOf))];
process.env.MUTATION_TESTS = JSON.stringify([...new Set(folders.flatMap((folder) => TESTS[folder]))]);

// Types are stripped, not checked: the tests must notice even a change that would not compile.
await new Stryker({
  // Processes of their own prove write-line, and no mutant gets into them.
  mutate: [...asked, '!functions/aws/log/write-line.ts'],
  force: values.force ?? false,
  testRunner: 'vitest',
  vitest: { configFile: 'tools/mutate/vitest.config.ts' },
  // Stryker would rewrite tsconfig.json with the API of TypeScript 6, which TypeScript 7 does not have.
  tsconfigFile: 'none',
  disableTypeChecks: false,
  concurrency: 2,
  // The time of a busy machine for all tests.
  dryRunTimeoutMinutes: 30,
  incremental: true,
  // One for each set of tests.
  incrementalFile: `coverage/mutants/${folders.join('+').replaceAll('/', '-')}.json`,
  tempDirName: 'coverage/mutants/sandboxes',
  reporters: ['progress', 'clear-text', 'json'],
  clearTextReporter: { reportTests: false, allowColor: false },
  jsonReporter: { fileName: 'coverage/mutants/report.json' },
  thresholds: { high: 95, low: 90, break: 90 },
}).runMutationTest();

/** The folders of the table that contain the pattern's files, or lie below it. */
function foldersOf(pattern) {
  const [start] = pattern.split(/[*{[]/);
  const found = FOLDERS.filter((folder) => `${folder}/`.startsWith(start) || start.startsWith(`${folder}/`));
  if (found.length === 0) throw new Error(`${pattern} is in none of ${FOLDERS.join(', ')}`);
  return found;
}
