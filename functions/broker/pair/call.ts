import type { Trace } from '../audit.ts';
import type { IssueRequest } from '../http/request.ts';
import type { Service } from '../service.ts';
import type { Pair } from './pair.ts';

/** One call of one caller that concerns a pair. */
export interface Call {
  readonly pair: Pair;
  readonly service: Service;
  /** Epoch milliseconds, like all times. */
  readonly startedAt: number;
  readonly deadline: number;
  /** Unique: signs the leases that this call takes. */
  readonly owner: string;
  readonly trace: Trace;
}

/** A call on its way to a token. */
export interface IssueCall extends Call {
  readonly request: IssueRequest;
}
