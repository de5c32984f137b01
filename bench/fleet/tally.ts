/** The counters of a running simulation. */
export interface Tally {
  /** Answers that callers got. */
  issued: number;
  problems: number;
  /** A caller got a problem and had no living token of its own. */
  stranded: number;
  /** From the moment that a caller needed a token until it had one, in milliseconds. */
  readonly waitsMs: number[];
  /** Tokens that the broker issued without asking anybody. */
  memoryHits: number;

  tokenRequests: number;
  /** Those of the health function. */
  tokenRequestsOfChecks: number;
  failedAttempts: number;
  rejectedTokenRequests: number;
  /** Not of a check, and sent although the pair had a fresh token of its current secret or a request on its way. */
  needlessTokenRequests: number;

  /** Tokens in the shared table, and the sum of their times from the issue to the soft window. */
  published: number;
  untilRefreshMs: number;

  reads: number;
  writes: number;
  secretReads: number;

  checks: number;
  invocations: number;
  coldStarts: number;
  throttled: number;
  crashes: number;
  billedMs: number;
}

export function newTally(): Tally {
  return {
    issued: 0,
    problems: 0,
    stranded: 0,
    waitsMs: [],
    memoryHits: 0,
    tokenRequests: 0,
    tokenRequestsOfChecks: 0,
    failedAttempts: 0,
    rejectedTokenRequests: 0,
    needlessTokenRequests: 0,
    published: 0,
    untilRefreshMs: 0,
    reads: 0,
    writes: 0,
    secretReads: 0,
    checks: 0,
    invocations: 0,
    coldStarts: 0,
    throttled: 0,
    crashes: 0,
    billedMs: 0,
  };
}
