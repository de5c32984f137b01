import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import { parseWhole } from '../client/commands/options.ts';
import { note, printJson } from '../client/commands/output.ts';
import { speedChart } from './start/chart.ts';
import { measure, type Samples } from './start/measure.ts';
import { reportOf, resultsOf } from './start/report.ts';

const DOCS = fileURLToPath(new URL('../docs', import.meta.url));

/** `npm run bench`: data on stdout, progress on stderr. Exits with 0 within the limits, 1 failed, 2 wrong usage, 3 above. */
const program = new Command('bench')
  .description('Measures the token function as `cdk synth` bundles it, beside references. Takes at most 4 minutes.')
  .option('--rounds <n>', 'how many cold starts of each kind', parseWhole('rounds', 1, 500), 80)
  .option('--hits <n>', 'how many answers from memory', parseWhole('numbers', 1, 3_000), 1_000)
  .option('--write [folder]', 'write what was measured into performance.md and charts/bench.svg there (default: docs)')
  .option('--json', 'answer in JSON', false)
  .showHelpAfterError('(--help shows how)')
  .exitOverride()
  .action(run);

interface Options {
  readonly rounds: number;
  readonly hits: number;
  readonly write?: string | true;
  readonly json: boolean;
}

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}

async function run({ rounds, hits, json, write }: Options): Promise<void> {
  const samples = await measure(rounds, hits, (line) => note(process, line));
  const figures = resultsOf(samples);
  if (json) printJson(process, { figures, samples });
  else process.stdout.write(`${reportOf(samples)}\n`);
  if (write) await writeInto(write === true ? DOCS : write, samples);
  if (figures.some(({ isAbove }) => isAbove)) process.exitCode = 3;
}

/** Replaces the text between the two marks of the page, and the chart. */
async function writeInto(folder: string, samples: Samples): Promise<void> {
  const page = join(folder, 'performance.md');
  const text = await readFile(page, 'utf8');
  const measured = `$1\n\n${reportOf(samples)}\n\n$2`;
  await writeFile(page, text.replace(/(<!-- measured -->).*(<!-- \/measured -->)/s, measured));
  await writeFile(join(folder, 'charts/bench.svg'), speedChart(samples));
}
