import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { printJson, talk } from '../client/commands/output.ts';
import { simulateAll } from './fleet/threads.ts';
import { makeBundles } from './start/bundles.ts';
import { speedChart } from './start/chart.ts';
import { whyNoCpuLimit } from './start/cpu-limit.ts';
import { measureFleet } from './start/fleet-waves.ts';
import { GOALS, goalsOf, type Skipped } from './start/goals.ts';
import { measure } from './start/measure.ts';
import { missedOf } from './start/missed.ts';
import { reportOf } from './start/report.ts';
import { runtimeClients } from './start/runtime-clients.ts';
import type { Samples } from './start/samples.ts';
import { startStandIns } from './start/stand-ins.ts';

/** `npm run bench`: data on stdout, talk on stderr; exit 0 measured, whether or not goals are met, 1 failed, 2 wrong usage. */
const program = new Command('bench')
  .description('Measures the token function as `cdk synth` bundles it, beside references. Takes at most 10 minutes.')
  .option('--rounds <n>', 'how many cold starts of each kind', wholeNumber(1, 500), 60)
  .option('--hits <n>', 'how many answers from memory in each of 5 series', wholeNumber(1, 100_000), 2_000)
  .option('--no-fleet', 'leave out the fleet of 200 environments and the simulated one')
  .option('--chart <folder>', 'draw bench.svg there')
  .option('--json', 'answer in JSON', false)
  .showHelpAfterError('(--help shows how)')
  .exitOverride()
  .action(run);

interface Options {
  readonly rounds: number;
  readonly hits: number;
  readonly fleet: boolean;
  readonly chart?: string;
  readonly json: boolean;
}

/** Of the ten minutes, what the bundles, the fleets and the answers from memory leave on a busy machine. */
const ROUNDS_MS = 5 * 60_000;

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}

async function run(options: Options): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'token-broker-bench-'));
  try {
    const runs = await measureAll(folder, options);
    const [first] = runs;
    if (first === undefined) throw new Error('There is no runtime client.');
    const goals = goalsOf(first);
    const skipped = skippedOf(
      goals.map(({ id }) => id),
      options,
    );
    const samples = runs.map((each) => ({ ...each, missed: missedOf(each, goalsOf(each)) }));
    if (options.json) printJson(process, { goals, skipped, samples });
    else process.stdout.write(`${runs.map((each) => reportOf(each, goalsOf(each), skipped)).join('\n')}\n`);
    if (options.chart === undefined) return;
    await mkdir(options.chart, { recursive: true });
    await writeFile(join(options.chart, 'bench.svg'), speedChart(first));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The samples under every runtime client, the plain one first. */
async function measureAll(folder: string, { rounds, hits, fleet }: Options): Promise<readonly Samples[]> {
  talk(process, 'Synthesising the stack, and bundling the references beside it.');
  const standIns = await startStandIns(folder);
  try {
    const bundles = await makeBundles(folder, standIns.authUrl);
    const fleets = fleet ? await measureFleets() : {};
    const clients = runtimeClients(bundles.runtimeClient);
    const runs: Samples[] = [];
    for (const { name, command } of clients) {
      const until = performance.now() + ROUNDS_MS / clients.length;
      const onRound = (done: number) => talk(process, `Under ${name}: round ${done} of ${rounds}.`);
      const measured = await measure({ bundles, standIns, command }, { rounds, hits, until, onRound });
      const machine = { node: process.versions.node, processors: availableParallelism(), load: loadavg()[1] ?? 0 };
      runs.push({ ...machine, runtimeClient: name, bundleBytes: bundles.brokerBytes, ...measured, ...fleets });
    }
    return runs;
  } finally {
    await standIns.close();
  }
}

async function measureFleets(): Promise<Pick<Samples, 'fleet' | 'simulated'>> {
  talk(
    process,
    'A fleet of 200 environments, in 8 processes around one DynamoDB on this machine, asks for the token of one pair.',
  );
  const fleet = await measureFleet();
  talk(process, 'A fleet of 10 000 environments is simulated.');
  const scale = { environments: 10_000, pairs: 1_000, hours: 24, seed: 1, calm: false };
  const simulation = { signal: new AbortController().signal, onProgress: () => undefined };
  const [outcome] = await simulateAll([{ way: 'broker', scale }], simulation);
  return { fleet, simulated: outcome?.goal };
}

/** Every goal that has no value, and why. */
function skippedOf(known: readonly string[], { fleet }: Options): readonly Skipped[] {
  const missing = GOALS.map(({ id }) => id).filter((id) => !known.includes(id));
  return missing.map((id) => ({ id, why: whyMissing(id, fleet) }));
}

function whyMissing(id: string, fleet: boolean): string {
  if (id.endsWith('-limited')) return whyNoCpuLimit() ?? 'not measured';
  if (!fleet && /fleet|soft/.test(id)) return 'left out by --no-fleet';
  return 'this machine does not tell';
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
