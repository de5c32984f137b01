import { aborted, CommandFailure } from '../../../client/commands/failure.ts';
import { causeWord } from '../../../functions/aws/calls.ts';

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
