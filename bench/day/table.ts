import { HOUR_MS } from '../../test/support/example.ts';
import { costOf } from '../../test/support/prices.ts';
import type { Simulated } from './day.ts';

/** Returns the table of docs/scale.md in Markdown: a column for each way. */
export function tableOf(days: readonly Simulated[]): string {
  const rows = ROWS.map(([name, show]) => [name, ...days.map(show)]);
  const lines = [['', ...days.map(({ way }) => way)], ['---', ...days.map(() => '---')], ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** What the table says of a day, and how. */
const ROWS: readonly (readonly [name: string, show: (day: Simulated) => string])[] = [
  ['token requests', ({ tokenRequests }) => shown(tokenRequests)],
  ['token requests, at most by the goal', (day) => (day.published === 0 ? '–' : shown(goalOf(day)))],
  ['problems to callers without a living token', ({ problemsWithoutToken }) => shown(problemsWithoutToken)],
  [
    'calls answered within 1 s',
    ({ slo }) => (slo.calls === 0 ? '–' : `${(100 - (100 * slo.missed) / slo.calls).toFixed(2)} %`),
  ],
  ['wait for a token, p50 / p99', ({ waitsMs }) => `${quantile(waitsMs, 0.5)}/${quantile(waitsMs, 0.99)} ms`],
  ['DynamoDB reads / writes', ({ reads, writes }) => (reads === 0 ? '–' : `${shown(reads)}/${shown(writes)}`)],
  ['Secrets Manager reads', ({ secretReads }) => shown(secretReads)],
  ['dollars per million tokens', (day) => ((1e6 * dollarsOf(day)) / Math.max(1, day.tokensIssued)).toFixed(2)],
];

/**
 * The most token requests that a fleet with a shared table may make on a whole day: one for each soft window, and 1 % above
 * that. First tokens and repeats have to fit in.
 */
export function goalOf({ scale, published, untilRefreshMs }: Simulated): number {
  return Math.floor((1.01 * scale.pairs * scale.hours * HOUR_MS * published) / untilRefreshMs);
}

function dollarsOf(day: Simulated): number {
  return Object.values(costOf(day)).reduce((sum, price) => sum + price);
}

function quantile(milliseconds: readonly number[], share: number): string {
  const sorted = Float64Array.from(milliseconds).sort();
  return shown(Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0));
}

/** Writes a number with its thousands apart. */
function shown(value: number): string {
  return value.toLocaleString('en').replaceAll(',', ' ');
}
