import { type Finding, PROBLEMS, type ProblemType } from '../contract.ts';

/**
 * A failure that a caller sees (RFC 9457). Everything else that is thrown is a bug and stays opaque.
 *
 * `detail` is for the caller and never holds a secret, a token or a value of a service's answer; `cause` is for the log.
 */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly type: ProblemType;
  readonly detail: string;
  /** Whole seconds after which trying again makes sense, or until when the broker answers so without a token request. */
  readonly retryAfterSeconds: number | undefined;
  /** What the unusable answer of a service looked like: types and lengths, never a value. */
  readonly shape: ShapeReport | undefined;

  constructor(type: ProblemType, detail: string, options: ProblemOptions = {}) {
    super(`${type}: ${detail}`, { cause: options.cause });
    this.type = type;
    this.detail = detail;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.shape = options.shape;
  }
}

interface ProblemOptions {
  readonly retryAfterSeconds?: number | undefined;
  readonly shape?: ShapeReport | undefined;
  readonly cause?: unknown;
}

/** The form of a service's answer, told without any of its values. */
export interface ShapeReport {
  readonly status: number;
  /** The media type without parameters, `none` when the header is missing, `other` when it is not a well-known one. */
  readonly contentType: string;
  readonly bytes: number;
  /** One entry per member, in the order of the answer, at most 32; names that are not plain words are masked. */
  readonly members: readonly ShapeMember[];
}

export interface ShapeMember {
  /** Dotted path; `$` is the body itself. */
  readonly path: string;
  readonly type: 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array';
  /** Characters of a string, entries of an array, members of an object. */
  readonly length?: number | undefined;
}

/** What a failed token request says of the pair; `undefined` when the failure says nothing of the credential. */
export function findingOfProblem(type: ProblemType, shape: ShapeReport | undefined): Finding | undefined {
  const isThrottled = type === 'token-endpoint-unavailable' && shape?.status === 429;
  return isThrottled ? 'throttled' : PROBLEMS[type].finding;
}
