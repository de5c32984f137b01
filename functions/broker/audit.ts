import type { Caller } from './caller.ts';
import type { Pair } from './pair.ts';
import type { ProblemType } from './problem.ts';
import type { ExpirySource } from './token-response.ts';

/** One decision of the broker, denials too. Nothing in it is a secret, a token or a value of a service's answer. */
export interface AuditRecord {
  readonly requestId: string;
  readonly operation: 'token' | 'none';
  readonly outcome: 'issued' | ProblemType;
  readonly milliseconds: number;
  readonly caller?: Caller | undefined;
  /** As the caller asked for it; whether such a pair exists is what `outcome` tells. */
  readonly pair?: Pair | undefined;
  readonly cache?: CacheUse | undefined;
  readonly fingerprint?: string | undefined;
  readonly credentialVersion?: string | undefined;
  readonly expirySource?: ExpirySource | undefined;
  /** How many attempts the token request took; absent when none was made. */
  readonly tokenRequestAttempts?: number | undefined;
  /** Why a problem happened, for the operator. */
  readonly cause?: unknown;
}

/** Where the token came from: this environment's memory, or a token request. */
export type CacheUse = 'memory' | 'none';

/** Writes one line; must not throw. */
export type Audit = (record: AuditRecord) => void;
