import { LATENCIES_MS } from '../test/support/cold-start/stand-ins.ts';
import type { ColdStart, KindName } from './cold-start.ts';

/** All measurements of a run. */
export interface Samples {
  readonly node: string;
  readonly processors: number;
  readonly bundleBytes: number;
  readonly rounds: readonly Round[];
  /** In each of some processes: the durations of answers from memory and of the reference's answers, in microseconds. */
  readonly hits: readonly Readonly<Record<'broker' | 'reference', readonly number[]>>[];
}

/** The cold starts of all kinds, close to each other in time, with immediate answers and with real latencies. */
export type Round = Readonly<Record<'atOnce' | 'waiting', ColdStarts>>;
export type ColdStarts = Readonly<Record<KindName, ColdStart>>;

/** The share of a processor that Lambda allots to an invocation: 512 MB of the 1 769 MB of a full processor. */
const CPU_SHARE = 0.29;

/** The conditions of a start. Only the last counts the time that passes, the others count processor time. */
const CONDITIONS = {
  full: 'a whole processor',
  small: `${CPU_SHARE} of one for the invocation`,
  waiting: `answers after ${LATENCIES_MS.join(', ')} ms, by the clock`,
} as const;

type Condition = keyof typeof CONDITIONS;

/** What a run measures. Apart from the bundle all are ratios, because other work slows both sides. */
interface Figure {
  readonly name: string;
  /** The value of the last change that won something. A higher value is a loss. */
  readonly limit: number;
  /** The value to reach. */
  readonly target?: number | undefined;
  readonly of: (samples: Samples) => number;
}

/** The figures of a run, with their limits and targets. */
export const FIGURES: readonly Figure[] = [
  start('broker', 'sdk', 'full', 0.8, 0.76),
  start('broker', 'sdk', 'small', 0.56, 0.53),
  start('table hit', 'sdk', 'full', 0.72, 0.68),
  start('table hit', 'sdk', 'small', 0.41),
  start('broker', 'calls', 'full', 1.3, 1.2),
  start('broker', 'calls', 'waiting', 1.18, 1.12),
  { name: 'init ÷ init of `calls`', limit: 1.31, target: 1.22, of: ratio(({ initCpuMs }) => initCpuMs) },
  { name: 'memory after the first token ÷ `calls`', limit: 1.05, of: ratio(({ residentBytes }) => residentBytes) },
  { name: 'memory hit ÷ a look into a map', limit: 4.2, of: memoryHit },
  { name: 'token bundle, in kB', limit: 87.5, of: ({ bundleBytes }) => bundleBytes / 1_000 },
];

/** Measures from the start of the process until its first answer. */
function start(kind: KindName, reference: KindName, condition: Condition, limit: number, target?: number): Figure {
  const first = kind === 'broker' ? 'first token' : kind;
  const of = ({ rounds }: Samples) =>
    median(rounds.map((round) => totalMs(round, kind, condition) / totalMs(round, reference, condition)));
  return { name: `${first} ÷ \`${reference}\`, ${CONDITIONS[condition]}`, limit, target, of };
}

function totalMs({ atOnce, waiting }: Round, kind: KindName, condition: Condition): number {
  if (condition === 'waiting') return waiting[kind].initMs + waiting[kind].firstMs;
  const { initCpuMs, firstCpuMs } = atOnce[kind];
  return initCpuMs + (condition === 'small' ? firstCpuMs / CPU_SHARE : firstCpuMs);
}

function ratio(part: (start: ColdStart) => number): Figure['of'] {
  return ({ rounds }) => median(rounds.map(({ atOnce }) => part(atOnce.broker) / part(atOnce.calls)));
}

function memoryHit({ hits }: Samples): number {
  return median(hits.map(({ broker, reference }) => median(broker) / median(reference)));
}

/** Returns the lower median, or `NaN` without values. */
function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.ceil(values.length / 2) - 1] ?? Number.NaN;
}

/** Returns the value of each figure, and whether it is above its limit. */
export function resultsOf(samples: Samples) {
  return FIGURES.map(({ of, ...figure }) => {
    const value = of(samples);
    return { ...figure, value, isAbove: value > figure.limit };
  });
}

/** Returns a run as the Markdown of docs/performance.md. */
export function reportOf(samples: Samples): string {
  const { rounds, node, processors } = samples;
  const results = resultsOf(samples);
  const rows = results.map(({ name, value, limit, target = '' }) => [name, short(value), limit, target]);
  const head = ['from the start of a process, and more', 'measured', 'limit', 'target'];
  const above = results.flatMap(({ name, value, limit, isAbove }) =>
    isAbove ? `- Above its limit by ${(100 * (value / limit - 1)).toFixed(1)} %: ${name}.` : [],
  );
  return [
    `${rounds.length} ${rounds.length === 1 ? 'round' : 'rounds'} with Node ${node} on ${processors} processors.`,
    '',
    ...[head, Array(4).fill('---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`),
    ...(above.length > 0 ? ['', ...above] : []),
  ].join('\n');
}

function short(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1);
}
