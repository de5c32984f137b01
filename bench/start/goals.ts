import type { ColdStart, KindName } from './cold-start.ts';
import type { Measured, Round } from './measure.ts';
import { LATENCIES_MS } from './stand-ins.ts';

/** All measurements of a run. */
export interface Samples extends Measured {
  readonly node: string;
  readonly processors: number;
  readonly bundleBytes: number;
}

/** The share of a processor that Lambda allots to an invocation: 512 MB of the 1 769 MB of a full processor. */
const CPU_SHARE = 0.29;

/** The conditions of a start. */
export const CONDITIONS = {
  full: 'a whole processor',
  small: `${CPU_SHARE} of one for the invocation`,
  waiting: `a whole processor, answers after ${LATENCIES_MS.join(', ')} ms`,
} as const;

export type Condition = keyof typeof CONDITIONS;

/** The result of a measure. A ratio is the median of the ratios within the rounds. */
export interface Figure {
  readonly id: string;
  readonly name: string;
  readonly condition: Condition | undefined;
  readonly value: number;
  /** The maximum value, or `undefined` for a measure without a goal. */
  readonly goal: number | undefined;
  /** The reason for a missed goal, and the attempts to meet it. */
  readonly why: string;
}

interface Measure extends Omit<Figure, 'value'> {
  readonly measure: (samples: Samples) => number;
}

const CALLS = 'compiling the rules and running them for the first time take it; stand-ins for more of Node save 1.4 %';
const SDK = 'the calls alone take most of it, as the row about them tells: Node, TLS with its certificates, signing';
const HIT = 'reading the request, the decision and the audit line are all that is left';
const BUNDLE = 'the rules are most of it';

/** The measures, each with its goal. */
export const MEASURES: readonly Measure[] = [
  ...starts('first-token-calls', 'first token ÷ `calls`', 'broker', 'calls', CALLS, { full: 1.1, small: 1.15 }),
  ...starts('table-hit-sdk', 'table hit ÷ first token of `sdk`', 'table hit', 'sdk', SDK, { full: 0.8, small: 0.42 }),
  ...starts('first-token-sdk', 'first token ÷ `sdk`', 'broker', 'sdk', SDK),
  ...starts('first-token-cdk', 'first token ÷ `cdk`', 'broker', 'cdk', SDK),
  ...starts('calls-sdk', '`calls` ÷ `sdk`', 'calls', 'sdk', SDK),
  single('init', 'init ÷ init of `calls`', 1.12, CALLS, fastestInit('broker', 'calls')),
  single('init-calls', 'init of `calls` ÷ `empty`', undefined, SDK, fastestInit('calls', 'empty')),
  single('resident-memory', 'memory after the first token ÷ `calls`', 1.02, CALLS, ({ rounds }) =>
    medianRatio(rounds, ({ atOnce }, kind) => atOnce[kind].residentBytes ?? Number.NaN, 'broker', 'calls'),
  ),
  single('memory-hit', 'memory hit in process, in µs', 12, HIT, ({ hits }) => median(hits)),
  single('bundle', 'token bundle, in kB', 95, BUNDLE, ({ bundleBytes }) => bundleBytes / 1_000),
];

/** Measures from the start of the process until its first answer, under each condition. */
function starts(
  id: string,
  name: string,
  kind: KindName,
  reference: KindName,
  why: string,
  goals: Partial<Record<Condition, number>> = {},
): readonly Measure[] {
  return (Object.keys(CONDITIONS) as Condition[]).map((condition) => ({
    ...{ id: condition === 'full' ? id : `${id}-${condition}`, name, condition, goal: goals[condition], why },
    measure(samples) {
      const loaded = isLoaded(samples);
      const both = (round: Round, of: KindName) => {
        const { initMs, firstMs } = timesOf(round, of, condition, loaded);
        return initMs + firstMs;
      };
      return medianRatio(samples.rounds, both, kind, reference);
    },
  }));
}

function single(id: string, name: string, goal: number | undefined, why: string, measure: Measure['measure']): Measure {
  return { id, name, condition: undefined, goal, why, measure };
}

/** Returns the figures of a run that this machine can measure. */
export function figuresOf(samples: Samples): readonly Figure[] {
  const figures = MEASURES.map(({ measure, ...definition }) => ({ ...definition, value: measure(samples) }));
  return figures.filter(({ value }) => !Number.isNaN(value));
}

/** Returns the figures that have a goal, and whether they meet it. */
export function goalsOf(figures: readonly Figure[]) {
  return figures.flatMap(({ id, value, goal }) => (goal === undefined ? [] : { id, value, goal, met: value <= goal }));
}

/**
 * Returns the two parts of a start. The small condition uses processor time, divided by the share for the invocation.
 * On a loaded machine the clock would measure other programs, but waiting takes no processor.
 */
export function timesOf(round: Round, kind: KindName, condition: Condition, loaded: boolean) {
  const start = (condition === 'waiting' ? round.waiting : round.atOnce)[kind];
  const { initMs, firstMs, initCpuMs = Number.NaN, firstCpuMs = Number.NaN } = start;
  if (condition === 'small') return { initMs: initCpuMs, firstMs: firstCpuMs / CPU_SHARE };
  return loaded && condition === 'full' ? { initMs: initCpuMs, firstMs: firstCpuMs } : { initMs, firstMs };
}

/** Returns the time that threads of a starting instance waited for a processor, as a share of its start. */
export function waitedShare({ rounds }: Pick<Samples, 'rounds'>): number {
  const waits = rounds.flatMap(({ atOnce }) =>
    Object.values(atOnce).map(({ waitedMs = 0, initMs }) => waitedMs / initMs),
  );
  return median(waits);
}

export function isLoaded(samples: Pick<Samples, 'rounds'>): boolean {
  return waitedShare(samples) > 0.25;
}

/** Returns the lower median, or `NaN` without values. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.ceil(values.length / 2) - 1] ?? Number.NaN;
}

/** Returns the median of ratios within rounds, because a short load slows both sides of such a ratio. */
function medianRatio(
  rounds: readonly Round[],
  of: (round: Round, kind: KindName) => number,
  kind: KindName,
  reference: KindName,
): number {
  return median(rounds.map((round) => of(round, kind) / of(round, reference)));
}

/** Compares the faster of a round's two starts per kind. Other programs disturb a short start fully or not at all. */
function fastestInit(kind: KindName, reference: KindName): Measure['measure'] {
  return (samples) => {
    const loaded = isLoaded(samples);
    const initOf = (start: ColdStart) => (loaded ? (start.initCpuMs ?? Number.NaN) : start.initMs);
    const fastest = ({ atOnce, waiting }: Round, of: KindName) => Math.min(initOf(atOnce[of]), initOf(waiting[of]));
    return medianRatio(samples.rounds, fastest, kind, reference);
  };
}
