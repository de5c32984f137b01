import type { ExpirySource, Finding, ProblemType, Warning } from '../vocabulary.ts';
import type { Caller, Operation } from './authorize.ts';
import type { Pair } from './pair.ts';

/** One decision of the broker, or one denial. Contains no secret, no token and no value of a service's answer. */
export interface AuditRecord {
  readonly requestId: string;
  readonly operation?: Operation | 'whoami' | undefined;
  readonly outcome: 'issued' | 'identified' | Finding | ProblemType;
  readonly milliseconds: number;
  readonly caller?: Caller | undefined;
  /** The ARN of a signer that is not a role, and so no caller. */
  readonly signer?: string | undefined;
  readonly sourceIp?: string | undefined;
  readonly pair?: Pair | undefined;
  readonly forced?: boolean | undefined;
  /** Whole seconds. */
  readonly minTtl?: number | undefined;
  readonly cache?: CacheUse | undefined;
  readonly fingerprint?: string | undefined;
  readonly credentialVersion?: string | undefined;
  readonly credentialExpiry?: string | undefined;
  readonly expirySource?: ExpirySource | undefined;
  readonly trace: Trace;
  readonly cause?: unknown;
}

export type CacheUse = 'memory' | 'shared' | 'none';

export interface Trace {
  tokenRequests: number;
  readonly warnings: Set<Warning>;
}

export function newTrace(): Trace {
  return { tokenRequests: 0, warnings: new Set() };
}

/** Writes one line. Must not throw. */
export type Audit = (record: AuditRecord) => void;
