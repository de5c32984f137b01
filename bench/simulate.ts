import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Command, CommanderError, Option } from 'commander';
import { parseWhole } from '../client/commands/options.ts';
import { note, printJson } from '../client/commands/output.ts';
import { tokenRequestChart } from './day/chart.ts';
import { simulateDay } from './day/day.ts';
import { type Outcome, reportOf } from './day/outcome.ts';
import { type Scale, WAYS, type Way } from './day/world.ts';

/** `npm run simulate`: data on stdout, progress on stderr. Exits with 0 done, 1 failed, 2 wrong usage, 130 Ctrl-C. */
const program = new Command('simulate')
  .description('Simulates a fleet that runs the real rules of the broker, beside the same callers without it.')
  .option('--instances <n>', 'how many instances of the function there are', parseWhole('instances', 1, 10_000), 10_000)
  .option('--pairs <n>', 'how many pairs of client and service', parseWhole('pairs', 1, 10_000), 1_000)
  .option('--hours <n>', 'how long, in simulated hours', parseWhole('hours', 1, 24), 24)
  .option('--seed <n>', 'which course of events', parseWhole('numbers', 0, 99_999), 1)
  .addOption(new Option('--calm', 'no service ever fails').default(false).conflicts('faults'))
  .option('--faults', 'the lasting faults and the operators of the tests as well, one every four minutes', false)
  .option('--charts <folder>', 'simulate fleets of other sizes as well and draw a chart of them there; takes minutes')
  .option('--json', 'answer in JSON', false)
  .showHelpAfterError('(--help shows how)')
  .exitOverride()
  .action(run);

/** The numbers of instances that a chart compares. */
const FLEETS = [1, 10, 100, 1_000, 10_000];

try {
  if (isMainThread) await program.parseAsync();
  else await simulateHere();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}

async function run({ json, charts, ...scale }: Scale & { json: boolean; charts?: string }): Promise<void> {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  note(process, `Simulating ${scale.hours} h of ${scale.instances} instances and ${scale.pairs} pairs.`);
  const outcomes = await simulateAll(scale, interrupted.signal);
  if (json) printJson(process, { interrupted: interrupted.signal.aborted, samples: outcomes });
  else process.stdout.write(`${reportOf(outcomes, interrupted.signal.aborted)}\n`);
  if (charts !== undefined && !interrupted.signal.aborted) await draw(charts, scale, outcomes, interrupted.signal);
  if (interrupted.signal.aborted) {
    note(process, 'Interrupted: this is what was known by then.');
    process.exitCode = 130;
  }
}

/** Simulates all ways, each in its own thread. After an abort, all return their outcome up to that time. */
function simulateAll(scale: Scale, signal: AbortSignal): Promise<readonly Outcome[]> {
  const simulate = async (way: Way): Promise<Outcome> => {
    // Most objects of a simulation last for a single call. A larger young generation makes collections rare.
    const resourceLimits = { maxYoungGenerationSizeMb: 256 };
    const worker = new Worker(new URL(import.meta.url), { workerData: { way, scale }, resourceLimits });
    signal.addEventListener('abort', () => worker.postMessage('end'));
    const [outcome] = await once(worker, 'message');
    return outcome;
  };
  return Promise.all(WAYS.map(simulate));
}

/** Runs a simulation in a worker thread. Any message stops it. */
async function simulateHere(): Promise<void> {
  const { way, scale }: { way: Way; scale: Scale } = workerData;
  const stop = new AbortController();
  parentPort?.once('message', () => stop.abort());
  parentPort?.postMessage(await simulateDay(way, scale, () => stop.signal.aborted));
  parentPort?.close();
}

/** Draws the same day with fleets of other sizes. Draws nothing after an abort. */
async function draw(folder: string, scale: Scale, known: readonly Outcome[], signal: AbortSignal): Promise<void> {
  const outcomes = [...known];
  for (const instances of FLEETS) {
    if (instances === scale.instances) continue;
    note(process, `Simulating ${instances} instances for the chart.`);
    outcomes.push(...(await simulateAll({ ...scale, instances }, signal)));
    if (signal.aborted) return;
  }
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'token-requests.svg'), tokenRequestChart(outcomes));
}
