import { PROBLEM_ADVICE, type ProblemType } from '../functions/vocabulary.ts';
import type { Caller } from './caller.ts';

/** Every failure of the client. Contains no token and no credential, and of an answer only its problem. */
export class TokenBrokerError extends Error {
  override readonly name = 'TokenBrokerError';
  /** The type of the broker's problem, or a `FailureType` when the broker did not answer. */
  readonly type: ProblemType | FailureType | (string & Record<never, never>);
  /** `message` without the type at its start. */
  readonly detail: string;
  readonly status: number | undefined;
  /** Whether the same request may succeed later without human action. */
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | undefined;
  /** Advice for a person. Absent for a problem that this version of the client does not know. */
  readonly advice: string | undefined;
  readonly problem: BrokerProblem | undefined;
  /** The signing role and its access rules, after `access-denied`. Absent when the broker could not report them. */
  readonly caller: Caller | undefined;

  constructor(type: string, detail: string, facts: Pick<TokenBrokerError, 'retryable'> & Facts) {
    super(`${type}: ${detail}`, { cause: facts.cause });
    this.type = type;
    this.detail = detail;
    this.status = facts.status;
    this.retryable = facts.retryable;
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.advice = facts.advice ?? ADVICE.get(type);
    this.problem = facts.problem;
    this.caller = facts.caller;
  }
}

const ADVICE: ReadonlyMap<string, string> = new Map(Object.entries(PROBLEM_ADVICE));

type Facts = Partial<Omit<TokenBrokerError, 'name' | 'message' | 'type' | 'detail'>>;

/** A problem (RFC 9457) as the broker sent it. Members that this version does not know are kept. */
export interface BrokerProblem {
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly request_id?: string | undefined;
  readonly [member: string]: unknown;
}

/** Returns whether the broker answered with a problem of this type. */
export function isProblem(error: unknown, type: ProblemType): error is TokenBrokerError {
  return error instanceof TokenBrokerError && error.type === type;
}

/** Creates the error for a failure of `FAILURES`. `more` ends its sentence and must not quote a peer. */
export function failure(type: FailureType, more = '', facts: Facts = {}): TokenBrokerError {
  const { retryable, detail, advice } = FAILURES[type];
  const text = more === '' ? detail : `${detail}: ${more}`;
  return new TokenBrokerError(type, text, { ...facts, retryable, advice: facts.advice ?? advice });
}

/** Returns the advice for a connection that failed with a code of Node, if a setting of Node is a likely cause. */
export function networkAdvice(code: string | undefined, { protocol }: URL): string | undefined {
  const { HTTPS_PROXY, https_proxy: httpsProxy, NODE_USE_ENV_PROXY: isUsed, NODE_OPTIONS = '' } = process.env;
  if (code === undefined || protocol !== 'https:') return undefined;
  if (/SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/.test(code)) {
    return 'Let Node trust the root certificate of your company: NODE_EXTRA_CA_CERTS=<file.pem>.';
  }
  const isIgnored = isUsed !== '1' && !`${process.execArgv} ${NODE_OPTIONS}`.includes('--use-env-proxy');
  if ((HTTPS_PROXY || httpsProxy) && isIgnored && /^E(CONN|NOTFOUND|AI_|TIMEDOUT|.*UNREACH)|CONNECT/.test(code)) {
    return 'HTTPS_PROXY is set, but Node ignores it without NODE_USE_ENV_PROXY=1 (22.21, 24.5 or newer). Set NO_PROXY=127.0.0.1,localhost, too.';
  }
  const isOfProxy = /^(UND_ERR_ABORTED|ERR_PROXY_TUNNEL)$/.test(code);
  if (isOfProxy) return 'The proxy refuses this host: allow it there, or put the log-in of the proxy into HTTPS_PROXY.';
  if (code !== 'ETIMEDOUT') return undefined;
  return 'Node tries each address for 250 ms: NODE_OPTIONS=--network-family-autoselection-attempt-timeout=2000 allows more.';
}

