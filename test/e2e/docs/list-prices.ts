import { type Cost, costOf } from '../../../bench/fleet/cost.ts';
import { newTally } from '../../../bench/fleet/tally.ts';

/** The tables of `docs/scale.md`: a test compares them, so that no number in them is written from memory. */
export function priceTables(): { readonly perMillion: string; readonly perMonth: string } {
  return { perMillion: perMillionTable(), perMonth: perMonthTable() };
}

interface Call {
  readonly what: string;
  readonly billedMs: number;
  readonly reads?: number;
  readonly writes?: number;
  readonly secretReads?: number;
}

/** How a call can be answered. The milliseconds are those of the simulation: 5 for the table, 15 for a secret, 150 for a service. */
const CALLS = {
  memory: { what: 'from memory', billedMs: 2 },
  table: { what: 'from the table', billedMs: 8, reads: 1 },
  request: { what: 'by a token request', billedMs: 190, reads: 1, writes: 2, secretReads: 1 },
} as const satisfies Readonly<Record<string, Call>>;

const MILLION = 1_000_000;

function costOfMillion({ what: _, ...each }: Call): Cost {
  const all = Object.fromEntries(Object.entries(each).map(([name, count]) => [name, count * MILLION]));
  return costOf({ ...newTally(), ...all, invocations: MILLION });
}

function total({ lambda, dynamodb, secretsManager, logs }: Cost): number {
  return lambda + dynamodb + secretsManager + logs;
}

function perMillionTable(): string {
  const rows = Object.values(CALLS).map((call) => {
    const cost = costOfMillion(call);
    const parts = [cost.lambda, cost.dynamodb, cost.secretsManager, cost.logs, total(cost)];
    return [`${call.what} (${call.billedMs} ms)`, ...parts.map(dollars)];
  });
  return table(['a million calls answered', 'Lambda', 'DynamoDB', 'Secrets Manager, KMS', 'logs', 'all'], rows);
}

const CLIENTS = 1_000;
const SERVICES = 2;
const HOURS_OF_MONTH = 30 * 24;
const ALARMS = 18;
/** Counted after a calm month of two services: each outcome that occurs adds a few. */
const METRICS = 29;

// List prices of us-east-1 in US dollars per month, read on 2026-11-21.

/** https://aws.amazon.com/secrets-manager/pricing */
const SECRET = 0.4;
/** https://aws.amazon.com/kms/pricing */
const KEY = 1;
/** https://aws.amazon.com/cloudwatch/pricing: a standard alarm, one of the first 10 000 metrics, a dashboard. */
const ALARM = 0.1;
const METRIC = 0.3;
const DASHBOARD = 3;

function perMonthTable(): string {
  const checks = CLIENTS * SERVICES * HOURS_OF_MONTH;
  const check = total(costOfMillion(CALLS.request)) / MILLION;
  return table(
    ['a month', 'arithmetic', 'costs'],
    [
      ['secrets of 1 000 clients', `1 000 × ${dollars(SECRET)}`, dollars(CLIENTS * SECRET)],
      [
        'their checks, hourly, on 2 services',
        `1 000 × 2 × ${HOURS_OF_MONTH} = ${grouped(checks)} calls by a token request`,
        dollars(checks * check),
      ],
      ['an environment: key and sealing key', `${dollars(KEY)} + ${dollars(SECRET)}`, dollars(KEY + SECRET)],
      [
        'an environment: alarms, metrics, dashboard',
        `${ALARMS} × ${dollars(ALARM)} + about ${METRICS} × ${dollars(METRIC)} + ${dollars(DASHBOARD)}`,
        dollars(ALARMS * ALARM + METRICS * METRIC + DASHBOARD),
      ],
    ],
  );
}

function dollars(amount: number): string {
  return `$${amount.toFixed(2)}`;
}

function grouped(number: number): string {
  return `${number}`.replace(/\B(?=(\d{3})+$)/g, ' ');
}

/** In Markdown, padded. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? '')].map((cell) => cell.length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
