import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startStandIns } from '../test/support/cold-start/stand-ins.ts';
import { makeBundles } from './bundles.ts';
import { fillTable, KINDS, type KindName, measureColdStart, type World } from './cold-start.ts';
import type { ColdStarts, Round, Samples } from './figures.ts';

type Note = (line: string) => void;

/** Measures so many rounds, and so many answers from memory in each of some processes. */
export async function measure(count: number, hits: number, note: Note): Promise<Samples> {
  const folder = await mkdtemp(join(tmpdir(), 'token-broker-bench-'));
  const standIns = await startStandIns(folder);
  try {
    note('Synthesising the stack, and bundling the references beside it.');
    const bundles = await makeBundles(folder, standIns.authUrl);
    const rounds = await measureRounds({ bundles, standIns }, count, note);
    const answerFromMemory = () => promisify(execFile)(process.execPath, [bundles.memoryHits, `${hits}`]);
    const durations: Samples['hits'][number][] = [];
    for (let n = 0; n < PROCESSES; n += 1) durations.push(JSON.parse((await answerFromMemory()).stdout));
    const machine = { node: process.versions.node, processors: availableParallelism() };
    return { ...machine, bundleBytes: bundles.bytes, rounds, hits: durations };
  } finally {
    standIns.close();
    await rm(folder, { recursive: true });
  }
}

async function measureRounds(world: World, count: number, note: Note): Promise<readonly Round[]> {
  await fillTable(world);
  const rounds: Round[] = [];
  const until = performance.now() + ROUNDS_MS;
  // The first round, in which files come from the disk, is discarded.
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
  const starts: Partial<Record<KindName, ColdStarts[KindName]>> = {};
  for (const name of [...names.slice(n % names.length), ...names.slice(0, n % names.length)]) {
    starts[name] = await measureColdStart(world, name);
  }
  return starts as ColdStarts;
}

/** Four minutes minus the time for the bundles and the answers from memory on a busy machine. */
const ROUNDS_MS = 200_000;
const PROCESSES = 10;
