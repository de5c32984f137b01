import { HOUR_MS } from '../../example.ts';
import { type Cost, costOf } from './cost.ts';
import type { Course, Scale, Way } from './world.ts';

/** The most token requests that a fleet may make, and whether it keeps to that. */
export interface Goal {
  readonly tokenRequests: number;
  readonly atMost: number;
  readonly met: boolean;
}

/** The result of one simulation. */
export interface Outcome {
  readonly way: Way;
  readonly scale: Scale;
  readonly simulatedHours: number;
  readonly tokensIssued: number;
  readonly problems: { readonly all: number; readonly toCallersWithoutToken: number };
  readonly waitMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly tokenRequests: {
    readonly all: number;
    readonly ofChecks: number;
    readonly failedAttempts: number;
    readonly rejected: number;
    readonly needless: number;
  };
  readonly dynamodb: { readonly reads: number; readonly writes: number };
  readonly secretsManagerReads: number;
  readonly function: {
    readonly invocations: number;
    readonly checks: number;
    readonly memoryHits: number;
    readonly coldStarts: number;
    readonly throttled: number;
    readonly crashes: number;
  };
  /** For a million tokens issued. */
  readonly dollarsPerMillion: Cost & { readonly all: number };
  /** Only where there is a shared table, which knows when a token is due. */
  readonly goal?: Goal | undefined;
}

/** Turns the counts of a simulation into the numbers that the report compares. */
export function outcomeOf(way: Way, scale: Scale, { tally, elapsedMs }: Course): Outcome {
  const { tokenRequests, tokenRequestsOfChecks, published } = tally;
  const waits = Float64Array.from(tally.waitsMs).sort();
  // One for each soft window, 1 % above that, and those of checks; first tokens, repeats and rotations have to fit in.
  const windows = (scale.pairs * elapsedMs * published) / tally.untilRefreshMs;
  const atMost = Math.floor(1.01 * windows + tokenRequestsOfChecks);
  return {
    way,
    scale,
    simulatedHours: rounded(elapsedMs / HOUR_MS),
    tokensIssued: tally.issued,
    problems: { all: tally.problems, toCallersWithoutToken: tally.stranded },
    waitMs: { p50: quantile(waits, 0.5), p99: quantile(waits, 0.99), max: quantile(waits, 1) },
    tokenRequests: {
      all: tokenRequests,
      ofChecks: tokenRequestsOfChecks,
      failedAttempts: tally.failedAttempts,
      rejected: tally.rejectedTokenRequests,
      needless: tally.needlessTokenRequests,
    },
    dynamodb: { reads: tally.reads, writes: tally.writes },
    secretsManagerReads: tally.secretReads,
    function: {
      invocations: tally.invocations,
      checks: tally.checks,
      memoryHits: tally.memoryHits,
      coldStarts: tally.coldStarts,
      throttled: tally.throttled,
      crashes: tally.crashes,
    },
    dollarsPerMillion: perMillion(costOf(tally), tally.issued),
    goal: published === 0 ? undefined : { tokenRequests, atMost, met: tokenRequests <= atMost },
  };
}

function perMillion(cost: Cost, issued: number): Cost & { readonly all: number } {
  const share = (dollars: number) => rounded((dollars / Math.max(1, issued)) * 1e6);
  const { lambda, dynamodb, secretsManager, logs } = cost;
  return {
    lambda: share(lambda),
    dynamodb: share(dynamodb),
    secretsManager: share(secretsManager),
    logs: share(logs),
    all: share(lambda + dynamodb + secretsManager + logs),
  };
}

/** The smallest value that at least this share of all values does not exceed. */
function quantile(sorted: Float64Array, share: number): number {
  return rounded(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0);
}

function rounded(value: number): number {
  return Number(value.toFixed(2));
}
