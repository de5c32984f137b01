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
  ['token requests', ({ tokenRequests }) => shown(tokenRequests.all)],
  ['token requests, at most by the goal', (day) => (day.published === 0 ? '–' : shown(goalOf(day)))],
  ['problems to callers without a living token', ({ problems }) => shown(problems.toCallersWithoutToken)],
  ['calls answered within 1 s', ({ slo }) => (slo.calls === 0 ? '–' : `${percent(1 - slo.missed / slo.calls)} %`)],
  ['wait for a token, p50 / p99', ({ waitsMs }) => `${quantile(waitsMs, 0.5)}/${quantile(waitsMs, 0.99)} ms`],
  ['DynamoDB reads / writes', ({ dynamodb }) => `${shown(dynamodb.reads)}/${shown(dynamodb.writes)}`],
  ['Secrets Manager reads', ({ secretsManagerReads }) => shown(secretsManagerReads)],
  ['dollars per million tokens', (day) => ((1e6 * dollarsOf(day)) / Math.max(1, day.tokensIssued)).toFixed(2)],
  ['simulated hours', ({ elapsedMs }) => (elapsedMs / HOUR_MS).toFixed(1)],
];

/**
 * The most token requests that a fleet with a shared table may make on a whole day: one for each soft window, 1 % above that,
 * and those of checks. First tokens and repeats have to fit in.
 */
export function goalOf({ scale, elapsedMs, published, untilRefreshMs, tokenRequests }: Simulated): number {
  return Math.floor((1.01 * scale.pairs * elapsedMs * published) / untilRefreshMs + tokenRequests.ofChecks);
}

function dollarsOf({ billedMs, function: { invocations }, dynamodb, secretsManagerReads }: Simulated): number {
  const prices = costOf({ billedMs, invocations, ...dynamodb, secretReads: secretsManagerReads });
  return Object.values(prices).reduce((sum, price) => sum + price);
}

function quantile(milliseconds: readonly number[], share: number): string {
  const sorted = Float64Array.from(milliseconds).sort();
  return shown(Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0));
}

function percent(share: number): string {
  return (100 * share).toFixed(2);
}

/** Writes a number with its thousands apart. */
function shown(value: number): string {
  return value.toLocaleString('en').replaceAll(',', ' ');
}
