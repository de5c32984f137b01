import type { SecretStage } from '../credential/secret.ts';
import type { Finding, ProvenBy } from '../finding.ts';
import type { ProblemType, ShapeReport } from '../problem.ts';
import type { ExpirySource } from '../token-response/types.ts';

/** The body of a 200 of `POST /token`. */
export interface TokenAnswer extends LastingTokenAnswer {
  /** Whole seconds that are left. */
  readonly expires_in: number;
}

/** What stays the same as long as a token lives; further members are those that the service's settings pass through. */
export interface LastingTokenAnswer {
  readonly access_token: string;
  readonly token_type: string;
  /** RFC 3339, in UTC. */
  readonly expires_at: string;
  readonly expiry_source: ExpirySource;
  readonly fingerprint: string;
  readonly scope?: string | undefined;
  readonly [passedThrough: string]: unknown;
}

/** The body of a 200 of `POST /check`. */
export interface CheckAnswer {
  readonly client: string;
  readonly service: string;
  readonly stage: SecretStage;
  readonly finding: Finding;
  readonly version?: string | undefined;
  /** RFC 3339, in UTC. */
  readonly checked_at: string;
  readonly proven_by: ProvenBy;
  readonly expires_in?: number | undefined;
}

/** The body of every other answer (RFC 9457 §3). */
export interface ProblemAnswer {
  readonly type: ProblemType;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly retryable: boolean;
  readonly request_id: string;
  readonly response_shape?: ShapeReport | undefined;
}
