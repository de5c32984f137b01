import type { ExpirySource, Finding, ProblemType } from '../contract.ts';
import type { Caller, Operation } from './authorize.ts';
import type { Pair } from './pair.ts';

/** One decision of the broker, denials too. Nothing in it is a secret, a token or a value of a service's answer. */
export interface AuditRecord {
  readonly requestId: string;
  readonly operation?: Operation | 'whoami' | undefined;
  readonly outcome: 'issued' | 'identified' | Finding | ProblemType;
  readonly milliseconds: number;
  readonly caller?: Caller | undefined;
  readonly sourceIp?: string | undefined;
  readonly pair?: Pair | undefined;
  readonly forced?: boolean | undefined;
  /** Whole seconds. */
  readonly minTtl?: number | undefined;
  readonly cache?: CacheUse | undefined;
  readonly fingerprint?: string | undefined;
  readonly credentialVersion?: string | undefined;
  readonly expirySource?: ExpirySource | undefined;
  readonly trace: Trace;
  readonly cause?: unknown;
}

export type CacheUse = 'memory' | 'shared' | 'none';

export interface Trace {
  tokenRequests: number;
  readonly warnings: Set<Warning>;
}

/** What an audit line tells beside the outcome: an operator wants to count it although the caller got its answer. */
export type Warning =
  /** DynamoDB was down, slow or throttled: the instance went on by itself. */
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
