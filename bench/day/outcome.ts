import { tableText } from '../../cli/shared/table.ts';
import { HOUR_MS } from '../../test/support/example.ts';
import { costOf } from '../../test/support/prices.ts';
import type { Day } from './world.ts';

/** The result of one simulation. */
export type Outcome = ReturnType<typeof outcomeOf>;

/** Turns the counts of a simulation into the numbers that the report compares. */
export function outcomeOf({ way, scale, tally }: Day, elapsedMs: number) {
  const { waitsMs, published, untilRefreshMs, billedMs, slo, ...counts } = tally;
  const { tokensIssued, tokenRequests, dynamodb, secretsManagerReads: secretReads } = counts;
  const waits = Float64Array.from(waitsMs).sort();
  const quantile = (share: number) => rounded(waits[Math.max(0, Math.ceil(share * waits.length) - 1)] ?? 0);
  const { lambda, ...others } = costOf({ billedMs, ...counts.function, ...dynamodb, secretReads });
  const perMillion = (dollars: number) => rounded((dollars / Math.max(1, tokensIssued)) * 1e6);
  const cost = { lambda, ...others, all: Object.values(others).reduce((one, other) => one + other, lambda) };
  // One for each soft window, 1 % above that, and those of checks; first tokens and repeats have to fit in, on a whole day.
  const atMost = Math.floor((1.01 * scale.pairs * elapsedMs * published) / untilRefreshMs + tokenRequests.ofChecks);
  const met = tokenRequests.all <= atMost;
  return {
    way,
    scale,
    simulatedHours: rounded(elapsedMs / HOUR_MS),
    ...counts,
    /** The service level of the shipped prod, as its alarm counts the calls of the broker. */
    slo: slo.calls === 0 ? {} : { ...slo, answeredPercent: rounded(100 * (1 - slo.missed / slo.calls)) },
    waitMs: { p50: quantile(0.5), p99: quantile(0.99), max: quantile(1) },
    /** For a million tokens issued. */
    dollarsPerMillion: Object.fromEntries(Object.entries(cost).map(([of, dollars]) => [of, perMillion(dollars)])),
    /** The most token requests that a fleet may make; only where there is a shared table, which knows when a token is due. */
    goal: published === 0 ? undefined : { tokenRequests: tokenRequests.all, atMost, met },
  };
}

/** The numbers of all ways side by side, under their names, and the distance from the goal, which is one of a whole day. */
export function reportOf(outcomes: readonly Outcome[], isInterrupted: boolean): string {
  const columns = outcomes.map(({ way: _, scale: __, goal: ___, ...numbers }) => new Map(numbersIn(numbers)));
  const names = new Set(columns.flatMap((column) => [...column.keys()]));
  const rows = [...names].map((name) => [name, ...columns.map((column) => shown(column.get(name)).padStart(WIDTH))]);
  const goals = outcomes.flatMap(({ goal }) => (goal === undefined || isInterrupted ? [] : ['', explain(goal)]));
  return [tableText(['', ...outcomes.map(({ way }) => way.padStart(WIDTH))], rows).trimEnd(), ...goals].join('\n');
}

/** `{ waitMs: { p50: 5 } }` is `waitMs p50`, 5. */
function numbersIn(members: object): [name: string, value: number][] {
  return Object.entries(members).flatMap(([name, value]): [string, number][] =>
    typeof value === 'number' ? [[name, value]] : numbersIn(value).map(([inner, each]) => [`${name} ${inner}`, each]),
  );
}

function explain({ tokenRequests, atMost, met }: NonNullable<Outcome['goal']>): string {
  const share = Math.abs(1 - tokenRequests / atMost) * 100;
  return (
    'Goal: token requests ≤ 1.01 × pairs × elapsed ÷ mean time from issue to refresh + checks\n' +
    `      ${shown(tokenRequests)} of at most ${shown(atMost)}: ` +
    `${met ? 'met' : 'MISSED'}, ${share.toFixed(1)} % ${met ? 'below' : 'above'}`
  );
}

/** With its thousands apart. */
export function shown(value = 0): string {
  return value.toLocaleString('en').replaceAll(',', ' ');
}

function rounded(value: number): number {
  return Number(value.toFixed(2));
}

const WIDTH = 12;
