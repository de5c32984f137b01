import type { ColdStart, KindName } from './cold-start.ts';
import { CPU_SHARE } from './cpu-limit.ts';
import { type Measured, SERIES, type SeriesName } from './measure.ts';

/** All measurements of one run; those that failed are missing. */
export interface Samples extends Measured {
  readonly node: string;
  readonly processors: number;
  readonly bundleBytes: number;
}

/** The result of one measure; a ratio is the median of the ratios within the rounds. */
export interface Figure {
  readonly id: string;
  readonly name: string;
  readonly series: SeriesName | undefined;
  /** Compared with the goal: by the clock; on a loaded machine, or with a limit, by processor time if it is known. */
  readonly value: number;
  readonly byClock: number | undefined;
  readonly byProcessorTime: number | undefined;
  /** The largest value that is allowed; `undefined` for a measure without a goal. */
  readonly goal: number | undefined;
  /** The reason when a goal is missed. */
  readonly why: string;
}

export function figuresOf(samples: Samples): readonly Figure[] {
  const loaded = basisOf(samples) === 'processor';
  return MEASURES.flatMap(({ measure, ...definition }) => {
    const byClock = known(measure(samples, 'clock'));
    const byProcessorTime = known(measure(samples, 'processor'));
    // A limit is kept by standing still until the next period: by the clock two runs differ by more than 5 %.
    const value = loaded || definition.series === 'limited' ? (byProcessorTime ?? byClock) : byClock;
    return value === undefined ? [] : { ...definition, value, byClock, byProcessorTime };
  });
}

/** The figures that have a goal, and whether they meet it. */
export function goalsOf(figures: readonly Figure[]) {
  return figures.flatMap(({ id, value, goal }) => (goal === undefined ? [] : { id, value, goal, met: value <= goal }));
}

/** How long the threads of a starting instance waited for a processor, as a share of its start. */
export function waitedShare({ rounds }: Pick<Samples, 'rounds'>): number {
  const starts = rounds.flatMap(({ full }) => Object.values(full ?? {}));
  return median(starts.flatMap(({ waitedMs, initMs }) => (waitedMs === undefined ? [] : waitedMs / initMs)));
}

/** Processor time where threads waited long for a processor: the clock would measure other programs. */
export function basisOf(samples: Pick<Samples, 'rounds'>): Basis {
  return waitedShare(samples) > 0.25 ? 'processor' : 'clock';
}

type Basis = 'clock' | 'processor';

/** The lower one of two in the middle; `NaN` of nothing. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.ceil(values.length / 2) - 1] ?? Number.NaN;
}

function known(value: number | undefined): number | undefined {
  return Number.isNaN(value) ? undefined : value;
}

interface Definition extends Omit<Figure, 'value' | 'byClock' | 'byProcessorTime'> {
  readonly measure: (samples: Samples, basis: Basis) => number | undefined;
}

const START =
  'the calls alone, without a rule of the broker, take most of it, as the rows about them tell: Node, TLS with its certificates, and the client of Secrets Manager';
const FIRST =
  'lease, token request and publishing follow one another on both sides; the broker saves what comes before';
const INIT = 'the calls alone, without a rule of the broker, take most of it, as the row about them tells';
const HIT =
  'it reads code and data from memory that is shared with other machines, and two rows below tell how fast that was';
const BUNDLE = 'the client of Secrets Manager is 148 kB of it, and the SDK links all of that from the client';

/** The measures, each with its goal. */
export const MEASURES: readonly Definition[] = [
  ...starts('first-token-sdk', 'first token ÷ `sdk`', 'broker', 'sdk', { full: 0.87, limited: 0.52 }),
  ...starts('first-token-sdk3', 'first token ÷ `sdk`, 3 connections', 'broker', 'sdk, 3 connections', {}),
  ...starts('first-token-cdk', 'first token ÷ `cdk`', 'broker', 'cdk', { full: 0.7 }),
  ...starts('first-token-stack', 'first token ÷ `stack`', 'broker', 'stack', { full: 0.52, limited: 0.28 }),
  ...starts('table-hit-sdk', 'table hit ÷ first token of `sdk`', 'broker, table hit', 'sdk', {
    full: 0.8,
    limited: 0.45,
  }),
  // The parts that keep a start from its goal.
  ...starts('calls-sdk', '`calls` ÷ `sdk`', 'calls', 'sdk', {}, ['full', 'limited']),
  ...starts('calls-cdk', '`calls` ÷ `cdk`', 'calls', 'cdk', {}, ['full']),
  ...starts('calls-stack', '`calls` ÷ `stack`', 'calls', 'stack', {}, ['full', 'limited']),
  single('first-miss-sdk', 'first miss ÷ `sdk`', 0.3, FIRST, ratio(first, 'full', 'broker', 'sdk')),
  single('init', 'init with everything ÷ `empty`', 2.55, INIT, fastestInit('broker')),
  single('init-calls', 'init of `calls` ÷ `empty`', undefined, INIT, fastestInit('calls')),
  single('memory-hit-microseconds', 'memory hit in process, caches of the core evicted, in µs', 40, HIT, ({ hits }) =>
    median(hits.evicted),
  ),
  single('memory-hit-warm', 'the same with warm caches, in µs', undefined, HIT, ({ hits }) => median(hits.warm)),
  single('memory-line', 'reading one line of memory, caches evicted, in ns', undefined, HIT, ({ hits }) =>
    median(hits.lineNanoseconds),
  ),
  single('resident-memory', 'memory after the first token ÷ `empty`', 1.3, INIT, residentMemory('broker')),
  single('resident-calls', 'memory of `calls` ÷ `empty`', undefined, INIT, residentMemory('calls')),
  single('bundle-kilobytes', 'token bundle, in kB', 215, BUNDLE, ({ bundleBytes }) => bundleBytes / 1_000),
];

