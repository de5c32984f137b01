import { isRecord } from './members.ts';

/** What a JWT says of its own life; epoch milliseconds. */
export interface JwtTimes {
  readonly issuedAt: number | undefined;
  readonly expiresAt: number | undefined;
}

/**
 * The `iat` and `exp` of a signed JWT, undefined when the text is none. The signature is not verified: the token came
 * straight from its service, and the times only ever shorten what the broker does with it.
 *
 * @see RFC 7519 §4.1, RFC 7515 §7.1
 */
export function readJwtTimes(text: string): JwtTimes | undefined {
  const parts = text.split('.', 4);
  if (parts.length !== 3) return undefined;
  const [header, claims] = parts.slice(0, 2).map(decodeMembers);
  if (typeof header?.alg !== 'string' || claims === undefined) return undefined;
  return { issuedAt: numericDateMs(claims.iat), expiresAt: numericDateMs(claims.exp) };
}

function decodeMembers(base64url: string): Readonly<Record<string, unknown>> | undefined {
  try {
    // One character per byte instead of UTF-8: the numbers and names that are looked for are the same.
    const decoded: unknown = JSON.parse(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')));
    return isRecord(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 7519 says seconds; issuers that write milliseconds exist, and as seconds those would never expire. */
function numericDateMs(claim: unknown): number | undefined {
  if (typeof claim !== 'number' || !Number.isFinite(claim)) return undefined;
  return claim >= FIRST_MILLISECONDS ? claim : claim * 1_000;
}

/** As seconds this lies in the year 33 658, as milliseconds in 2001. */
const FIRST_MILLISECONDS = 1e12;
