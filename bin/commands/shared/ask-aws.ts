import { STATUS_CODES } from 'node:http';
import type { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { askAws } from '../../../client/commands/doctor/identity.ts';
import { aborted, CommandFailure } from '../../../client/commands/failure.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { causeWord } from '../../../functions/aws/calls.ts';
import { parseJsonObject } from '../../../functions/broker/json.ts';
import { awsConfig, awsRegion, type CommandOptions } from './aws-config.ts';
import { pause } from './operate.ts';

/** Creates an SDK client whose calls fail with a CommandFailure: that of `conflict`, otherwise `awsFailure`. */
export function openClient<Client extends { readonly middlewareStack: object }>(
  create: (config: ReturnType<typeof awsConfig>) => Client,
  service: Parameters<typeof awsConfig>[2],
  shell: Shell,
  options: CommandOptions,
  conflict: (error: unknown, operation: string) => CommandFailure | undefined = () => undefined,
): Client {
  const client = create(awsConfig(shell, options, service));
  const prefix = service.toLowerCase().replace('_', '');
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

/** Calls AWS in JSON, for operations that are not worth an SDK client. @throws CommandFailure */
export function askService(shell: Shell, region: string | undefined) {
  return async (service: keyof typeof TARGETS, operation: string, content?: object, path = '/') => {
    const fail = (error: unknown) => awsFailure(error, `${service}:${operation}`, region);
    if (region === undefined) throw fail(new Error('Region is missing'));
    const credentials = await shell.credentials().catch((error) => Promise.reject(fail(error)));
    const [type, prefix] = TARGETS[service];
    const headers = {
      'content-type': `application/${type}`,
      ...(prefix && { 'x-amz-target': `${prefix}.${operation}` }),
    };
    const sent = { path, ...(content && { body: JSON.stringify(content), headers }) };
    for (let attempt = 1; ; attempt += 1) {
      const { status, word, text, errorType } = await askAws(shell, { service, region, credentials, ...sent });
      const answer = parseJsonObject(text === '' ? '{}' : text);
      if (status === 200 && answer !== undefined) return answer;
      // AWS's name of the error, if it looks like a name. A proxy's answer contains no such name.
      const told = `${answer?.__type ?? errorType}`.replace(/^.*#/, '');
      const [called = ''] = /^[A-Z][A-Za-z]{2,60}(?=:|$)/.exec(told) ?? [];
      const name = called || STATUS_CODES[status]?.replaceAll(' ', '') || word;
      const failure = fail(Object.assign(new Error('refused'), { name }));
      if (failure.type !== 'aws-throttled' || attempt === MAX_ATTEMPTS) throw failure;
      await pause(shell, 250 * 2 ** attempt);
    }
  };
}

/** The JSON type, and the prefix of an operation's name. Without a prefix, the path names the operation. */
const TARGETS = {
  cloudtrail: ['x-amz-json-1.1', 'CloudTrail_20131101'],
  codedeploy: ['x-amz-json-1.1', 'CodeDeploy_20141006'],
  dynamodb: ['x-amz-json-1.0', 'DynamoDB_20120810'],
  events: ['x-amz-json-1.1', 'AWSEvents'],
  kms: ['x-amz-json-1.1', 'TrentService'],
  lambda: ['json', ''],
  logs: ['x-amz-json-1.1', 'Logs_20140328'],
  monitoring: ['x-amz-json-1.0', 'GraniteServiceVersion20100801'],
  scheduler: ['json', ''],
  secretsmanager: ['x-amz-json-1.1', 'secretsmanager'],
} as const;

/** Attempts for a throttled call, which AWS has not started. */
const MAX_ATTEMPTS = 5;

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
  'Check your network and the region, then try again; the command changes nothing twice.',
];
