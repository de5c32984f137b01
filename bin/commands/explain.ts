import type { FailureType } from '../../client/index.ts';
import type { ProblemType } from '../../functions/contract.ts';

/** What a failure means and what to do about it, in one sentence for a person. */
export function explain(type: string, { environment, client }: ExplainedFor): string {
  if (!isExplained(type)) return 'This command line does not know the problem: read its detail, or update it.';
  const text = EXPLANATIONS[type].replaceAll('<environment>', environment);
  return client === undefined ? text : text.replaceAll('<client>', client);
}

export interface ExplainedFor {
  readonly environment: string;
  /** Left out when the failure is about no single one. */
  readonly client?: string | undefined;
}

function isExplained(type: string): type is keyof typeof EXPLANATIONS {
  return Object.hasOwn(EXPLANATIONS, type);
}

const EXPLANATIONS = {
  'invalid-request': 'The broker could not read the request: correct the member that it names.',
  'access-denied':
    'No access rule lets your role act for this client on this service, or one of them does not exist: check both names and your role (aws sts get-caller-identity), then ask for a rule.',
  'not-found': 'The broker has nothing at this path: check that the URL ends after the host.',
  'method-not-allowed': 'The broker takes only POST here: update this command line.',
  'content-too-large': 'The request is larger than 16 KiB: shorten it.',
  'unsupported-media-type': 'The broker takes JSON or form bodies only: update this command line.',
  'credential-missing':
    'There is no secret token-broker/<environment>/<client>: an operator must store one (client put <client>).',
  'credential-malformed':
    'The secret token-broker/<environment>/<client> cannot be used: an operator must correct what the detail names (client put <client>).',
  'credential-rejected':
    'The service does not accept what the secret token-broker/<environment>/<client> holds: an operator must store the right client_id and secret (client put <client>); trying again may lock the account.',
  'client-disabled': 'An operator has disabled this client: ask the operators why (client enable <client> ends it).',
  'token-response-unusable':
    "The service answered, but no token was found in it: an operator must name the members in the service's response settings (--json shows the shape of what came).",
  'token-endpoint-error':
    "The service turned the token request itself away: an operator must check the service's authUrl, tokenPath and parameters.",
  'token-endpoint-unavailable':
    'The service cannot be reached or is failing: try again later, and tell its operators if it lasts.',
  'refused-again': 'A new token was already requested moments ago: use that one, or wait before refusing it too.',
  'token-endpoint-timeout': 'The service did not answer in time: try again later, and tell its operators if it lasts.',
  'secrets-unavailable':
    "Secrets Manager did not give the broker the credential: try again later, and check the function's permissions if it lasts.",
  internal: 'The broker itself failed: try again, and give the request id to its operators if it lasts.',
  'aws-forbidden':
    'AWS does not let your role call the Function URL: it needs lambda:InvokeFunctionUrl and lambda:InvokeFunction, and its own policy must allow both (policy <role-arn> prints it, doctor tells what is missing).',
  'aws-signature-mismatch':
    'The signature is wrong: check that the secret access key belongs to the access key id, without stray spaces, and that no proxy changes the request.',
  'aws-signature-expired':
    "This machine's clock is more than five minutes behind: set it right (timedatectl shows its state).",
  'aws-signature-not-yet-current':
    "This machine's clock is more than five minutes ahead: set it right (timedatectl shows its state).",
  'aws-security-token-invalid':
    'AWS does not know the access key or its session token: check that AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN come from the same sign-in.',
  'aws-security-token-expired':
    'Your temporary AWS credentials have expired: sign in again (for example aws sso login).',
  'aws-wrong-scope': 'The request was signed for the wrong region: give --region as the Function URL names it.',
  'aws-refused':
    'AWS refused the request for an unknown reason: check the URL, the region and aws sts get-caller-identity.',
  'aws-throttled':
    'Too many requests run at the same time: try again in a moment, and raise the reserved concurrency if it lasts.',
  'aws-function-failed': 'The function behind the URL crashed: try again, and read its log if it lasts.',
  'aws-function-timeout':
    'The function behind the URL ran out of time: try again, and see in its log what it waits for if it lasts.',
  'aws-credentials-unavailable':
    'No usable AWS credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in again (aws sso login).',
  'unexpected-answer': "Something other than a broker answered: check that the URL is the broker's Function URL.",
  'network-error':
    'The broker cannot be reached: check the URL, your network and proxy; a local broker is started with npm start.',
  timeout: 'The broker did not answer in time: try again, and check your network and proxy if it lasts.',
  aborted: 'The request was given up before an answer came: run it again.',
} as const satisfies Record<ProblemType | FailureType, string>;
