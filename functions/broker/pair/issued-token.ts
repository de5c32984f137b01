import type { ServiceToken } from '../token-response/read.ts';

/** A token as a caller receives it. */
export interface IssuedToken extends ServiceToken {
  /** The first 16 hexadecimal digits of the token's SHA-256: names the token without giving it away. */
  readonly fingerprint: string;
  readonly credentialVersion: string;
  /** When the token request began; epoch milliseconds. */
  readonly issuedAt: number;
}
