import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { aborted, CommandFailure } from '../../../client/commands/failure.ts';
import { type AwsAnswer, askAws } from '../../../client/commands/identity.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { causeWord } from '../../../functions/aws/calls.ts';
import { parseJsonObject } from '../../../functions/broker/json.ts';

/** Asks AWS, and gives the members of the answer. @throws CommandFailure */
export type AskService = (service: AskedService, operation: string, question: Question) => Promise<Members>;

type AskedService = 'codedeploy' | 'lambda' | 'logs';
type Members = Readonly<Record<string, unknown>>;

interface Question {
  /** POST with a body and GET without one, when left out. */
  readonly method?: 'PUT';
  readonly path?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Names the operation, in the protocol that has no path. */
  readonly target?: string;
  readonly body?: object;
}

/** Calls of AWS in JSON, signed by hand: for a few operations whole SDK clients would be too much. */
export function askService(shell: Shell, region: string | undefined): AskService {
  const readCredentials = shell.credentials ?? defaultProvider();
  return async (service, operation, { target, body, ...question }) => {
    const fail = (error: unknown) => awsFailure(error, { action: `${service}:${operation}`, region });
    if (region === undefined) throw fail(new Error('Region is missing'));
    const credentials = await readCredentials().catch((error) => Promise.reject(fail(error)));
    const type = target === undefined ? 'application/json' : 'application/x-amz-json-1.1';
    const answer = await askAws(shell, {
      ...{ service, region, credentials, ...question },
      ...(body && { body: JSON.stringify(body) }),
      ...(body && { headers: { 'content-type': type, ...(target && { 'x-amz-target': target }) } }),
    });
    const told = parseJsonObject(answer.text === '' ? '{}' : answer.text);
    if (answer.status === 200 && told !== undefined) return told;
    throw fail(Object.assign(new Error('refused'), { name: refusalOf(answer, told) }));
  };
}

/** The name of an error of AWS, if it looks like one. */
function refusalOf({ status, word, errorType }: AwsAnswer, answer: Members | undefined): string {
  if (status === 0) return word;
  const told = `${answer?.__type ?? errorType ?? ''}`.split('#').at(-1)?.split(':')[0] ?? '';
  return /^[A-Z][A-Za-z]{2,60}$/.test(told) ? told : `HTTP${status}`;
}

/** Why AWS did not do what a command asked of it. Nothing that AWS wrote is repeated: it may quote what it was sent. */
export function awsFailure(error: unknown, { action, region }: AskedOfAws): CommandFailure {
  const word = causeWord(error);
  if (word === 'AbortError') return aborted();
  if (error instanceof Error && error.message === 'Region is missing') {
    return new CommandFailure('aws-region-missing', 'No AWS region is set', 'Give --region or set AWS_REGION.');
  }
  const [, type, detail, advice] = KNOWN.find(([pattern]) => pattern.test(word)) ?? UNAVAILABLE;
  const place = region === undefined ? '' : ` in ${region}`;
  return new CommandFailure(type, `${detail}: ${action}${place} (${word})`, advice);
}

interface AskedOfAws {
  /** The permission that the call needs, such as `secretsmanager:ListSecrets`. */
  readonly action: string;
  readonly region: string | undefined;
}

type Known = readonly [names: RegExp, type: string, detail: string, advice: string];

const KNOWN: readonly Known[] = [
  [
    /^AccessDenied|^NotAuthorized|^UnauthorizedOperation/,
    'aws-access-denied',
    'Your AWS identity may not do this',
    'Use an identity that may, or have the permission added (also kms:Decrypt and kms:GenerateDataKey on the key, for secrets).',
  ],
  [
    /^ExpiredToken|^RequestExpired/,
    'aws-credentials-expired',
    'Your AWS credentials have expired',
    'Sign in again (for example aws sso login).',
  ],
  [
    /^UnrecognizedClient|^InvalidClientTokenId|^InvalidSignature|^SignatureDoesNotMatch|^InvalidAccessKeyId/,
    'aws-credentials-invalid',
    'AWS does not know your AWS credentials',
    'Check that AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN come from the same sign-in.',
  ],
  [
    /^CredentialsProviderError$|^TokenProviderError$/,
    'aws-credentials-missing',
    'No usable AWS credentials were found',
    'Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in again (aws sso login).',
  ],
  [
    /Throttl|LimitExceeded|TooManyRequests/,
    'aws-throttled',
    'AWS throttles the calls of this account',
    'Try again in a moment.',
  ],
  [
    /^DecryptionFailure$|^EncryptionFailure$|^KMS/,
    'aws-key-unusable',
    'The KMS key of the secret cannot be used',
    'Check that the key is enabled and that your identity may use it.',
  ],
];

const UNAVAILABLE: Known = [
  /./,
  'aws-unavailable',
  'AWS gave no usable answer',
  'Check your network and the region, then try again; the command changes nothing twice.',
];
