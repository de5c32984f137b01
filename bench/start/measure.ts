import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type ColdStart, fillTable, KINDS, type KindName, measureColdStart, type World } from './cold-start.ts';

/** The cold starts of all kinds, close to each other in time, with immediate answers and with real latencies. */
export interface Round {
  readonly atOnce: ColdStarts;
  readonly waiting: ColdStarts;
}

type ColdStarts = Readonly<Record<KindName, ColdStart>>;

interface Options {
  readonly rounds: number;
  readonly hits: number;
  /** The time after which no round begins, by `performance.now()`. */
  readonly until: number;
  readonly onRound: (done: number) => void;
}

export interface Measured {
  /** The rounds without the first, in which files come from the disk. */
  readonly rounds: readonly Round[];
  /** The durations of answers from memory within the process, in microseconds. */
  readonly hits: readonly number[];
}

/** Measures all kinds in turn, so that other work of the machine affects all of them. */
export async function measure(world: World, { rounds: count, hits, until, onRound }: Options): Promise<Measured> {
  await fillTable(world);
  const rounds: Round[] = [];
  // An additional first round is discarded.
  for (let n = 0; n <= count && (n < 2 || performance.now() < until); n += 1) {
    world.standIns.waitBeforeAnswers(false);
    const atOnce = await measureAll(world, n);
    world.standIns.waitBeforeAnswers(true);
    const waiting = await measureAll(world, n);
    if (n > 0) rounds.push({ atOnce, waiting });
    onRound(n);
  }
  const { stdout } = await promisify(execFile)(process.execPath, [world.bundles.memoryHits, `${hits}`]);
  return { rounds, hits: JSON.parse(stdout) };
}

/** Measures each kind once, and begins each round with another kind. */
async function measureAll(world: World, n: number): Promise<ColdStarts> {
  const names = Object.keys(KINDS) as KindName[];
  const starts: [KindName, ColdStart][] = [];
  for (let k = 0; k < names.length; k += 1) {
    const name = names[(n + k) % names.length] ?? 'broker';
    starts.push([name, await measureColdStart(world, name)]);
  }
  return Object.fromEntries(starts) as ColdStarts;
}
