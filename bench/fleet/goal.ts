/** The most token requests that a fleet may make, and whether it keeps to that. */
export interface Goal {
  readonly tokenRequests: number;
  readonly atMost: number;
  readonly met: boolean;
}

interface Counts {
  readonly pairs: number;
  readonly elapsedMs: number;
  readonly tokenRequests: number;
  readonly tokenRequestsOfChecks: number;
  readonly meanUntilRefreshMs: number;
}

/**
 * One token request each time that a token comes into its soft window, 1 % above that, and the requests of checks. The
 * first token of each pair, repeats after faults and the requests after rotations have to fit into this as well.
 */
export function goalOf({ pairs, elapsedMs, tokenRequests, tokenRequestsOfChecks, meanUntilRefreshMs }: Counts): Goal {
  const atMost = Math.floor((ALLOWANCE * pairs * elapsedMs) / meanUntilRefreshMs + tokenRequestsOfChecks);
  return { tokenRequests, atMost, met: tokenRequests <= atMost };
}

const ALLOWANCE = 1.01;
