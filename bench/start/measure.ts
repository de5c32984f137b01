import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeBundles } from './bundles.ts';
import { type ColdStart, fillTable, KINDS, type KindName, measureColdStart, type World } from './cold-start.ts';
import { serveRate } from './serve-rate.ts';
import { startStandIns } from './stand-ins.ts';

/** The cold starts of all kinds, close to each other in time, with immediate answers and with real latencies. */
export type Round = Readonly<Record<'atOnce' | 'waiting', ColdStarts>>;
type ColdStarts = Readonly<Record<KindName, ColdStart>>;

/** All measurements of a run. */
export interface Samples {
  readonly node: string;
  readonly processors: number;
  readonly bundleBytes: number;
  /** The rounds without the first, in which files come from the disk. */
  readonly rounds: readonly Round[];
  /** The durations of answers from memory within each of some processes, in microseconds. */
  readonly hits: readonly (readonly number[])[];
  readonly servedInSecond: number;
}

/** Four minutes minus the time for the bundles and the answers from memory on a busy machine. */
const ROUNDS_MS = 200_000;
/** Other work slows a whole process, which lasts half a second. The fastest process shows the code. */
const PROCESSES = 10;

/** Measures so many rounds and answers from memory in at most four minutes, and notes its progress. */
export async function measure(count: number, hits: number, note: (line: string) => void): Promise<Samples> {
  const folder = await mkdtemp(join(tmpdir(), 'token-broker-bench-'));
  const standIns = await startStandIns(folder);
  try {
    note('Synthesising the stack, and bundling the references beside it.');
    const bundles = await makeBundles(folder, standIns.authUrl);
    const rounds = await measureRounds({ bundles, standIns }, count, note);
    const answerFromMemory = () => promisify(execFile)(process.execPath, [bundles.memoryHits, `${hits}`]);
    const durations: number[][] = [];
    for (let n = 0; n < PROCESSES; n += 1) durations.push(JSON.parse((await answerFromMemory()).stdout));
    const machine = { node: process.versions.node, processors: availableParallelism(), bundleBytes: bundles.bytes };
    return { ...machine, rounds, hits: durations, servedInSecond: await serveRate() };
  } finally {
    standIns.close();
    await rm(folder, { recursive: true });
  }
}

async function measureRounds(world: World, count: number, note: (line: string) => void): Promise<readonly Round[]> {
  await fillTable(world);
  const rounds: Round[] = [];
  const until = performance.now() + ROUNDS_MS;
  // An additional first round is discarded.
  for (let n = 0; n <= count && (n < 2 || performance.now() < until); n += 1) {
    const round = { atOnce: await measureAll(world, n, false), waiting: await measureAll(world, n, true) };
    if (n > 0) rounds.push(round);
    note(`Round ${n} of ${count}.`);
  }
  return rounds;
}

/** Measures each kind once, and begins each round with another kind, so that other work affects all of them. */
async function measureAll(world: World, n: number, hasLatencies: boolean): Promise<ColdStarts> {
  world.standIns.waitBeforeAnswers(hasLatencies);
  const names = Object.keys(KINDS) as KindName[];
  const starts: [KindName, ColdStart][] = [];
  for (const name of [...names.slice(n % names.length), ...names.slice(0, n % names.length)]) {
    starts.push([name, await measureColdStart(world, name)]);
  }
  return Object.fromEntries(starts) as ColdStarts;
}
