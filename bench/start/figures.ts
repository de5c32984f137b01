import type { KindName } from './cold-start.ts';
import type { Round, Samples } from './measure.ts';
import { LATENCIES_MS } from './stand-ins.ts';

/** The share of a processor that Lambda allots to an invocation: 512 MB of the 1 769 MB of a full processor. */
const CPU_SHARE = 0.29;

/** The conditions of a start. Only the last counts the time that passes, the others count processor time. */
export const CONDITIONS = {
  full: 'a whole processor',
  small: `${CPU_SHARE} of one for the invocation`,
  waiting: `answers after ${LATENCIES_MS.join(', ')} ms, by the clock`,
} as const;

export type Condition = keyof typeof CONDITIONS;

/** What a run measures. A ratio is the median of the ratios within the rounds, because other work slows both sides. */
interface Figure {
  readonly name: string;
  /** The value of the last change that won something. A higher value is a loss. */
  readonly limit?: number | undefined;
  /** The value to reach. */
  readonly target?: number | undefined;
  readonly of: (samples: Samples) => number;
}

/** The figures of a run, with their limits and targets. */
export const FIGURES: readonly Figure[] = [
  start('broker', 'sdk', 'full', 0.82, 0.78),
  start('broker', 'sdk', 'small', 0.56),
  start('table hit', 'sdk', 'full', 0.72, 0.68),
  start('table hit', 'sdk', 'small', 0.41),
  start('broker', 'calls', 'full', 1.25, 1.15),
  start('broker', 'calls', 'waiting', 1.12),
  start('broker', 'cdk', 'full'),
  start('calls', 'sdk', 'full'),
  { name: 'init ÷ init of `calls`', limit: 1.23, of: ratio(({ initCpuMs }) => initCpuMs) },
  { name: 'memory after the first token ÷ `calls`', limit: 1.05, of: ratio(({ residentBytes }) => residentBytes) },
  { name: 'memory hit in process, in µs', limit: 13.2, of: ({ hits }) => Math.min(...hits.map(median)) },
  { name: 'token bundle, in kB', limit: 100, of: ({ bundleBytes }) => bundleBytes / 1_000 },
  { name: 'answers of `serve` out of its cache, in a second', of: ({ servedInSecond }) => servedInSecond },
];

/** Measures from the start of the process until its first answer. */
function start(kind: KindName, reference: KindName, condition: Condition, limit?: number, target?: number): Figure {
  const first = { broker: 'first token', 'table hit': 'table hit', calls: '`calls`', sdk: '`sdk`', cdk: '`cdk`' }[kind];
  const totalOf = (round: Round, of: KindName) => timesOf(round, of, condition).reduce((one, other) => one + other);
  const of = ({ rounds }: Samples) => median(rounds.map((round) => totalOf(round, kind) / totalOf(round, reference)));
  return { name: `${first} ÷ \`${reference}\`, ${CONDITIONS[condition]}`, limit, target, of };
}

function ratio(part: (start: Round['atOnce'][KindName]) => number): Figure['of'] {
  return ({ rounds }) => median(rounds.map(({ atOnce }) => part(atOnce.broker) / part(atOnce.calls)));
}

/** Returns the times until an instance is ready, and of its first invocation, in milliseconds. */
export function timesOf({ atOnce, waiting }: Round, kind: KindName, condition: Condition): readonly [number, number] {
  const { initCpuMs, firstCpuMs } = atOnce[kind];
  if (condition === 'waiting') return [waiting[kind].initMs, waiting[kind].firstMs];
  return [initCpuMs, condition === 'small' ? firstCpuMs / CPU_SHARE : firstCpuMs];
}

/** Returns the lower median, or `NaN` without values. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.ceil(values.length / 2) - 1] ?? Number.NaN;
}
