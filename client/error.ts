/**
 * Every failure of the client: a problem of the broker, a refusal by AWS, or no usable answer at all.
 *
 * No text of it holds a token or a credential: of an answer only a problem's own members are kept.
 */
export class TokenBrokerError extends Error {
  override readonly name = 'TokenBrokerError';
  /** The type of the broker's problem, or a `FailureType` when somebody else failed. */
  readonly type: string;
  /** What happened, without the type that `message` starts with. */
  readonly detail: string;
  /** The HTTP status, when there was an answer. */
  readonly status: number | undefined;
  /** Whether the same request may succeed later without anybody acting. */
  readonly retryable: boolean;
  /** Whole seconds after which trying again makes sense. */
  readonly retryAfterSeconds: number | undefined;
  /** What to do about it, when it is no problem of the broker: those say it in their detail. */
  readonly advice: string | undefined;
  /** What the broker answered, when the failure is one of its problems. */
  readonly problem: BrokerProblem | undefined;

  constructor(type: string, detail: string, options: TokenBrokerErrorOptions) {
    super(`${type}: ${detail}`, { cause: options.cause });
    this.type = type;
    this.detail = detail;
    this.status = options.status;
    this.retryable = options.retryable;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.advice = options.advice;
    this.problem = options.problem;
  }
}

export interface TokenBrokerErrorOptions {
  readonly retryable: boolean;
  readonly status?: number | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly advice?: string | undefined;
  readonly problem?: BrokerProblem | undefined;
  readonly cause?: unknown;
}

/** A problem (RFC 9457) as the broker sent it; members that this version does not know are kept. */
export interface BrokerProblem {
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly request_id?: string | undefined;
  readonly [member: string]: unknown;
}

/** The failures that are not problems of the broker. `aws-…` were answered by AWS before the broker saw the request. */
export const FAILURES = {
  'aws-forbidden': {
    retryable: false,
    detail: 'AWS does not let this identity call the Function URL',
    advice:
      'Allow lambda:InvokeFunctionUrl and lambda:InvokeFunction in the role, and have an access rule for it deployed.',
  },
  'aws-signature-mismatch': {
    retryable: false,
    detail: 'AWS calculated another signature than the request carries',
    advice: 'Check the secret access key, and that nothing changes the request on its way.',
  },
  'aws-signature-expired': {
    retryable: false,
    detail: 'AWS finds the signature too old: this clock is behind',
    advice: 'Set the clock of this machine forward.',
  },
  'aws-signature-not-yet-current': {
    retryable: false,
    detail: 'AWS finds the signature in the future: this clock is ahead',
    advice: 'Set the clock of this machine back.',
  },
  'aws-security-token-invalid': {
    retryable: false,
    detail: 'AWS does not know these AWS credentials',
    advice: 'Use an access key and a session token that were given out together.',
  },
  'aws-security-token-expired': {
    retryable: false,
    detail: 'The temporary AWS credentials have expired',
    advice: 'Renew them: give a function as `credentials`, or none, instead of fixed ones.',
  },
  'aws-wrong-scope': {
    retryable: false,
    detail: 'The request was signed for another region or AWS service',
    advice: 'Give the `region` of the Function URL, or none.',
  },
  'aws-refused': {
    retryable: false,
    detail: 'AWS refused the request for a reason that the client does not know',
    advice: 'Check the URL, the region and the AWS identity.',
  },
  'aws-throttled': {
    retryable: true,
    detail: 'AWS throttled the request: too many at the same time',
    advice: 'Try again in a moment; if it lasts, raise the concurrency of the function.',
  },
  'aws-function-failed': {
    retryable: true,
    detail: 'AWS got no answer from the function behind the Function URL',
    advice: 'Try again; if it lasts, read the log of the function.',
  },
  'aws-function-timeout': {
    retryable: true,
    detail: 'The function behind the Function URL did not answer AWS in time',
    advice: 'Try again; if it lasts, see in the log of the function what it waits for.',
  },
  'aws-credentials-unavailable': {
    retryable: false,
    detail: 'There are no usable AWS credentials to sign with',
    advice: 'Attach a role, or set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
  },
  'unexpected-answer': {
    retryable: false,
    detail: 'The answer is not one of the broker',
    advice: 'Check that the URL is the Function URL of a broker, and that no proxy answers instead.',
  },
  'network-error': {
    retryable: true,
    detail: 'There was no answer',
    advice: 'Try again; if it lasts, check the URL, the network and the proxy.',
  },
  timeout: {
    retryable: true,
    detail: 'There was no answer in time',
    advice: 'Try again, or allow more time.',
  },
  aborted: { retryable: false, detail: 'The caller gave up waiting', advice: 'Nothing has to be done.' },
} as const satisfies Record<string, { readonly retryable: boolean; readonly detail: string; readonly advice: string }>;

export type FailureType = keyof typeof FAILURES;

/** The error for a failure of `FAILURES`; `more` ends its sentence and must not quote what a peer sent. */
export function failure(
  type: FailureType,
  more = '',
  options: Omit<TokenBrokerErrorOptions, 'retryable' | 'advice'> = {},
) {
  const { retryable, detail, advice } = FAILURES[type];
  return new TokenBrokerError(type, more === '' ? detail : `${detail}: ${more}`, { ...options, retryable, advice });
}

/** Whether the broker stands by a token that it was told to be refused: its predecessor was replaced just before. */
export function isRefusedAgain(error: unknown): boolean {
  return error instanceof TokenBrokerError && error.type === 'refused-again';
}
