import { hardMarginMs } from '../../contract.ts';
import type { StoredToken } from './record.ts';

type TokenLife = Pick<StoredToken, 'issuedAt' | 'expiresAt' | 'lifetimeSeenMs'>;

/** Whether a caller may still receive the token. When a token from a clock that is ahead really ends cannot be known. */
export function isIssuable({ issuedAt, expiresAt, lifetimeSeenMs }: TokenLife, now: number): boolean {
  return issuedAt - now <= MAX_CLOCK_DIFFERENCE_MS && expiresAt - now > hardMarginMs(lifetimeSeenMs);
}

/**
 * When the soft window begins: the last fifth of the life time, at least twice the hard margin, moved by up to a tenth so
 * that pairs that started together do not stay together.
 */
export function refreshAt({ expiresAt, lifetimeSeenMs }: Omit<TokenLife, 'issuedAt'>, random: number): number {
  const window = Math.max(lifetimeSeenMs * WINDOW_SHARE, 2 * hardMarginMs(lifetimeSeenMs));
  return expiresAt - window * (1 + JITTER * (2 * random - 1));
}

const MAX_CLOCK_DIFFERENCE_MS = 30_000;
const WINDOW_SHARE = 0.2;
const JITTER = 0.1;
