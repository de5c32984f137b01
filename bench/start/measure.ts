import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type ColdStart, fillTable, KINDS, type KindName, measureColdStart, type World } from './cold-start.ts';

/** The cold starts of all kinds, close to each other in time: with answers at once, and as late as real ones. */
export interface Round {
  readonly atOnce: ColdStarts;
  readonly waiting: ColdStarts;
}

type ColdStarts = Readonly<Record<KindName, ColdStart>>;

interface Options {
  readonly rounds: number;
  readonly hits: number;
  /** No round begins after that; by `performance.now()`. */
  readonly until: number;
  readonly onRound: (done: number) => void;
}

export interface Measured {
  /** The first one, in which files come from the disk, is not among them. */
  readonly rounds: readonly Round[];
  /** The times of answers from memory within the process, in microseconds. */
  readonly hits: readonly number[];
}

/** Measures all kinds in turn, so that the other work of the machine meets all of them. */
export async function measure(world: World, { rounds: count, hits, until, onRound }: Options): Promise<Measured> {
  await fillTable(world);
  const rounds: Round[] = [];
  // One more, which is thrown away.
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

/** Each round begins with another kind. */
async function measureAll(world: World, n: number): Promise<ColdStarts> {
  const names = Object.keys(KINDS) as KindName[];
  const starts: [KindName, ColdStart][] = [];
  for (let k = 0; k < names.length; k += 1) {
    const name = names[(n + k) % names.length] ?? 'broker';
    starts.push([name, await measureColdStart(world, name)]);
  }
  return Object.fromEntries(starts) as ColdStarts;
}