/**
 * Returns the facts of an engine's error in an error of the client: `name`, `code` and `host`. The messages of engines
 * may quote headers.
 */
export function safeCause(error: unknown, host?: string): Error & { readonly code?: string; readonly host?: string } {
  const inner = (outer: unknown) => (outer instanceof Error && outer.cause instanceof Error ? outer.cause : outer);
  // `fetch` names the refusal of a proxy as the cause of a cause.
  const cause = inner(inner(error));
  const word = (text: unknown) => (typeof text === 'string' && /^\w{1,64}$/.test(text) ? text : undefined);
  const name = word(Object(cause).name) ?? 'Error';
  const code = word(Object(cause).code);
  return Object.assign(new Error(code ?? name), { name, ...(code && { code }), ...(host && { host }) });
}

export type FailureType = keyof typeof FAILURES;

const lasting = (detail: string, advice: string) => ({ retryable: false, detail, advice });
const passing = (detail: string, advice: string) => ({ retryable: true, detail, advice });

/** The failures that are not problems of the broker. The failures `aws-…` come from AWS in front of it. */
export const FAILURES = {
  'aws-forbidden': lasting(
    'AWS does not let this identity call the Function URL',
    'Attach the policy that the command `policy` prints to the role, and have an access rule for it deployed.',
  ),
  'aws-signature-mismatch': lasting(
    'AWS calculated another signature than the request carries',
    'Check that the secret access key belongs to the access key id, without stray spaces, and that no proxy changes the request.',
  ),
  'aws-signature-expired': lasting(
    "AWS finds the signature too old: this machine's clock is behind",
    'Set the clock of this machine forward (`timedatectl` shows its state).',
  ),
  'aws-signature-not-yet-current': lasting(
    "AWS finds the signature in the future: this machine's clock is ahead",
    'Set the clock of this machine back (`timedatectl` shows its state).',
  ),
  'aws-security-token-invalid': lasting(
    'AWS does not know these AWS credentials',
    'Use keys that belong together, in an opt-in region those of its own STS endpoint (AWS_STS_REGIONAL_ENDPOINTS=regional).',
  ),
  'aws-security-token-expired': lasting(
    'The temporary AWS credentials have expired',
    'Sign in again (`aws sso login`): the next call reads the new keys. Fixed keys of `credentials` stay: pass a function, or omit it.',
  ),
  'aws-wrong-scope': lasting('It was signed for another region or AWS service', 'Correct the `region`, or omit it.'),
  'aws-refused': lasting(
    'AWS refused the request for a reason that the client does not know',
    'Check the URL, the region and the AWS identity (`aws sts get-caller-identity`).',
  ),
  'aws-throttled': passing('AWS throttled the request: too many at the same time', 'Try again, more slowly.'),
  'aws-function-failed': passing(
    'AWS got no answer from the function behind the Function URL',
    'Try again; if it lasts, read the log of the function.',
  ),
  'aws-function-timeout': passing(
    'The function behind the Function URL did not answer AWS in time',
    'Try again; if it lasts, read in the log of the function what it waits for.',
  ),
  'aws-credentials-unavailable': lasting(
    'There are no usable AWS credentials to sign with',
    'Attach a role, sign in (`aws sso login`), or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
  ),
  'aws-sdk-missing': lasting(
    'A module that finds AWS credentials is not installed',
    'Install `@aws-sdk/credential-provider-node`, bundle it too, or pass `credentials`.',
  ),
  'unexpected-answer': lasting(
    'The answer does not come from a broker',
    'Check that the URL is the Function URL of a broker, and that no proxy answers instead.',
  ),
  'network-error': passing('There was no answer', 'Try again; if it lasts, check the URL, the network and the proxy.'),
  timeout: passing('There was no answer in time', 'Try again, or allow more time.'),
  'signal-timeout': passing('The time limit of the signal passed', 'Try again, or allow more time.'),
  aborted: lasting('The caller stopped waiting', 'Call again if the token is still needed.'),
} as const;
