import type { Finding, ProblemType } from '../contract.ts';
import type { Caller, Operation } from './authorize.ts';
import type { Pair } from './pair/pair.ts';
import type { ExpirySource } from './token-response/expiry.ts';

/** One decision of the broker, denials too. Nothing in it is a secret, a token or a value of a service's answer. */
export interface AuditRecord {
  readonly requestId: string;
  /** Absent when the request did not get that far. */
  readonly operation?: Operation | 'whoami' | undefined;
  readonly outcome: 'issued' | 'identified' | Finding | ProblemType;
  readonly milliseconds: number;
  readonly caller?: Caller | undefined;
  readonly sourceIp?: string | undefined;
  /** As the caller asked for it; whether such a pair exists is what `outcome` tells. */
  readonly pair?: Pair | undefined;
  /** The caller refused a token of the pair. */
  readonly forced?: boolean | undefined;
  /** Whole seconds; absent when the caller asked for none. */
  readonly minTtl?: number | undefined;
  readonly cache?: CacheUse | undefined;
  readonly fingerprint?: string | undefined;
  readonly credentialVersion?: string | undefined;
  readonly expirySource?: ExpirySource | undefined;
  readonly trace: Trace;
  /** Why a problem happened, for the operator. */
  readonly cause?: unknown;
}

/** Where a token came from: this environment's memory, the shared cache, or a token request. */
export type CacheUse = 'memory' | 'shared' | 'none';

/** What happened on the way to one answer. */
export interface Trace {
  tokenRequests: number;
  readonly warnings: Set<Warning>;
}

/** What an audit line tells beside the outcome: an operator wants to count it although the caller got its answer. */
export type Warning =
  /** DynamoDB was down, slow or throttled: the environment went on by itself. */
  | 'shared-cache-unavailable'
  /** Secrets Manager is down: the last known version served. */
  | 'secret-stale'
  | 'rejected'
  /** The current version is latched: its predecessor served. */
  | 'previous-version'
  /** A member that repeats the credential was left out. */
  | 'credential-echoed'
  /** A refused token is all that the service hands out. */
  | 'same-token-again';

export function newTrace(): Trace {
  return { tokenRequests: 0, warnings: new Set() };
}

/** Writes one line; must not throw. */
export type Audit = (record: AuditRecord) => void;
