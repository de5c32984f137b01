import type { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { aborted, CommandFailure, UNSET_LOCAL } from '../../client/commands/failure.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { credentialsReason } from '../../client/index.ts';
import { causeWord } from '../../functions/aws/calls.ts';
import { membersOf } from '../../functions/broker/json.ts';
import { KEY_REFUSED, POLICY_KIND } from '../../functions/vocabulary.ts';
import { awsConfig, awsRegion, type CommandOptions } from './operate.ts';

/** Creates an SDK client whose calls fail with a CommandFailure: that of `conflict`, otherwise `awsFailure`. */
export function openClient<Client extends { readonly middlewareStack: object }>(
  create: (config: ReturnType<typeof awsConfig>) => Client,
  service: Parameters<typeof awsConfig>[2],
  shell: Shell,
  options: CommandOptions,
  conflict: (error: unknown, operation: string) => CommandFailure | undefined = () => undefined,
): Client {
  const client = create(awsConfig(shell, options, service));
  const prefix = service.replace('CLOUDWATCH_', '').replace('_', '').toLowerCase();
  // The stacks of all clients are the same. Only their types differ.
  const stack = client.middlewareStack as SecretsManager['middlewareStack'];
  stack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const operation = commandName.replace(/Command$/, '');
        // Only this permission has another name than its operation.
        const action = operation === 'Invoke' ? 'InvokeFunction' : operation;
        try {
          return await next(args);
        } catch (error) {
          throw conflict(error, operation) ?? awsFailure(error, `${prefix}:${action}`, awsRegion(shell, options));
        }
      },
    { step: 'initialize', priority: 'high' },
  );
  return client;
}

/**
 * Explains why a call to AWS failed, with the permission that it needs, such as `secretsmanager:ListSecrets`. Omits
 * AWS's own text, which may quote the request.
 */
export function awsFailure(error: unknown, action: string, region: string | undefined): CommandFailure {
  const word = causeWord(error);
  if (word === 'AbortError' || word === 'ABORT_ERR') return aborted();
  if (error instanceof Error && error.message === 'Region is missing') {
    return new CommandFailure('aws-region-missing', 'No AWS region is set', 'Pass --region or set AWS_REGION.');
  }
  // AWS's own refusal, under a name that is not known here. The page of a proxy has no name of AWS.
  const { httpStatusCode: status = 0 } = membersOf(membersOf(error).$metadata);
  const isRefusal = Number(status) >= 400 && Number(status) < 500 && !/^(?:Syntax|Unknown)?(?:Error)?$/i.test(word);
  const [, ...known] = KNOWN.find(([names]) => names.test(word)) ?? [/./, ...(isRefusal ? REFUSED : UNAVAILABLE)];
  const [type, detail, advice] = denialOf(word, error, action) ?? known;
  const place = region === undefined ? '' : ` in ${region}`;
  const reason = (type === 'aws-credentials-missing' && credentialsReason(error)) || word;
  return new CommandFailure(type, `${detail}: ${action}${place} (${reason})`, advice);
}

/** Describes a wrong clock, and a denial of the profile's role or of the key, or by a policy of others. */
function denialOf(word: string, error: unknown, action: string): Cause | undefined {
  if (!(error instanceof Error)) return undefined;
  if (/^RequestTimeTooSkewed|^RequestInTheFuture/.test(word) || CLOCK.test(error.message)) return CLOCK_WRONG;
  if (!ACCESS_DENIED.test(word)) return undefined;
  // The SDK assumes the role of a profile before the call, and throws AWS's answer in place of that of the call.
  if (action !== 'sts:AssumeRole' && error.message.includes('sts:AssumeRole')) return ROLE_DENIED;
  if (KEY_REFUSED.test(error.message)) return KEY_DENIED;
  const [, kind = ''] = POLICY_KIND.exec(error.message) ?? [];
  const [, advice] = DENIALS.find(([names]) => names.test(kind)) ?? [];
  return advice ? ['aws-access-denied', `AWS denies this to your identity (${kind})`, advice] : undefined;
}

/** Returns whether AWS refused or failed, so that a command may continue. Ctrl-C ends every command. */
export function isRefused(error: unknown): error is CommandFailure {
  return error instanceof CommandFailure && error.type !== 'aborted';
}

/** Returns whether AWS denied the call to this identity. */
export function isDenied(error: unknown): error is CommandFailure {
  return isRefused(error) && error.type === 'aws-access-denied';
}

type Cause = readonly [type: string, detail: string, advice: string];

