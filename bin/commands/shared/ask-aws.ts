import { STATUS_CODES } from 'node:http';
import { aborted, CommandFailure } from '../../../client/commands/failure.ts';
import { askAws } from '../../../client/commands/identity.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { causeWord } from '../../../functions/aws/calls.ts';
import { parseJsonObject } from '../../../functions/broker/json.ts';
import { pause } from './environment.ts';

type AwsQuestion = Parameters<typeof askAws>[1];

type JsonQuestion = Partial<Pick<AwsQuestion, 'method' | 'path' | 'query'>> & { readonly body?: object };

/** Calls AWS in JSON for a few operations, for which whole SDK clients would be too much. @throws CommandFailure */
export function askService(shell: Shell, region: string | undefined) {
  const ask = openAws(shell, region);
  return async (
    service: Exclude<AwsQuestion['service'], keyof typeof QUERIED>,
    operation: string,
    { body, ...question }: JsonQuestion,
  ) => {
    const [version, prefix] = TARGETS[service] ?? [];
    const headers =
      prefix === undefined
        ? { 'content-type': 'application/json' }
        : { 'content-type': `application/x-amz-json-${version}`, 'x-amz-target': `${prefix}.${operation}` };
    const sent = body && { body: JSON.stringify(body), headers };
    return ask(service, operation, { ...question, ...sent }, (text) => parseJsonObject(text === '' ? '{}' : text));
  };
}

/** The services that name an operation in a header, with the version of their JSON; the others name it in the path. */
const TARGETS: Readonly<Record<string, readonly [version: string, prefix: string]>> = {
  cloudtrail: ['1.1', 'CloudTrail_20131101'],
  codedeploy: ['1.1', 'CodeDeploy_20141006'],
  dynamodb: ['1.0', 'DynamoDB_20120810'],
  events: ['1.1', 'AWSEvents'],
  kms: ['1.1', 'TrentService'],
  logs: ['1.1', 'Logs_20140328'],
  monitoring: ['1.0', 'GraniteServiceVersion20100801'],
  secretsmanager: ['1.1', 'secretsmanager'],
  ssm: ['1.1', 'AmazonSSM'],
};

/** As `askService`, of a service that speaks AWS's query protocol; gives the XML of its answer. @throws CommandFailure */
export function queryService(shell: Shell, region: string | undefined) {
  const ask = openAws(shell, region);
  return async (service: keyof typeof QUERIED, Action: string, members: Readonly<Record<string, string>> = {}) => {
    const body = `${new URLSearchParams({ Action, ...members, Version: QUERIED[service] })}`;
    return ask(service, Action, { body }, (text) => (text.startsWith('<') ? text : undefined));
  };
}

/** The versions of their APIs. */
const QUERIED = {
  cloudformation: '2010-05-15',
  sns: '2010-03-31',
  sts: '2011-06-15',
} as const;

/** The text of the first element of this name. */
export function elementOf(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
}

/** Calls AWS until it is not throttled, and gives what `read` makes of the answer. */
function openAws(shell: Shell, region: string | undefined) {
  return async <Answer>(
    service: AwsQuestion['service'],
    operation: string,
    question: Omit<AwsQuestion, 'service' | 'region' | 'credentials'>,
    read: (text: string) => Answer | undefined,
  ): Promise<Answer> => {
    const fail = (error: unknown) => awsFailure(error, `${service}:${operation}`, region);
    if (region === undefined) throw fail(new Error('Region is missing'));
    const credentials = await shell.credentials().catch((error) => Promise.reject(fail(error)));
    for (let attempt = 1; ; attempt += 1) {
      const { status, word, text, errorType } = await askAws(shell, { service, region, credentials, ...question });
      const answer = status === 200 ? read(text) : undefined;
      if (answer !== undefined) return answer;
      const told = parseJsonObject(text)?.__type ?? elementOf(text, 'Code') ?? errorType;
      // AWS's name of the error, if it looks like one; a proxy's answer has none.
      const [called = ''] = /^[A-Z][A-Za-z]{2,60}(?=:|$)/.exec(`${told}`.replace(/^.*#/, '')) ?? [];
      const name = called || STATUS_CODES[status]?.replaceAll(' ', '') || word;
      const failure = fail(Object.assign(new Error('refused'), { name }));
      if (failure.type !== 'aws-throttled' || attempt === MAX_ATTEMPTS) throw failure;
      await pause(shell, 250 * 2 ** attempt);
    }
  };
}

/** For throttled calls, which AWS has not begun. */
const MAX_ATTEMPTS = 5;

/**
 * Why a call of AWS failed, with the permission that it needs, such as
 * `secretsmanager:ListSecrets`. AWS's own text is not repeated: it may quote the request.
 */
export function awsFailure(error: unknown, action: string, region: string | undefined): CommandFailure {
  const word = causeWord(error);
  if (word === 'AbortError') return aborted();
  if (error instanceof Error && error.message === 'Region is missing') {
    return new CommandFailure('aws-region-missing', 'No AWS region is set', 'Give --region or set AWS_REGION.');
  }
  const [, type, detail, advice] = KNOWN.find(([pattern]) => pattern.test(word)) ?? UNAVAILABLE;
  const place = region === undefined ? '' : ` in ${region}`;
  return new CommandFailure(type, `${detail}: ${action}${place} (${word})`, advice);
}

/** Whether AWS refused or failed, so that a command may go on without; Ctrl-C ends every command. */
export function isRefused(error: unknown): error is CommandFailure {
  return error instanceof CommandFailure && error.type !== 'aborted';
}

/** Whether the identity may not do it, so that another one has to. */
export function isDenied(error: unknown): error is CommandFailure {
  return isRefused(error) && error.type === 'aws-access-denied';
}

/** Whether AWS was down or throttled the call, so that the same call may succeed in a moment. */
export function isPassing(error: unknown): error is CommandFailure {
  return isRefused(error) && (error.type === 'aws-unavailable' || error.type === 'aws-throttled');
}

type Known = readonly [names: RegExp, type: string, detail: string, advice: string];

const KNOWN: readonly Known[] = [
  [
    /^AccessDenied|^NotAuthorized|^UnauthorizedOperation/,
    'aws-access-denied',
    'Your AWS identity may not do this',
    'Use a role that may: policy --operator, --emergency and --sealing-key print the rights of each (to store a secret takes kms:Decrypt and kms:GenerateDataKey on its key, too).',
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
  [/Throttl|LimitExceeded|TooManyRequests/, 'aws-throttled', 'AWS throttles this account', 'Try again in a moment.'],
  [/NotFound/, 'aws-not-found', 'AWS has nothing of this name', 'Is it deployed, in this region?'],
  [/^(?:De|En)cryptionFailure$|^KMS/, 'aws-key-unusable', 'The KMS key of the secret is unusable', 'Is it enabled?'],
];

const UNAVAILABLE: Known = [
  /./,
  'aws-unavailable',
  'AWS gave no usable answer',
  'Check your network and the region, then try again; the command changes nothing twice.',
];
