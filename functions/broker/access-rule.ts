import type { ClientName, ServiceName } from './pair/pair.ts';

/** Which role may act for which clients on which services. */
export interface AccessRule {
  /** `arn:aws:iam::<account>:role/<path/><name>`; matched on partition, account and role name. */
  readonly role: string;
  readonly clients: readonly ClientName[] | 'all';
  readonly services: readonly ServiceName[] | 'all';
  readonly operations: readonly Operation[];
}

export type Operation = 'token' | 'check';
