import { TO_LOCAL } from '../options.ts';
import { rowText } from '../output.ts';

/** The causes that `doctor` finds itself, with their advice. A failed call has its own cause. */
const CAUSES = {
  'url-missing': `Give --url, or set TOKEN_BROKER_URL to the output Url of the stack; ${TO_LOCAL}.`,
  'url-malformed': 'Give the Function URL as the stack prints it: https://<id>.lambda-url.<region>.on.aws/',
  'region-missing': "Give --region with the region of the broker's stack.",
  'aws-credentials-missing': 'Set AWS_PROFILE or keys, sign in (aws sso login), or attach a role to the machine.',
  'aws-credentials-expired': 'Sign in again (for example aws sso login): temporary AWS credentials expire.',
  'aws-credentials-invalid':
    'Use AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the same sign-in. An opt-in region takes no token of the global STS endpoint: set AWS_STS_REGIONAL_ENDPOINTS=regional and sign in again.',
  'caller-not-a-role': 'Assume a role: the broker knows roles only, neither users nor the root of an account.',
  'dns-failed': 'Check the URL for a typing error, and the name servers of this machine.',
  'connection-failed':
    'Check the port, firewalls and the proxy (Node takes HTTPS_PROXY only with NODE_USE_ENV_PROXY=1); a local broker is started with npm start.',
  'tls-failed': 'Another host answers for AWS: check the URL, or let Node trust the proxy (NODE_EXTRA_CA_CERTS).',
  'no-answer': 'Packets get lost on the way: check firewalls, the proxy and the routes out of a VPC.',
  'not-a-broker': "Check that the URL is the broker's Function URL: something else answers there.",
  'function-url-unknown': 'Use the output Url of the stack: it changes with the function.',
  'clock-behind': "Set this machine's clock forward (timedatectl shows it): AWS accepts signatures for 5 minutes.",
  'clock-ahead': "Set this machine's clock back (timedatectl shows it): AWS accepts signatures for 5 minutes.",
  'secret-denied':
    "AWS refuses the secret to the broker's own role. If the broker names a kind of policy, that policy denies it. Otherwise check that the stack is deployed and gives its role secretsmanager:GetSecretValue.",
  'table-denied':
    "The broker's own role may not use its table, or the table is gone: the version in use is faulty. An operator deploys, or goes back to an earlier version (release back).",
  'sealing-key-missing':
    "The broker's own role cannot read its sealing key: the version in use is faulty, or Secrets Manager is down. An operator deploys, or goes back to an earlier version (release back).",
  'auth-url-unreachable':
    'Check the authUrl. A service that admits only known addresses answers the broker, not this machine: client check asks it through the broker.',
  'token-path-wrong':
    "The service has nothing at the broker's tokenPath: an operator must set tokenPath of the service in the settings of the broker and deploy; it is /auth/v1/token or /oauth/token. doctor --auth-url <authUrl> tries both, without a credential.",
} as const satisfies Record<string, string>;

export type Cause = keyof typeof CAUSES;

/** A step of the examination. `unknown`: the step was not possible, so its subject may be the cause. */
export interface DoctorStep {
  readonly step: string;
  readonly outcome: 'ok' | 'failed' | 'unknown';
  readonly detail: string;
  /** A key of `CAUSES`, the type of a failed call, or the name of the step. `advice` belongs to it. */
  readonly cause?: string;
  readonly advice?: string;
  /** The form of the service's answer, if it is the cause. */
  readonly shape?: unknown;
  /** Whether the call succeeded without the service. */
  readonly isUnproven?: boolean;
  /** The token path that exists. */
  readonly tokenPath?: string;
}

/** Returns a step as lines for a person. At a terminal the detail is wrapped. */
export function stepText({ step, outcome, detail }: DoctorStep, columns = 9_999): string {
  const widths = [6, Math.max(15, step.length)];
  return rowText([WORDS[outcome], step, detail.replaceAll('`', '')], [...widths, Math.max(30, columns - 25)]);
}

const WORDS = { ok: 'ok    ', failed: 'FAILED', unknown: '?     ' } as const;

export function ok(step: string, detail: string): DoctorStep {
  return { step, outcome: 'ok', detail };
}

export function unknown(step: string, detail: string): DoctorStep {
  return { step, outcome: 'unknown', detail };
}

export function failed(step: string, cause: Cause, detail: string, advice: string = CAUSES[cause]): DoctorStep {
  return { step, outcome: 'failed', detail, cause, advice };
}
