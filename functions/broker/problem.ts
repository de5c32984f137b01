import { type Finding, PROBLEMS, type ProblemType } from '../vocabulary.ts';

/** A failure that a caller sees (RFC 9457); all else that is thrown is a bug and stays opaque. `cause` is for the log. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly type: ProblemType;
  /** For the caller: never a secret, a token or a value of a service's answer. */
  readonly detail: string;
  /** Whole seconds until a retry makes sense, or while the broker repeats this answer without a token request. */
  readonly retryAfterSeconds: number | undefined;
  readonly shape: ShapeReport | undefined;

  constructor(
    type: ProblemType,
    detail: string,
    options: Partial<Pick<Problem, 'retryAfterSeconds' | 'shape' | 'cause'>> = {},
  ) {
    super(`${type}: ${detail}`, { cause: options.cause });
    this.type = type;
    this.detail = detail;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.shape = options.shape;
  }
}

/** The form of a service's answer: types and lengths, never a value. */
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

/** The finding that a failed token request proves; `undefined` when it says nothing of the credential. */
export function findingOfProblem(type: ProblemType, shape: ShapeReport | undefined): Finding | undefined {
  return type === 'token-endpoint-unavailable' && shape?.status === 429 ? 'throttled' : PROBLEMS[type].finding;
}
