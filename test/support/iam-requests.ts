import type { Request } from './iam.ts';
import { keyRequests } from './iam-key-requests.ts';
import { computeRequests, otherRequests } from './iam-other-requests.ts';
import { secretRequests, tableRequests } from './iam-storage-requests.ts';

/** Requests by what they are for: those that the functions make, and those that somebody with their rights might try. */
export function requestsTo(targets: Targets): Readonly<Record<string, Asked>> {
  return {
    ...secretRequests(targets),
    ...tableRequests(targets),
    ...keyRequests(targets),
    ...computeRequests(targets),
    ...otherRequests(targets),
  };
}

/** What may be asked of a stack's resources, whoever asks: ARNs of them, and of what they must be kept apart from. */
export interface Targets {
  readonly account: string;
  readonly region: string;
  readonly environment: string;
  readonly key: string;
  readonly table: string;
  readonly sealingKey: string;
  readonly topic: string;
  readonly queue: string;
  /** What the URL runs. */
  readonly alias: string;
  readonly functions: Readonly<Record<'token' | 'health', string>>;
  readonly probe: string;
  readonly roles: readonly string[];
  /** The log group of whoever asks, and another one. */
  readonly ownLog: string;
  readonly otherLog: string;
}

export type Asked = Omit<Request, 'requester'>;
