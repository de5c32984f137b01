import { unitMs } from './duration.ts';
import { plainName } from './members.ts';

/** How the number of a member that tells an expiry is meant. */
export interface ExpiryName {
  /** Whether it is a moment (`expires_at`) rather than a length of time (`expires_in`). */
  readonly isMoment: boolean;
  /** The unit that the name itself tells: `expiresInMs`. */
  readonly unitMs: number | undefined;
}

/**
 * What a member's name says of a token's expiry, undefined when it says nothing: `expires_in`, `ttl`, `validFor`,
 * `expires_at`, `validUntil`, `exp` …, in all spellings, also with the token's name before (`accessTokenExpiresAt`) or a
 * unit behind (`expiresInMs`). `refresh_expires_in` and `ext_expires_in` are of other tokens and other times.
 */
export function expiryNameOf(name: string): ExpiryName | undefined {
  const bare = plainName(name).replace(TOKEN_PREFIX, '');
  if (LENGTHS.has(bare)) return { isMoment: false, unitMs: undefined };
  if (MOMENTS.has(bare)) return { isMoment: true, unitMs: undefined };
  const [, stem = '', unit = ''] = UNIT_SUFFIX.exec(bare) ?? [];
  return LENGTHS.has(stem) || MOMENTS.has(stem) ? { isMoment: MOMENTS.has(stem), unitMs: unitMs(unit) } : undefined;
}

/**
 * The same for a response header: `expires-in`, `x-expires-at`, and what names the token (`x-token-expiry`,
 * `x-auth-token-ttl`). `expires` and `cache-control` say how long a cache may keep the answer (RFC 9111 §5), not how
 * long the token lives.
 */
export function expiryHeaderOf(header: string): ExpiryName | undefined {
  const name = plainName(header).replace(/^x/, '');
  return name === 'expiresin' || name === 'expiresat' || TOKEN_PREFIX.test(name) ? expiryNameOf(name) : undefined;
}

const TOKEN_PREFIX = /^(?:(?:access|api|auth|bearer|security|session)?token|access|auth|jwt|session)/;
const UNIT_SUFFIX = /^(.+?)(?:in)?(ms|millis|milliseconds|secs?|seconds|mins?|minutes|hours|days)$/;

const LENGTHS: ReadonlySet<string> = new Set([
  ...['expiresin', 'expirein', 'expiryin', 'expirationin', 'expiresafter', 'expireafter'],
  ...[
    'expires',
    'expire',
    'expiry',
    'expiration',
    'ttl',
    'timetolive',
    'validfor',
    'validityperiod',
    'lifetime',
    'lifespan',
    'maxage',
  ],
  ...['timetoexpire', 'secondstoexpire', 'secondstoexpiry', 'secondsuntilexpiry'],
]);

const MOMENTS: ReadonlySet<string> = new Set([
  ...['expiresat', 'expireat', 'expiryat', 'expireson', 'expireon', 'expirydate', 'expirationdate', 'expiredate'],
  ...['expiresdate', 'expirationtime', 'expirytime', 'expiretime', 'expirydatetime', 'expirationdatetime'],
  ...['expirytimestamp', 'expirationtimestamp', 'expiresutc', 'expirationutc', 'validuntil', 'validtill', 'validto'],
  ...['notafter', 'exp'],
]);
