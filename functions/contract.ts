/** What a client or service name looks like, so that it fits a secret's name, a table key and a log field unescaped. */
export const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Under which name a client's secret is stored; with an empty client the beginning that the names of all share. */
export function secretName(environment: string, client: string): string {
  return `token-broker/${environment}/${client}`;
}

/** The secret of the key that seals tokens, outside the clients' prefix: a right to their secrets gives none to it. */
export function sealingKeyName(environment: string): string {
  return `token-broker-keys/${environment}/sealing`;
}

/** A role as settings name it: partition, account and the name without its path (IAM User Guide, quotas). */
export const ROLE_ARN =
  /^arn:(aws|aws-cn|aws-us-gov):iam::(\d{12}):role\/(?:[!-~]{1,510}\/)?([A-Za-z0-9_+=,.@-]{1,64})$/;

/** A role as it arrives when it has signed: partition, account, the name without its path, and the session. */
export const ASSUMED_ROLE_ARN =
  /^arn:(aws|aws-cn|aws-us-gov):sts::(\d{12}):assumed-role\/([A-Za-z0-9_+=,.@-]{1,64})\/([A-Za-z0-9_+=,.@-]{1,64})$/;

/** Which version of a secret: the one in use, the one being tried before it is promoted, or the predecessor. */
export type SecretStage = (typeof SECRET_STAGES)[number];

export const SECRET_STAGES = ['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'] as const;

/** What a check says of a pair. */
export type Finding = (typeof FINDINGS)[number];

export const FINDINGS = [
  'accepted',
  'rejected',
  /** The service asks for patience. */
  'throttled',
  'unreachable',
  /** The service answers, but not with a token: a wrong path, host, parameter or response setting. */
  'misconfigured',
  'secret-missing',
  'secret-malformed',
  'disabled',
] as const;

/** How a finding came about: a token request of this check, or of traffic before it, or what keeps it from being made. */
export type ProvenBy = (typeof PROOFS)[number];

export const PROOFS = ['request', 'traffic', 'latch', 'pause', 'secret', 'operator'] as const;

/** What a failure that a caller sees is called. */
export type ProblemType = keyof typeof TABLE;

interface ProblemDefinition {
  readonly status: number;
  /** Whether the same request may succeed later without an operator acting. */
  readonly retryable: boolean;
  readonly title: string;
  /** What the caller who reads the problem should do. */
  readonly advice: string;
  /** Who can end the problem. */
  readonly concerns: 'caller' | 'operator' | 'service' | 'broker';
  /** What the problem says of its pair to a check; absent when it says nothing of the credential. */
  readonly finding?: Finding;
}

const caller = (status: number, title: string, advice: string) =>
  ({ status, retryable: false, title, advice, concerns: 'caller' }) as const;

const operator = (finding: Finding, title: string, advice: string) =>
  ({ status: 424, retryable: false, title, advice, concerns: 'operator', finding }) as const;

const service = (status: number, title: string, advice: string, finding?: Finding) =>
  ({ status, retryable: true, title, advice, concerns: 'service', ...(finding && { finding }) }) as const;

const broker = (status: number, title: string, advice: string) =>
  ({ status, retryable: true, title, advice, concerns: 'broker' }) as const;

const TABLE = {
  'invalid-request': caller(400, 'The request is not well-formed', 'Correct the member that `detail` names.'),
  'access-denied': caller(
    403,
    'The caller may not act for this client on this service',
    'Check the names and your role, then ask for a rule.',
  ),
  'not-found': caller(404, 'There is nothing at this path', 'Send to `/token`.'),
  'method-not-allowed': caller(405, 'This path takes only POST', 'Send a POST.'),
  'content-too-large': caller(413, 'The request body is too large', 'Send less.'),
  'unsupported-media-type': caller(415, 'The content type is not supported', 'Set `content-type`.'),
  'credential-missing': operator('secret-missing', 'There is no credential for this client', 'An operator stores one.'),
  'credential-malformed': operator(
    'secret-malformed',
    'The stored credential cannot be used',
    'An operator corrects what `detail` names.',
  ),
  'credential-rejected': operator(
    'rejected',
    'The service rejected the client credential',
    'An operator stores the right one.',
  ),
  'client-disabled': operator(
    'disabled',
    'An operator has disabled this client',
    'Ask the operators why; `client enable` ends it.',
  ),
  'token-response-unusable': operator(
    'misconfigured',
    'The answer of the token endpoint is unusable',
    "An operator names the members in `response`; the problem shows the answer's shape.",
  ),
  'token-endpoint-error': operator(
    'misconfigured',
    'The token endpoint refused the token request',
    'An operator checks `authUrl`, `tokenPath` and `parameters`.',
  ),
  'token-endpoint-unavailable': service(
    503,
    'The token endpoint is unavailable',
    'Try again after `Retry-After`.',
    'unreachable',
  ),
  'refused-again': service(503, 'The successor of a refused token was refused too soon', 'Use the new token, or wait.'),
  'token-endpoint-timeout': service(504, 'The token endpoint did not answer in time', 'Try again.', 'unreachable'),
  'secrets-unavailable': broker(
    503,
    'The credential cannot be read at the moment',
    "Try again; check the function's permissions if it lasts.",
  ),
  internal: broker(500, 'The broker failed', 'Tell its operators the `request_id`.'),
} satisfies Record<string, ProblemDefinition>;

/** 403: the caller was refused. 424: an operator must act. 5xx: transient. HTTP clients repeat 5xx by themselves. */
export const PROBLEMS: Readonly<Record<ProblemType, ProblemDefinition>> = TABLE;
