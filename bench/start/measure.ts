import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type ColdStart, fillTable, KINDS, type KindName, measureColdStart, type World } from './cold-start.ts';
import { whyNoCpuLimit } from './cpu-limit.ts';
import { LATENCIES_MS } from './stand-ins.ts';

/** The conditions under which the instances start. */
export const SERIES = {
  full: { title: 'a whole processor', limited: false, waits: false },
  limited: { title: '0.29 of one for the invocation', limited: true, waits: false },
  waiting: { title: `a whole processor, answers after ${LATENCIES_MS.join(', ')} ms`, limited: false, waits: true },
  lambda: { title: `0.29 of one, answers after ${LATENCIES_MS.join(', ')} ms`, limited: true, waits: true },
} as const;

export type SeriesName = keyof typeof SERIES;

type ColdStarts = Readonly<Record<KindName, ColdStart>>;

/** The cold starts of all kinds, close to each other in time; a series that this machine cannot make is missing. */
type Round = Readonly<Partial<Record<SeriesName, ColdStarts | undefined>>>;

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
  readonly hits: MemoryHits;
}

/** The times of answers from memory, within the process. */
export interface MemoryHits {
  /** In microseconds; before each, others had filled the caches of the core. */
  readonly evicted: number[];
  /** In microseconds, right after the one before. */
  readonly warm: number[];
  /** The time to read one line of memory, in nanoseconds, after others had filled the caches of the core. */
  readonly lineNanoseconds: number[];
}

/** Measures all kinds in turn, so that the other work of the machine meets all of them. */
export async function measure(world: World, { rounds: count, hits, until, onRound }: Options): Promise<Measured> {
  const canLimit = whyNoCpuLimit() === undefined;
  await fillTable(world);
  const rounds: Round[] = [];
  // One more, which is thrown away.
  for (let n = 0; n <= count && (n < 2 || performance.now() < until); n += 1) {
    const round: { -readonly [Name in keyof Round]: Round[Name] } = {};
    for (const [name, { limited, waits }] of entriesOf(SERIES)) {
      if (limited && !canLimit) continue;
      world.standIns.waitBeforeAnswers(waits);
      round[name] = await measureAll(world, n, limited);
    }
    if (n > 0) rounds.push(round);
    onRound(n);
  }
  const { stdout } = await promisify(execFile)(process.execPath, [world.bundles.memoryHits, `${hits}`]);
  return { rounds, hits: JSON.parse(stdout) };
}

/** Each round begins with another kind. */
async function measureAll(world: World, n: number, limited: boolean): Promise<ColdStarts> {
  const names = entriesOf(KINDS).map(([name]) => name);
  const starts: [KindName, ColdStart][] = [];
  for (let k = 0; k < names.length; k += 1) {
    const name = names[(n + k) % names.length] ?? 'broker';
    starts.push([name, await measureColdStart(world, name, limited)]);
  }
  return Object.fromEntries(starts) as ColdStarts;
}

function entriesOf<Table extends object>(table: Table) {
  return Object.entries(table) as [keyof Table, Table[keyof Table]][];
}
