import { hardMarginMs } from '../../contract.ts';
import type { PairRecord, StoredToken, VisibleToken } from './record.ts';

type TokenLife = Pick<VisibleToken, 'expiresAt' | 'lifetimeSeenMs'>;

/** Whether a caller may still receive the token. */
export function isIssuable({ expiresAt, lifetimeSeenMs }: TokenLife, now: number): boolean {
  return expiresAt - now > hardMarginMs(lifetimeSeenMs);
}

/** The token that this instance may still issue. */
export function livingToken({ token }: Pick<PairRecord, 'token'>, now: number): StoredToken | undefined {
  return token?.accessToken !== undefined && isIssuable(token, now) ? token : undefined;
}

/**
 * When the soft window begins: the last fifth of the life time, at least twice the hard margin, moved by up to a tenth so
 * that pairs that started together do not stay together.
 */
export function refreshAt({ expiresAt, lifetimeSeenMs }: TokenLife, random: number): number {
  const window = Math.max(lifetimeSeenMs * WINDOW_SHARE, 2 * hardMarginMs(lifetimeSeenMs));
  return expiresAt - window * (1 + JITTER * (2 * random - 1));
}

const WINDOW_SHARE = 0.2;
const JITTER = 0.1;
