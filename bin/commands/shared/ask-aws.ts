import { STATUS_CODES } from 'node:http';
import { aborted, CommandFailure } from '../../../client/commands/failure.ts';
import { askAws } from '../../../client/commands/identity.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { causeWord } from '../../../functions/aws/calls.ts';
import { parseJsonObject } from '../../../functions/broker/json.ts';
import { pause } from './environment.ts';

interface Question extends Partial<Pick<Parameters<typeof askAws>[1], 'method' | 'path' | 'query'>> {
  readonly target?: string;
  readonly body?: object;
}

/** Calls AWS in JSON for a few operations, for which whole SDK clients would be too much. @throws CommandFailure */
export function askService(shell: Shell, region: string | undefined) {
  return async (
    service: 'codedeploy' | 'lambda' | 'logs',
    operation: string,
    { target, body, ...question }: Question,
  ) => {
    const fail = (error: unknown) => awsFailure(error, `${service}:${operation}`, region);
    if (region === undefined) throw fail(new Error('Region is missing'));
    const credentials = await shell.credentials().catch((error) => Promise.reject(fail(error)));
    const type = target === undefined ? 'application/json' : 'application/x-amz-json-1.1';
    const asked = {
      ...{ service, region, credentials, ...question },
      ...(body && { body: JSON.stringify(body) }),
      ...(body && { headers: { 'content-type': type, ...(target && { 'x-amz-target': target }) } }),
    };
    for (let attempt = 1; ; attempt += 1) {
      const { status, word, text, errorType } = await askAws(shell, asked);
      const told = parseJsonObject(text === '' ? '{}' : text);
      if (status === 200 && told !== undefined) return told;
      // AWS's name of the error, if it looks like one; a proxy's answer has none.
      const [called = ''] =
        /^[A-Z][A-Za-z]{2,60}(?=:|$)/.exec(`${told?.__type ?? errorType}`.replace(/^.*#/, '')) ?? [];
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
  [/^ResourceNotFound/, 'aws-not-found', 'AWS has nothing of this name', 'Is it deployed, in this region?'],
  [/^(?:De|En)cryptionFailure$|^KMS/, 'aws-key-unusable', 'The KMS key of the secret is unusable', 'Is it enabled?'],
];

const UNAVAILABLE: Known = [
  /./,
  'aws-unavailable',
  'AWS gave no usable answer',
  'Check your network and the region, then try again; the command changes nothing twice.',
];
