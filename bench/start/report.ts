import { tableText } from '../../client/commands/output.ts';
import { GOALS, type Goal, type Skipped } from './goals.ts';
import { missedOf } from './missed.ts';
import type { ColdStarts, Samples } from './samples.ts';
import { median, quantile } from './statistics.ts';

/** What came of a run, for a person: the variants side by side, then every goal. */
export function reportOf(samples: Samples, goals: readonly Goal[], skipped: readonly Skipped[]): string {
  const { rounds, node, runtimeClient, processors, load } = samples;
  return [
    `${rounds.length} rounds on Node ${node} under ${runtimeClient}, median (p99) in ms`,
    `${processors} processors with work for ${load.toFixed(1)}${load > processors ? ': ratios hold better than times' : ''}`,
    tableText(
      HEADER,
      VARIANTS.map((variant) => rowOf(samples, variant)),
    ),
    tableText(
      ['goal', 'at most', 'is', ''],
      goals.map((goal) => goalRow(goal)),
    ),
    ...missedOf(samples, goals).map(({ name, by, parts, why }) => `MISSED by ${by}: ${name}: ${parts}; ${why}`),
    ...skipped.map(({ id, why }) => `skipped: ${id}: ${why}`),
  ].join('\n');
}

export const VARIANTS = ['empty', 'broker', 'sdk', 'stack'] as const;

const HEADER = ['', 'init', 'first token', 'both', 'first token, 0.29 CPU', 'both, 0.29 CPU', 'CPU of both', 'MB'];

function rowOf({ rounds }: Samples, variant: keyof ColdStarts): readonly string[] {
  const full = rounds.map((round) => round.full[variant]);
  const limited = rounds.flatMap((round) => round.limited?.[variant] ?? []);
  return [
    variant,
    times(full.map(({ initMs }) => initMs)),
    times(full.map(({ firstMs }) => firstMs)),
    times(full.map(({ initMs, firstMs }) => initMs + firstMs)),
    times(limited.map(({ firstMs }) => firstMs)),
    times(limited.map(({ initMs, firstMs }) => initMs + firstMs)),
    times(full.flatMap(({ initCpuMs, firstCpuMs }) => (initCpuMs && firstCpuMs ? initCpuMs + firstCpuMs : []))),
    times(full.flatMap(({ residentBytes }) => (residentBytes ? residentBytes / 1e6 : []))),
  ];
}

function times(values: readonly number[]): string {
  return values.length === 0 ? '-' : `${median(values).toFixed(1)} (${quantile(values, 0.99).toFixed(1)})`;
}

function goalRow({ id, value, goal, met }: Goal): readonly string[] {
  const name = GOALS.find((each) => each.id === id)?.name ?? id;
  return [name, `${goal}`, short(value), met ? 'met' : 'MISSED'];
}

function short(value: number): string {
  return Number.isInteger(value) ? `${value}` : value.toFixed(value < 10 ? 3 : 1);
}
