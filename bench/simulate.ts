import { Command } from 'commander';
import { parseWhole } from '../client/commands/options.ts';
import { costOf } from '../test/support/prices.ts';
import { goalOf, type Scale, type Simulated, simulateDay, WAYS } from './day.ts';

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
  ['dollars per million tokens', (day) => ((1e6 * sumOf(costOf(day))) / Math.max(1, day.tokensIssued)).toFixed(2)],
];

/** `npm run simulate`: the table of docs/scale.md on stdout, progress on stderr. */
await new Command('simulate')
  .description('Simulates a fleet that runs the real rules of the broker, beside the same callers without it.')
  .option('--instances <n>', 'how many instances of the function there are', parseWhole('instances', 1, 10_000), 10_000)
  .option('--pairs <n>', 'how many pairs of client and service', parseWhole('pairs', 1, 10_000), 1_000)
  .option('--hours <n>', 'how long, in simulated hours', parseWhole('hours', 1, 24), 24)
  .option('--seed <n>', 'which course of events', parseWhole('numbers', 0, 99_999), 1)
  .action(run)
  .parseAsync();

async function run(scale: Scale): Promise<void> {
  const days: Simulated[] = [];
  const { hours, instances, pairs } = scale;
  for (const way of WAYS) {
    process.stderr.write(`Simulating ${hours} h of ${instances} instances and ${pairs} pairs: ${way}.\n`);
    days.push(await simulateDay(way, scale));
  }
  process.stdout.write(`${tableOf(days)}\n`);
}

/** Returns the table of docs/scale.md in Markdown: a column for each way. */
function tableOf(days: readonly Simulated[]): string {
  const rows = ROWS.map(([name, show]) => [name, ...days.map(show)]);
  const lines = [['', ...days.map(({ way }) => way)], ['---', ...days.map(() => '---')], ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function quantile(milliseconds: readonly number[], share: number): string {
  const sorted = Float64Array.from(milliseconds).sort();
  return shown(Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0));
}

/** Writes a number with its thousands apart. */
function shown(value: number): string {
  return value.toLocaleString('en').replaceAll(',', ' ');
}

function sumOf(prices: Readonly<Record<string, number>>): number {
  return Object.values(prices).reduce((sum, price) => sum + price);
}
