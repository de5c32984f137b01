import { availableParallelism } from 'node:os';
import { CPU_SHARE, LATENCIES_MS } from '../test/support/cold-start/exchange.ts';
import type { ColdStart, KindName } from './cold-start.ts';

/** All measurements of a run. */
export interface Samples {
  readonly bundleBytes: number;
  readonly rounds: readonly Round[];
  /** In each of some processes: the time of an answer from memory ÷ that of its reference. */
  readonly hits: readonly number[];
}

/** The cold starts of all kinds, close to each other in time. */
export type Round = Readonly<Record<KindName, ColdStart>>;

/** What a run measures. Apart from the bundle all are ratios, because other work slows both sides. */
interface Figure {
  readonly name: string;
  /** The value of the last change that won something. A higher value is a loss. */
  readonly limit: number;
  /** The value to reach. */
  readonly target?: number;
  readonly of: (samples: Samples) => number;
}

const WHOLE = 'a whole processor';
const SMALL = `${CPU_SHARE} of one for the invocation`;
const CLOCK = `answers after ${LATENCIES_MS.join(', ')} ms, by the clock`;

/** The figures of a run, with their limits and targets. A start lasts until the first answer of its process. */
export const FIGURES: readonly Figure[] = [
  { name: `first token ÷ \`sdk\`, ${WHOLE}`, limit: 0.8, target: 0.76, of: ratio('broker', 'sdk', 'whole') },
  { name: `first token ÷ \`sdk\`, ${SMALL}`, limit: 0.55, target: 0.53, of: ratio('broker', 'sdk', 'small') },
  { name: `table hit ÷ \`sdk\`, ${WHOLE}`, limit: 0.73, target: 0.68, of: ratio('table hit', 'sdk', 'whole') },
  { name: `table hit ÷ \`sdk\`, ${SMALL}`, limit: 0.41, of: ratio('table hit', 'sdk', 'small') },
  { name: `first token ÷ \`calls\`, ${WHOLE}`, limit: 1.29, target: 1.2, of: ratio('broker', 'calls', 'whole') },
  { name: `first token ÷ \`calls\`, ${CLOCK}`, limit: 1.17, target: 1.12, of: ratio('broker', 'calls', 'waiting') },
  { name: 'init ÷ init of `calls`', limit: 1.3, target: 1.22, of: ratio('broker', 'calls', 'init') },
  { name: 'memory after the first token ÷ `calls`', limit: 1.05, of: ratio('broker', 'calls', 'memory') },
  { name: 'memory hit ÷ a look into a map', limit: 3.8, of: ({ hits }) => median(hits) },
  { name: 'token bundle, in kB', limit: 86, of: ({ bundleBytes }) => bundleBytes / 1_000 },
];

/** Compares two kinds within each round. */
function ratio(kind: KindName, reference: KindName, part: keyof ColdStart): Figure['of'] {
  return ({ rounds }) => median(rounds.map((round) => round[kind][part] / round[reference][part]));
}

/** Returns the lower median, or `NaN` without values. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length / 2) - 1] ?? Number.NaN;
}

/** Returns a run as the Markdown of docs/performance.md, and whether a figure is above its limit. */
export function reportOf(samples: Samples): { readonly report: string; readonly isAbove: boolean } {
  const results = FIGURES.map(({ of, ...figure }) => ({ ...figure, value: of(samples) }));
  const above = results.filter(({ value, limit }) => value > limit);
  const report = [
    `${samples.rounds.length} rounds with Node ${process.versions.node} on ${availableParallelism()} processors.\n`,
    '| from the start of a process, and more | measured | limit | target |',
    '| --- | --- | --- | --- |',
    ...results.map(({ name, value, limit, target = '' }) => `| ${name} | ${short(value)} | ${limit} | ${target} |`),
    ...above.map(({ name, value, limit }) => `- Above its limit by ${short(100 * (value / limit - 1))} %: ${name}.`),
  ];
  return { report: report.join('\n'), isAbove: above.length > 0 };
}

function short(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1);
}
