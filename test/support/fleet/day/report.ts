import { tableText } from '../../../../client/commands/output.ts';
import type { Outcome } from './outcome.ts';
import type { Way } from './world.ts';

/** The results of all ways side by side, as text, and the distance from the goal. */
export function reportOf(outcomes: readonly Outcome[]): string {
  const header = ['', ...outcomes.map(({ way }) => WAY_NAMES[way].padStart(WIDTH))];
  const rows = ROWS.map(([name, numberOf, format = shown]) => {
    const numbers = outcomes.map(numberOf);
    return [name, ...numbers.map((value) => (value === undefined ? '-' : format(value)).padStart(WIDTH))];
  });
  const goals = outcomes.flatMap(({ goal }) => (goal === undefined ? [] : ['', explain(goal)]));
  return [tableText(header, rows).trimEnd(), ...goals].join('\n');
}

export const WAY_NAMES: Readonly<Record<Way, string>> = {
  broker: 'broker',
  'memory-only': 'memory only',
  'no-broker': 'no broker',
};
const WIDTH = 12;

type Row = readonly [
  name: string,
  numberOf: (outcome: Outcome) => number | undefined,
  format?: (value: number) => string,
];
const milliseconds = (ms: number) => `${shown(Math.round(ms))} ms`;
const cents = (dollars: number) => dollars.toFixed(2);

const ROWS: readonly Row[] = [
  ['simulated hours', ({ simulatedHours }) => simulatedHours],
  ['tokens that callers got', ({ tokensIssued }) => tokensIssued],
  ['problems instead', ({ problems }) => problems.all],
  ['  to callers without a living token', ({ problems }) => problems.toCallersWithoutToken],
  ['wait for a token, p50', ({ waitMs }) => waitMs.p50, milliseconds],
  ['  p99', ({ waitMs }) => waitMs.p99, milliseconds],
  ['  longest', ({ waitMs }) => waitMs.max, milliseconds],
  ['token requests', ({ tokenRequests }) => tokenRequests.all],
  ['  of checks', ({ tokenRequests }) => tokenRequests.ofChecks],
  ['  attempts that failed', ({ tokenRequests }) => tokenRequests.failedAttempts],
  ['  rejected credentials', ({ tokenRequests }) => tokenRequests.rejected],
  ['  needless', ({ way, tokenRequests }) => (way === 'broker' ? tokenRequests.needless : undefined)],
  ['DynamoDB reads', ({ dynamodb }) => dynamodb.reads],
  ['DynamoDB writes', ({ dynamodb }) => dynamodb.writes],
  ['Secrets Manager reads', ({ secretsManagerReads }) => secretsManagerReads],
  ['invocations', (outcome) => outcome.function.invocations],
  ['  of checks', (outcome) => outcome.function.checks],
  ['  answered from memory', (outcome) => outcome.function.memoryHits],
  ['  cold starts', (outcome) => outcome.function.coldStarts],
  ['  throttled', (outcome) => outcome.function.throttled],
  ['  crashed', (outcome) => outcome.function.crashes],
  ['dollars per million tokens', ({ dollarsPerMillion }) => dollarsPerMillion.all, cents],
  ['  Lambda', ({ dollarsPerMillion }) => dollarsPerMillion.lambda, cents],
  ['  DynamoDB', ({ dollarsPerMillion }) => dollarsPerMillion.dynamodb, cents],
  ['  Secrets Manager and KMS', ({ dollarsPerMillion }) => dollarsPerMillion.secretsManager, cents],
  ['  logs', ({ dollarsPerMillion }) => dollarsPerMillion.logs, cents],
];

function explain({ tokenRequests, atMost, met }: NonNullable<Outcome['goal']>): string {
  const share = Math.abs(1 - tokenRequests / atMost) * 100;
  return (
    'Goal: token requests ≤ 1.01 × pairs × elapsed ÷ mean time from issue to refresh + checks\n' +
    `      ${shown(tokenRequests)} of at most ${shown(atMost)}: ` +
    `${met ? 'met' : 'MISSED'}, ${share.toFixed(1)} % ${met ? 'below' : 'above'}`
  );
}

/** A number that a person can read: the thousands apart, and two decimals where there are any. */
export function shown(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 2 }).replaceAll(',', ' ');
}