/** From the start of the process on, in each of some series. */
function starts(
  id: string,
  name: string,
  kind: KindName,
  reference: KindName,
  goals: Partial<Record<SeriesName, number>>,
  names = Object.keys(SERIES) as SeriesName[],
): readonly Definition[] {
  return names.map((series) => ({
    id: series === 'full' ? id : `${id}-${series}`,
    name,
    series,
    goal: goals[series],
    why: START,
    measure: ratio(both, series, kind, reference),
  }));
}

function single(
  id: string,
  name: string,
  goal: number | undefined,
  why: string,
  measure: Definition['measure'],
): Definition {
  return { id, name, series: undefined, goal, why, measure };
}

type Spent = (start: ColdStart, basis: Basis, limited: boolean) => number;

export function init({ initMs, initCpuMs }: ColdStart, basis: Basis): number {
  return basis === 'clock' ? initMs : (initCpuMs ?? Number.NaN);
}

/** By processor time, a limit makes an invocation as much longer as the share of a processor is smaller. */
export function first({ firstMs, firstCpuMs }: ColdStart, basis: Basis, limited: boolean): number {
  return basis === 'clock' ? firstMs : (firstCpuMs ?? Number.NaN) / (limited ? CPU_SHARE : 1);
}

function both(start: ColdStart, basis: Basis, limited: boolean): number {
  return init(start, basis) + first(start, basis, limited);
}

/** The median of the ratios within the rounds: a moment's load on the machine slows both sides of a ratio. */
function ratio(spent: Spent, series: SeriesName, kind: KindName, reference: KindName): Definition['measure'] {
  const { limited, waits } = SERIES[series];
  return ({ rounds }, basis) => {
    // Waiting takes no processor.
    if (waits && basis === 'processor') return undefined;
    const of = (start: ColdStart) => spent(start, basis, limited);
    return median(rounds.flatMap(({ [series]: round }) => (round ? of(round[kind]) / of(round[reference]) : [])));
  };
}

/**
 * Of each round the fastest start of a kind counts, in all series, because a limit begins with the invocation: a start as
 * short as that of `empty` meets the other work of the machine as a whole or not at all.
 */
function fastestInit(kind: KindName): Definition['measure'] {
  return ({ rounds }, basis) =>
    median(
      rounds.map((round) => {
        const fastest = (name: KindName) =>
          Math.min(...Object.values(round).flatMap((starts) => (starts ? init(starts[name], basis) : [])));
        return fastest(kind) / fastest('empty');
      }),
    );
}

function residentMemory(kind: KindName): Definition['measure'] {
  const memory = ({ residentBytes }: ColdStart) => residentBytes ?? Number.NaN;
  return ({ rounds }) => median(rounds.flatMap(({ full }) => (full ? memory(full[kind]) / memory(full.empty) : [])));
}
