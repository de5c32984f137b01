import { Command, CommanderError } from 'commander';
import { parseWhole } from '../client/commands/options.ts';
import { note, printJson } from '../client/commands/output.ts';
import { reportOf, resultsOf } from './figures.ts';
import { measure } from './measure.ts';

/** `npm run bench`: data on stdout, progress on stderr. Exits with 0 within the limits, 1 failed, 2 wrong usage, 3 above. */
const program = new Command('bench')
  .description('Measures the token function as `cdk synth` bundles it, beside references. Takes at most 4 minutes.')
  .option('--rounds <n>', 'how many cold starts of each kind', parseWhole('rounds', 1, 500), 80)
  .option('--hits <n>', 'how many answers from memory', parseWhole('numbers', 1, 3_000), 1_000)
  .option('--json', 'answer in JSON', false)
  .showHelpAfterError('(--help shows how)')
  .exitOverride()
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}

async function run({ rounds, hits, json }: Readonly<{ rounds: number; hits: number; json: boolean }>): Promise<void> {
  const samples = await measure(rounds, hits, (line) => note(process, line));
  const figures = resultsOf(samples);
  if (json) printJson(process, { figures, samples });
  else process.stdout.write(`${reportOf(samples)}\n`);
  if (figures.some(({ isAbove }) => isAbove)) process.exitCode = 3;
}