/** AWS's words for a signature of another time. The SDK corrects its time by the answer, if the answer has a date. */
const CLOCK = /^Signature (?:expired|not yet current): /;

const CLOCK_WRONG: Cause = ['aws-clock-wrong', 'The clock of this machine is wrong', 'Set it, and run this again.'];

const ACCESS_DENIED = /^AccessDenied|^NotAuthorized|^UnauthorizedOperation/;

const ROLE_DENIED: Cause = [
  'aws-credentials-denied',
  'AWS does not let you assume the role of your profile',
  'Correct role_arn and source_profile, or have the trust policy of the role name you.',
];

const KEY_DENIED: Cause = [
  'aws-access-denied',
  'Your AWS identity may not use the key of the secret or the table',
  'It requires kms:Decrypt and kms:GenerateDataKey on that key: policy --operator prints them.',
];

/** The remedy for each kind of policy that AWS names. */
const DENIALS: readonly (readonly [kind: RegExp, advice: string])[] = [
  [/control policy/, 'It is a policy of the organization, whatever your role allows: ask those who write it.'],
  [/endpoint/, 'Ask for a wider policy of the VPC endpoint, or call from another network.'],
  [/boundary/, 'Ask for a wider permissions boundary, or use a role without it.'],
  [/session/, 'Sign in without this session policy.'],
  [/resource-based/, 'The policy of the resource itself denies it, as client disable does for a secret.'],
  [/identity-based/, 'A policy of your own role denies it: use another role.'],
];

const KNOWN: readonly (readonly [names: RegExp, ...cause: Cause])[] = [
  [
    /^NoStandIn$/,
    'aws-stand-in',
    'This terminal is for a local broker, which has no such service',
    `To reach AWS from it, run ${UNSET_LOCAL} first.`,
  ],
  [
    ACCESS_DENIED,
    'aws-access-denied',
    'Your AWS identity may not do this',
    'Use a role that may do it: policy --operator, --emergency and --sealing-key print the rights of each (storing a secret also requires kms:Decrypt and kms:GenerateDataKey on its key).',
  ],
  [/^ExpiredToken|^RequestExpired/, 'aws-credentials-expired', 'Your AWS credentials have expired', 'Sign in again.'],
  [
    /^UnrecognizedClient|^InvalidClientTokenId|Signature|^InvalidAccessKeyId|^MissingAuth|^ERR_INVALID_CHAR/,
    'aws-credentials-invalid',
    'AWS does not know your AWS credentials',
    'Check that AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN come from the same sign-in, without a line break. An opt-in region takes no token of the global STS endpoint: set AWS_STS_REGIONAL_ENDPOINTS=regional and sign in again.',
  ],
  [
    /^(?:Credentials|Token)ProviderError$|^InvalidIdentityToken|^IDP/,
    'aws-credentials-missing',
    'No usable AWS credentials were found',
    'Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in again (aws sso login). For a profile with MFA: eval "$(aws configure export-credentials --format env)"; unset AWS_PROFILE.',
  ],
  [/Throttl|Throughput|RequestLimit|TooMany/, 'aws-throttled', 'AWS throttles this account', 'Try again in a moment.'],
  [/CERT|UNABLE_TO_/, 'aws-tls-failed', 'Another host answers for AWS', 'Let Node trust it (NODE_EXTRA_CA_CERTS).'],
  [/^ResourceConflict/, 'aws-busy', 'AWS is still changing the resource', 'Try again in a moment.'],
  [/^MalformedPolicy/, 'aws-refused', 'AWS refuses the policy', 'Does it name a role that was deleted? Remove it.'],
  [/LimitExceeded|QuotaExceeded/, 'aws-quota', 'A quota of AWS is used up', 'Try again later, or have it raised.'],
  [/NotFound/, 'aws-not-found', 'AWS has no resource of this name', 'Is it deployed, in this region?'],
  [/^(?:De|En)cryptionFailure$|^KMS/, 'aws-key-unusable', 'The KMS key of the secret is unusable', 'Is it enabled?'],
  [
    /^SubscriptionRequired|^OptInRequired|^RegionDisabled/,
    'aws-not-signed-up',
    'This account, or this region of it, is not signed up for the service',
    "Enable the region, or finish the account's registration.",
  ],
];

const REFUSED: Cause = ['aws-refused', 'AWS refuses the request as it is', 'The same call with the AWS CLI shows why.'];

const UNAVAILABLE: Cause = [
  'aws-unavailable',
  'AWS returned no usable answer',
  'Check your network and the region, then try again. A change may have been made all the same.',
];
