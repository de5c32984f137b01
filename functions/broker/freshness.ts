/** What is known of a token's life. All times are epoch milliseconds. */
export interface TokenLife {
  readonly expiresAt: number;
  /** The longest life time seen for the pair: the same token handed out again with a shrinking one must not shrink it. */
  readonly lifetimeSeenMs: number;
}

/** Tokens this close to their end are never issued, so no caller receives one that is about to lapse. */
export function hardMarginMs(lifetimeMs: number): number {
  return Math.min(MAX_HARD_MARGIN_MS, lifetimeMs * HARD_MARGIN_SHARE);
}

/** Whether a caller may still receive the token. */
export function isIssuable({ expiresAt, lifetimeSeenMs }: TokenLife, now: number): boolean {
  return expiresAt - now > hardMarginMs(lifetimeSeenMs);
}

/** Whether the caller wants a longer life than this token has left, and a new token can be expected to have it. */
export function isBelowMinTtl({ expiresAt, lifetimeSeenMs }: TokenLife, minTtlMs: number, now: number): boolean {
  return expiresAt - now < minTtlMs && minTtlMs <= lifetimeSeenMs;
}

const MAX_HARD_MARGIN_MS = 30_000;
const HARD_MARGIN_SHARE = 0.2;
