/**
 * A failure that a caller sees (RFC 9457). Everything else that is thrown is a bug and stays opaque.
 *
 * `detail` is for the caller and never holds a secret, a token or a value of a service's answer; `cause` is for the log.
 */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly type: ProblemType;
  readonly detail: string;
  /** Whole seconds after which trying again makes sense. */
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

export type ProblemType = keyof typeof PROBLEMS;

export interface ProblemOptions {
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

interface ProblemDefinition {
  readonly status: number;
  /** Whether the same request may succeed later without anybody acting. */
  readonly retryable: boolean;
  readonly title: string;
}

/** 403: the caller was refused. 424: an operator must act. 5xx: transient. HTTP clients repeat 5xx by themselves. */
export const PROBLEMS = {
  'invalid-request': { status: 400, retryable: false, title: 'The request is not well-formed' },
  'access-denied': { status: 403, retryable: false, title: 'The caller may not act for this client on this service' },
  'not-found': { status: 404, retryable: false, title: 'There is nothing at this path' },
  'method-not-allowed': { status: 405, retryable: false, title: 'This path takes only POST' },
  'content-too-large': { status: 413, retryable: false, title: 'The request body is too large' },
  'unsupported-media-type': { status: 415, retryable: false, title: 'The content type is not supported' },
  'credential-missing': { status: 424, retryable: false, title: 'There is no credential for this client' },
  'credential-malformed': { status: 424, retryable: false, title: 'The stored credential cannot be used' },
  'credential-rejected': { status: 424, retryable: false, title: 'The service rejected the client credential' },
  'token-response-unusable': { status: 424, retryable: false, title: 'The answer of the token endpoint is unusable' },
  'token-endpoint-error': { status: 424, retryable: false, title: 'The token endpoint refused the token request' },
  'token-endpoint-unavailable': { status: 503, retryable: true, title: 'The token endpoint is unavailable' },
  'refused-again': { status: 503, retryable: true, title: 'The successor of a refused token was refused too soon' },
  'token-endpoint-timeout': { status: 504, retryable: true, title: 'The token endpoint did not answer in time' },
  'secrets-unavailable': { status: 503, retryable: true, title: 'The credential cannot be read at the moment' },
  internal: { status: 500, retryable: true, title: 'The broker failed' },
} as const satisfies Record<string, ProblemDefinition>;
