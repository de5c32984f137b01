import type { Request } from './iam.ts';

/** What a role may request of a stack's resources: ARNs of them, and of what they must be kept apart from. */
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
  /** What the URL of the release check runs. */
  readonly next: string;
  readonly deploymentGroup: string;
  readonly functions: Readonly<Record<'token' | 'health' | 'releaseCheck', string>>;
  readonly probe: string;
  readonly roles: readonly string[];
  /** The log group of the requesting role, and another one. */
  readonly ownLog: string;
  readonly otherLog: string;
}

export type Asked = Omit<Request, 'requester'>;
