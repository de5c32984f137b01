import type { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { aborted, CommandFailure } from '../../client/commands/failure.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { causeWord } from '../../functions/aws/calls.ts';
import { awsConfig, awsRegion, type CommandOptions } from './aws-config.ts';

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
  const [, type, detail, advice] = KNOWN.find(([pattern]) => pattern.test(word)) ?? UNAVAILABLE;
  const place = region === undefined ? '' : ` in ${region}`;
  return new CommandFailure(type, `${detail}: ${action}${place} (${word})`, advice);
}

/** Returns whether AWS refused or failed, so that a command may continue. Ctrl-C ends every command. */
export function isRefused(error: unknown): error is CommandFailure {
  return error instanceof CommandFailure && error.type !== 'aborted';
}

/** Returns whether AWS denied the call to this identity. */
export function isDenied(error: unknown): error is CommandFailure {
  return isRefused(error) && error.type === 'aws-access-denied';
}

/** Returns whether AWS was unavailable or throttled the call, so that the same call may succeed soon. */
export function isPassing(error: unknown): error is CommandFailure {
  return isRefused(error) && (error.type === 'aws-unavailable' || error.type === 'aws-throttled');
}

type Known = readonly [names: RegExp, type: string, detail: string, advice: string];

const KNOWN: readonly Known[] = [
  [
    /^AccessDenied|^NotAuthorized|^UnauthorizedOperation/,
    'aws-access-denied',
    'Your AWS identity may not do this',
    'Use a role that may do it: policy --operator, --emergency and --sealing-key print the rights of each (storing a secret also requires kms:Decrypt and kms:GenerateDataKey on its key).',
  ],
  [/^ExpiredToken|^RequestExpired/, 'aws-credentials-expired', 'Your AWS credentials have expired', 'Sign in again.'],
  [
    /^UnrecognizedClient|^InvalidClientTokenId|^InvalidSignature|^SignatureDoesNotMatch|^InvalidAccessKeyId/,
    'aws-credentials-invalid',
    'AWS does not know your AWS credentials',
    'Check that AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN come from the same sign-in.',
  ],
  [
    /^(?:Credentials|Token)ProviderError$/,
    'aws-credentials-missing',
    'No usable AWS credentials were found',
    'Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in again (aws sso login).',
  ],
  [
    /Throttl|(?:Limit|Throughput)Exceeded|TooManyRequests/,
    'aws-throttled',
    'AWS throttles this account',
    'Try again in a moment.',
  ],
  [/NotFound/, 'aws-not-found', 'AWS has no resource of this name', 'Is it deployed, in this region?'],
  [/^(?:De|En)cryptionFailure$|^KMS/, 'aws-key-unusable', 'The KMS key of the secret is unusable', 'Is it enabled?'],
];

const UNAVAILABLE: Known = [
  /./,
  'aws-unavailable',
  'AWS returned no usable answer',
  'Check your network and the region, then try again. A change may have been made all the same.',
];
