import { HOUR_MS } from '../../example.ts';
import { costOf } from './cost.ts';
import type { Course, Scale, Way } from './world.ts';

/** The result of one simulation. */
export type Outcome = ReturnType<typeof outcomeOf>;

/** Turns the counts of a simulation into the numbers that the report compares. */
export function outcomeOf(way: Way, scale: Scale, { tally, elapsedMs }: Course) {
  const { waitsMs, published, untilRefreshMs, billedMs, ...counts } = tally;
  const { tokensIssued, tokenRequests, dynamodb, secretsManagerReads: secretReads } = counts;
  const waits = Float64Array.from(waitsMs).sort();
  const quantile = (share: number) => rounded(waits[Math.max(0, Math.ceil(share * waits.length) - 1)] ?? 0);
  const { lambda, ...others } = costOf({ billedMs, ...counts.function, ...dynamodb, secretReads });
  const perMillion = (dollars: number) => rounded((dollars / Math.max(1, tokensIssued)) * 1e6);
  const cost = { lambda, ...others, all: Object.values(others).reduce((one, other) => one + other, lambda) };
  // One for each soft window, 1 % above that, and those of checks; first tokens, repeats and rotations have to fit in.
  const atMost = Math.floor((1.01 * scale.pairs * elapsedMs * published) / untilRefreshMs + tokenRequests.ofChecks);
  const met = tokenRequests.all <= atMost;
  return {
    way,
    scale,
    simulatedHours: rounded(elapsedMs / HOUR_MS),
    ...counts,
    waitMs: { p50: quantile(0.5), p99: quantile(0.99), max: quantile(1) },
    /** For a million tokens issued. */
    dollarsPerMillion: Object.fromEntries(Object.entries(cost).map(([of, dollars]) => [of, perMillion(dollars)])),
    /** The most token requests that a fleet may make; only where there is a shared table, which knows when a token is due. */
    goal: published === 0 ? undefined : { tokenRequests: tokenRequests.all, atMost, met },
  };
}

function rounded(value: number): number {
  return Number(value.toFixed(2));
}
