import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { makeBundles } from './start/bundles.ts';
import { speedChart } from './start/chart.ts';
import { figuresOf, goalsOf, MEASURES, type Samples } from './start/goals.ts';
import { measure } from './start/measure.ts';
import { missedOf, reportOf } from './start/report.ts';
import { startStandIns } from './start/stand-ins.ts';

const DOCS = fileURLToPath(new URL('../docs', import.meta.url));

/**
 * `npm run bench`: data on stdout, progress on stderr.
 * Exits with 0 measured, goals missed or not, 1 failed, 2 wrong usage.
 */
const program = new Command('bench')
  .description('Measures the token function as `cdk synth` bundles it, beside references. Takes at most 4 minutes.')
  .option('--rounds <n>', 'how many cold starts of each kind', wholeNumber(1, 500), 80)
  .option('--hits <n>', 'how many answers from memory', wholeNumber(1, 3_000), 1_000)
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

/** Four minutes minus the time for the bundles and the answers from memory on a busy machine. */
const ROUNDS_MS = 200_000;

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}

async function run(options: Options): Promise<void> {
  const samples = await measureAll(options);
  const figures = figuresOf(samples);
  const told = new Set(figures.map(({ id }) => id));
  const skipped = MEASURES.flatMap(({ id }) => (told.has(id) ? [] : { id, why: 'this machine does not tell' }));
  const data = { goals: goalsOf(figures), missed: missedOf(figures), skipped, figures, samples };
  const lines = skipped.map(({ id, why }) => `skipped: ${id}: ${why}\n`);
  const text = options.json ? JSON.stringify(data, undefined, 2) : `${reportOf(samples)}\n${lines.join('')}`.trimEnd();
  process.stdout.write(`${text}\n`);
  if (options.write) await write(samples, options.write === true ? DOCS : options.write);
}

async function measureAll({ rounds, hits }: Options): Promise<Samples> {
  const folder = await mkdtemp(join(tmpdir(), 'token-broker-bench-'));
  const standIns = await startStandIns(folder);
  try {
    talk('Synthesising the stack, and bundling the references beside it.');
    const bundles = await makeBundles(folder, standIns.authUrl);
    const until = performance.now() + ROUNDS_MS;
    const onRound = (done: number) => talk(`Round ${done} of ${rounds}.`);
    const measured = await measure({ bundles, standIns }, { rounds, hits, until, onRound });
    const machine = { node: process.versions.node, processors: availableParallelism() };
    return { ...machine, bundleBytes: bundles.brokerBytes, ...measured };
  } finally {
    standIns.close();
    await rm(folder, { recursive: true });
  }
}

/** Reports the progress of the run on stderr. */
function talk(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Replaces the text between the two marks of the page, and the chart. */
async function write(samples: Samples, folder: string): Promise<void> {
  const page = join(folder, 'performance.md');
  const text = await readFile(page, 'utf8');
  const measured = `$1\n\n${reportOf(samples)}\n\n$2`;
  await writeFile(page, text.replace(/(<!-- measured -->).*(<!-- \/measured -->)/s, measured));
  await writeFile(join(folder, 'charts/bench.svg'), speedChart(samples));
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,10}$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`Give a whole number from ${least} to ${most}.`);
    }
    return value;
  };
}
