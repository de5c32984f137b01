/** Names of clients and services. They need no escaping in a secret's name, a table key or a log field. */
export const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Returns the prefix that the names of all clients' secrets in an environment share. */
export function secretPrefix(environment: string): string {
  return `token-broker/${environment}/`;
}

/** Returns the name of a client's secret. */
export function secretName(environment: string, client: string): string {
  return `${secretPrefix(environment)}${client}`;
}

/** Returns the name of the sealing key's secret. Permissions for the clients' prefix do not cover it. */
export function sealingKeyName(environment: string): string {
  return `token-broker-keys/${environment}/sealing`;
}

/** A role's ARN in settings. Captures partition, account and the name without its path (IAM User Guide, quotas). */
export const ROLE_ARN = /^arn:(aws(?:-[a-z]+)*):iam::(\d{12}):role\/(?:[!-~]{1,510}\/)?([A-Za-z0-9_+=,.@-]{1,64})$/;

/** Returns why a text is not the ARN of a single IAM role, or `undefined` if it is. */
export function roleArnFault(arn: string): string | undefined {
  const example = 'arn:aws:iam::<account>:role/<name>';
  if (/[*?]/.test(arn)) return 'must name one role: no * and no ?';
  if (/:sts:.*:assumed-role\//.test(arn)) return `must be the role itself, not a session of it: ${example}`;
  if (/:iam:.*:user\//.test(arn)) return `must be a role, not a user: ${example}`;
  if (/:iam:.*:root$/.test(arn) || /^\d{12}$/.test(arn)) return `must be a role, not a whole account: ${example}`;
  return ROLE_ARN.test(arn) ? undefined : `must be the ARN of an IAM role: ${example}`;
}

/** The ARN of a role that signed a request. Captures partition, account, the name without its path, and the session. */
export const ASSUMED_ROLE_ARN =
  /^arn:(aws(?:-[a-z]+)*):sts::(\d{12}):assumed-role\/([A-Za-z0-9_+=,.@-]{1,64})\/([A-Za-z0-9_+=,.@-]{1,64})$/;

/** The value of a parameter that stands for the client id, the only part of a credential that may be a parameter. */
export const CLIENT_ID = '{client_id}';

/** Stages of a secret: the version in use, the version being tried before it is promoted, and the previous version. */
export const SECRET_STAGES = ['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'] as const;
export type SecretStage = (typeof SECRET_STAGES)[number];

/** The results of a check. `misconfigured` means that the service answers, but without a token. */
export const FINDINGS = [
  'accepted',
  'rejected',
  'throttled',
  'unreachable',
  'misconfigured',
  'secret-missing',
  'secret-malformed',
  'disabled',
] as const;
export type Finding = (typeof FINDINGS)[number];

/** The causes beside a finding. */
export type CheckCause = keyof typeof CAUSE_ADVICE;

/** The evidence of a finding: a token request of this check or of earlier traffic, or the reason for no request. */
export const PROOFS = ['request', 'traffic', 'latch', 'pause', 'secret', 'operator'] as const;
export type ProvenBy = (typeof PROOFS)[number];

/** Returns the key of the tag with the ends of a secret version, one for each different end. A copy for lists. */
export function expiresTag(versionId: string): string {
  return `expires:${versionId}`;
}

/** The outcome of a read whose token cannot be opened: another key or format, altered or swapped. */
export const UNREADABLE = 'unreadable';

/** Reasons to ignore an event of Secrets Manager. */
export const IGNORED_EVENTS = ['foreign', 'malformed'] as const;
export type IgnoredEvent = (typeof IGNORED_EVENTS)[number];

/**
 * Finds the last kind of policy that AWS names in a denial: an endpoint can deny "transitively through" another policy.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
 */
export const POLICY_KIND =
  /^.*\b(((service|resource) control|VPC endpoint|sessions?|deny in an? \w+-based) policy|permissions boundary)/s;

/** AWS's words for a secret that is marked or scheduled for deletion, or that was deleted. */
export const FOR_DELETION = /for deletion|(?:was|marked) deleted/;

/** The words of KMS, or of a service about it, for a key that the caller may not use. */
export const KEY_REFUSED =
  /^Access to KMS|^KMS key access denied|^The ciphertext refers to a customer master key|not authorized to perform: kms:/;

/** The states of a secret: AWS's error, words of its message, and the type of a command's failure. */
export const SECRET_STATES = [
  ['InvalidRequestException', FOR_DELETION, 'secret-deleted'],
  ['InvalidRequestException', /managed by/, 'secret-managed'],
  ['InvalidParameterException', /on a replica secret/, 'secret-replica'],
  ['InvalidParameterException', /has replica regions/, 'secret-replicated'],
] as const;

/** The metric that counts each warning. An operator must see a warning although the caller received an answer. */
export const WARNING_METRICS = {
  /** DynamoDB was down or slow, refused a call, or the sealing key was missing: the instance sent nothing. */
  'table-unavailable': 'TableUnavailable',
  /** DynamoDB throttled a call: the instance sent nothing. */
  'table-busy': 'TableBusy',
  /** Secrets Manager is down: the last known version was used. */
  'secret-stale': 'SecretStale',
  rejected: 'CredentialRejected',
  /** The current version is latched: the previous version was used. */
  'previous-version': 'PreviousVersionUsed',
  /** A member that repeats the credential was left out. */
  'credential-echoed': 'CredentialEchoed',
  /** The service returned a refused token again. */
  'same-token-again': 'SameTokenAgain',
  /** The life time in the answer is longer than the maximum of the settings. */
  'lifetime-cut': 'LifetimeCut',
  /** The only expiry in the answer names no time zone and did not count. */
  'expiry-without-zone': 'ExpiryWithoutZone',
  /** TLS stood only without a post-quantum key exchange. */
  'classical-tls': 'ClassicalTls',
} as const;
export type Warning = keyof typeof WARNING_METRICS;

export const METRIC_NAMESPACE = 'TokenBroker';

/** Every metric that the functions write. Alarms and the dashboard can name no other metric. */
export type MetricName = (typeof WARNING_METRICS)[Warning] | AnswerMetric | CheckMetric | RunMetric | OperatorMetric;
type AnswerMetric = 'Requests' | 'Duration' | 'CacheHits' | 'TokenRequests' | 'UnreadableRecords' | SloMetric;
type SloMetric = 'SloCalls' | 'SloMissed';
type CheckMetric = 'Findings' | 'CheckFailures' | 'CheckDuration' | 'IgnoredEvents' | 'ServiceIncidents';
type RunMetric = 'Heartbeat' | 'RunDuration' | 'DaysToExpiry' | PairsMetric;
type PairsMetric = 'PairsChecked' | 'PairsNotReached' | 'PairsFailed' | 'PairsRejected' | 'PairsExpiring';
type OperatorMetric = 'Notifications' | 'NotificationFailures' | 'ProbeNotDenied' | 'OperatorsUnreachable';

/** The origin of a token's expiry: the service's answer, the token (JWT `exp`), the settings, or an assumption. */
export const EXPIRY_SOURCES = ['response', 'jwt', 'configured', 'assumed'] as const;
export type ExpirySource = (typeof EXPIRY_SOURCES)[number];

/** Returns the shortest remaining lifetime of an issued token: no caller receives a token that is about to expire. */
export function hardMarginMs(lifetimeMs: number): number {
  return Math.min(30_000, lifetimeMs * 0.2);
}

/** Returns whether a URL's host is this machine, the only host that `http` may reach. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

/** Returns the domain that the hosts of AWS in a region end with. */
export function urlSuffixOf(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}

export type ProblemType = keyof typeof PROBLEMS;

/**
 * Only a request that ended with 5xx may succeed later without action by an operator. `concerns` is the party that can
 * end the problem. `finding` is that of a check, and absent if the problem says nothing about the credential.
 */
const problem = (
  status: number,
  concerns: 'caller' | 'operator' | 'service' | 'broker',
  title: string,
  finding?: Finding,
) => ({ status, retryable: status >= 500, title, concerns, ...(finding && { finding }) }) as const;

/** Status 403: the caller was refused. 424: an operator must act. 5xx: transient, HTTP clients repeat it. */
export const PROBLEMS = {
  'invalid-request': problem(400, 'caller', 'The request is not well-formed'),
  'access-denied': problem(403, 'caller', 'The caller may not act for this client on this service'),
  'not-found': problem(404, 'caller', 'There is nothing at this path'),
  'method-not-allowed': problem(405, 'caller', 'This path takes only POST'),
  'content-too-large': problem(413, 'caller', 'The request body is too large'),
  'unsupported-media-type': problem(415, 'caller', 'The content type is not supported'),
  'credential-missing': problem(424, 'operator', 'There is no credential for this client', 'secret-missing'),
  'credential-malformed': problem(424, 'operator', 'The stored credential cannot be used', 'secret-malformed'),
  'credential-rejected': problem(424, 'operator', 'The service rejected the client credential', 'rejected'),
  'client-disabled': problem(424, 'operator', 'An operator has disabled this client', 'disabled'),
  'token-response-unusable': problem(424, 'operator', 'The answer of the token endpoint is unusable', 'misconfigured'),
  'token-endpoint-error': problem(424, 'operator', 'The token endpoint refused the token request', 'misconfigured'),
  'token-endpoint-unavailable': problem(503, 'service', 'The token endpoint is unavailable', 'unreachable'),
  'refused-again': problem(503, 'service', 'The successor of a refused token was refused too soon'),
  'token-endpoint-timeout': problem(504, 'service', 'The token endpoint did not answer in time', 'unreachable'),
  'secrets-unavailable': problem(503, 'broker', 'The credential cannot be read at the moment'),
  'table-unavailable': problem(503, 'broker', 'The broker cannot reach its table at the moment'),
  internal: problem(500, 'broker', 'The broker failed'),
} as const;

/** The remedy for each problem. Separate from `PROBLEMS`, so that the token function's bundle does not contain it. */
export const PROBLEM_ADVICE: Readonly<Record<ProblemType, string>> = {
  'invalid-request': 'Correct the member that `detail` names.',
  'access-denied':
    'Compare both names with what `whoami` (`POST /whoami`) reports for your role, then ask for an access rule.',
  'not-found': 'Send to `/token`; the URL of the broker ends after the host.',
  'method-not-allowed': 'Send a POST.',
  'content-too-large': 'Send at most 16 KiB.',
  'unsupported-media-type': 'Send JSON or a form in UTF-8, and name it in `content-type`.',
  'credential-missing':
    'An operator stores `token-broker/<environment>/<client>` with this service in it (`client put <client>`, with `--create` for a new client).',
  'credential-malformed':
    'An operator goes back with `client rollback <client>`, or corrects in `token-broker/<environment>/<client>` what `detail` names (`client put <client>`).',
  'credential-rejected':
    'An operator stores the right credential in `token-broker/<environment>/<client>` (`client put <client>`); trying again may lock the account.',
  'client-disabled': 'Ask the operators why; `client enable <client>` ends it.',
  'token-response-unusable':
    "An operator names the members of the answer in the service's `response` settings; `response_shape` describes the answer.",
  'token-endpoint-error': "An operator checks the service's `authUrl`, `tokenPath`, `parameters` and `headers`.",
  'token-endpoint-unavailable': 'Try again after `Retry-After`; if it lasts, tell the operators of the service.',
  'refused-again': 'Use the new token, or wait before you refuse it too.',
  'token-endpoint-timeout': 'Try again; if it lasts, tell the operators of the service.',
  'secrets-unavailable': "Try again; if it lasts, an operator checks whether the broker's role may read the secret.",
  'table-unavailable':
    'Try again after `Retry-After`, and use the token that you have until it ends; if it lasts, operators follow "Without the table" (docs/alarms.md).',
  internal: 'Try again; if it lasts, tell the operators of the broker the `request_id`.',
};

/** The operator's remedy for each finding of a check. */
export const FINDING_ADVICE: Readonly<Record<Exclude<Finding, 'accepted'>, string>> = {
  rejected:
    'Store the right credential with `client put <client>`; if the service has fixed it on its side, `client retry <client>` lets it be sent again. If the service has never accepted it, its settings may be wrong: `tokenPath`, `basicEncoding`, `parameters`; after changed settings `client retry <client>`.',
  throttled:
    'Wait before the next check: the service has received too many requests, too many rejected versions were tried within the hour (`client retry <client>` ends that), or a new token would end the one that callers use (`singleActiveToken`).',
  unreachable: 'Check again later: the service cannot be reached or fails, which says nothing about the credential.',
  misconfigured:
    'Compare `authUrl`, `tokenPath`, `parameters` and `response` of the service with what it expects (`doctor` shows its answer); then `client retry <client>` lets the credential be sent again at once.',
  'secret-missing':
    'If `client show <client>` shows that `token-broker/<environment>/<client>` is to be deleted, restore it with `client restore <client>`. Otherwise store it with `client put <client> --services <names>`, and `--create` for a new client: it has no version with this stage, or does not name this service.',
  'secret-malformed':
    'Store `token-broker/<environment>/<client>` again with `client put <client> --services <names>`: a member is missing or wrong, or it does not say which services it is for.',
  disabled: 'Once the client may be used again, run `client enable <client>`.',
};

/** The operator's remedy for each cause beside a finding. The first four are causes of `throttled`. */
export const CAUSE_ADVICE = {
  /** The service asked for a later request, for example with 429. */
  service:
    'Check again later: the service has received too many token requests, which says nothing about the credential.',
  'rejected-versions':
    'Too many rejected versions were tried within the hour, so the broker tries no other version. If you are sure of the credential, `client retry <client>` ends that.',
  'another-version': 'Check again after half a minute: the broker tries one new version of a pair every 30 s.',
  'single-active-token':
    'Check again when the token in use has expired: a new token would end it (`singleActiveToken`).',
  /** The service answered 500 to a version that it never accepted. */
  'not-accepted':
    'Not accepted yet: the service answered 500, as some services answer a wrong secret. Compare the credential with its source; `client retry <client>` ends the wait before the next attempt.',
  /** The token is accepted. */
  'lifetime-cut':
    'The life time in the answer is longer than `maxLifetimeSeconds`, which counts: it may be in milliseconds (`response.lifetimeUnit`).',
} as const;

const EXPIRED_ADVICE =
  'The credential has expired: get its successor from the service, and store it with `client put <client>`.';

const ROLLBACK_ADVICE =
  'If `client check <client> --stage AWSPREVIOUS` says `accepted`, run `client rollback <client>`: it puts the previous version back into use.';

/**
 * Returns the operator's remedy for a finding. A broker of an earlier release names no cause. `mayRollBack`: a previous
 * version may replace the current version.
 */
export function findingAdvice(
  finding: Exclude<Finding, 'accepted'>,
  about: { readonly cause?: string | undefined; readonly mayRollBack?: boolean; readonly isExpired?: boolean } = {},
): string {
  const { cause = '', mayRollBack = true, isExpired } = about;
  if (finding === 'rejected' && isExpired) return EXPIRED_ADVICE;
  const advice = FINDING_ADVICE[finding];
  // A secret that was written past `client put` may name fewer services than its previous version.
  if (finding === 'secret-missing' && mayRollBack) return `${advice} ${ROLLBACK_ADVICE}`;
  if (finding === 'secret-malformed' && mayRollBack) return `${ROLLBACK_ADVICE} ${advice}`;
  return new Map(Object.entries(CAUSE_ADVICE)).get(cause) ?? advice;
}
