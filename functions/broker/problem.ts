import { type Finding, PROBLEMS, type ProblemType } from '../vocabulary.ts';

/** A failure that a caller sees (RFC 9457). Any other error is a defect and stays opaque. `cause` is for the log. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly type: ProblemType;
  /** The text for the caller, without any secret, token or value of a service's answer. */
  readonly detail: string;
  /** Whole seconds until a retry may succeed. Until then the broker may repeat this answer without a token request. */
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

/** The form of a service's answer. Contains types and lengths, never a value. */
export interface ShapeReport {
  readonly status: number;
  /** The media type without parameters, `none` when the header is missing, `other` when it is not a well-known one. */
  readonly contentType: string;
  readonly bytes: number;
  /** One entry per member, in the order of the answer, at most 32. Names that are not plain words are masked. */
  readonly members: readonly ShapeMember[];
}

export interface ShapeMember {
  /** The dotted path, or `$` for the body itself. */
  readonly path: string;
  readonly type: 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array';
  /** Characters of a string, entries of an array, members of an object. */
  readonly length?: number | undefined;
}

/** Returns the finding of a failed token request. It is `unreachable` if it proves nothing about the credential. */
export function findingOfProblem({ type, shape }: Pick<Problem, 'type'> & Partial<Pick<Problem, 'shape'>>): Finding {
  // An available service that answers 4xx asked for a later request.
  const isThrottle = type === 'token-endpoint-unavailable' && shape !== undefined && shape.status < 500;
  return isThrottle ? 'throttled' : (PROBLEMS[type].finding ?? 'unreachable');
}

/** Returns the places of a defect: the last lines that are all stack frames. A message can look like a frame. */
export function framesOf({ stack = '', message }: Error): readonly string[] {
  const at = stack.indexOf(message);
  const lines = (at === -1 ? stack : stack.slice(at + message.length)).split('\n');
  const frames = lines.slice(lines.findLastIndex((line) => !FRAME.test(line)) + 1);
  return frames.slice(0, MAX_FRAMES).map((frame) => frame.trim());
}

const FRAME =
  /^ {4}at (?:async )?(?:[\w.<>[\] ]+ \()?(?:<anonymous>|index \d+|(?:file:\/\/|node:|\/)[\w./@:+-]+:\d+:\d+)\)?$/;
const MAX_FRAMES = 8;
