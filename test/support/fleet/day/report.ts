import type { Goal, Outcome } from './outcome.ts';
import type { Way } from './world.ts';

/** The results of all ways side by side, as text. */
export function reportOf(outcomes: readonly Outcome[]): string {
  const columns = [
    aligned('padEnd', ['', ...ROWS.map(([name]) => name)]),
    ...outcomes.map((outcome) =>
      aligned('padStart', [WAY_NAMES[outcome.way], ...ROWS.map(([, cell]) => cell(outcome))]),
    ),
  ];
  const lines = columns[0]?.map((_, row) => columns.map((column) => column[row]).join('  ')) ?? [];
  const goals = outcomes.flatMap(({ goal }) => (goal === undefined ? [] : ['', explain(goal)]));
  return [...lines, ...goals].join('\n');
}

function aligned(pad: 'padStart' | 'padEnd', cells: readonly string[]): readonly string[] {
  const width = Math.max(...cells.map(({ length }) => length));
  return cells.map((cell) => cell[pad](width));
}

export const WAY_NAMES: Readonly<Record<Way, string>> = {
  broker: 'broker',
  'memory-only': 'memory only',
  'no-broker': 'no broker',
};

type Row = readonly [name: string, cell: (outcome: Outcome) => string];

const ROWS: readonly Row[] = [
  ['simulated hours', ({ simulatedHours }) => `${simulatedHours}`],
  ['tokens that callers got', ({ tokensIssued }) => grouped(tokensIssued)],
  ['problems instead', ({ problems }) => grouped(problems.all)],
  ['  to callers without a living token', ({ problems }) => grouped(problems.toCallersWithoutToken)],
  ['wait for a token, p50', ({ waitMs }) => `${grouped(waitMs.p50)} ms`],
  ['  p99', ({ waitMs }) => `${grouped(waitMs.p99)} ms`],
  ['  longest', ({ waitMs }) => `${grouped(waitMs.max)} ms`],
  ['token requests', ({ tokenRequests }) => grouped(tokenRequests.all)],
  ['  of checks', ({ tokenRequests }) => grouped(tokenRequests.ofChecks)],
  ['  attempts that failed', ({ tokenRequests }) => grouped(tokenRequests.failedAttempts)],
  ['  rejected credentials', ({ tokenRequests }) => grouped(tokenRequests.rejected)],
  ['  needless', ({ way, tokenRequests }) => (way === 'broker' ? grouped(tokenRequests.needless) : '-')],
  ['DynamoDB reads', ({ dynamodb }) => grouped(dynamodb.reads)],
  ['DynamoDB writes', ({ dynamodb }) => grouped(dynamodb.writes)],
  ['Secrets Manager reads', ({ secretsManagerReads }) => grouped(secretsManagerReads)],
  ['invocations', (outcome) => grouped(outcome.function.invocations)],
  ['  of checks', (outcome) => grouped(outcome.function.checks)],
  ['  answered from memory', (outcome) => grouped(outcome.function.memoryHits)],
  ['  cold starts', (outcome) => grouped(outcome.function.coldStarts)],
  ['  throttled', (outcome) => grouped(outcome.function.throttled)],
  ['  crashed', (outcome) => grouped(outcome.function.crashes)],
  ['dollars per million tokens', ({ dollarsPerMillion }) => dollarsPerMillion.all.toFixed(2)],
  ['  Lambda', ({ dollarsPerMillion }) => dollarsPerMillion.lambda.toFixed(2)],
  ['  DynamoDB', ({ dollarsPerMillion }) => dollarsPerMillion.dynamodb.toFixed(2)],
  ['  Secrets Manager and KMS', ({ dollarsPerMillion }) => dollarsPerMillion.secretsManager.toFixed(2)],
  ['  logs', ({ dollarsPerMillion }) => dollarsPerMillion.logs.toFixed(2)],
];

/** The goal in two lines: its limit, and the fleet's distance from it. */
function explain({ tokenRequests, atMost, met }: Goal): string {
  const share = Math.abs(1 - tokenRequests / atMost) * 100;
  return (
    'Goal: token requests ≤ 1.01 × pairs × elapsed ÷ mean time from issue to refresh + checks\n' +
    `      ${grouped(tokenRequests)} of at most ${grouped(atMost)}: ` +
    `${met ? 'met' : 'MISSED'}, ${share.toFixed(1)} % ${met ? 'below' : 'above'}`
  );
}

/** A whole number that a person can read. */
export function grouped(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 0 }).replaceAll(',', ' ');
}
