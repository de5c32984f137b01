import type { Trace } from './audit.ts';
import type { IssueRequest } from './issue-request.ts';
import type { Pair } from './pair.ts';
import type { Service } from './service.ts';

/** One call of one caller on its way to a token. */
export interface Call {
  readonly pair: Pair;
  readonly service: Service;
  readonly request: IssueRequest;
  /** Epoch milliseconds, like all times. */
  readonly startedAt: number;
  readonly deadline: number;
  /** Unique: signs the leases that this call takes. */
  readonly owner: string;
  readonly trace: Trace;
}
