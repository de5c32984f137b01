import type { FailureType } from '../../../client/error.ts';
import { PROBLEMS, type ProblemType } from '../../../functions/vocabulary.ts';
import { type Answer, answerWith } from './loopback-server.ts';

export const ACCESS_TOKEN = 'marked-access-token-0123456789';

/** The broker's answer with a token that still lives 3599 s at `now`. */
export function issued(now: number, members: Readonly<Record<string, unknown>> = {}) {
  return {
    access_token: ACCESS_TOKEN,
    token_type: 'Bearer',
    expires_in: 3599,
    expires_at: new Date(now + 3_599_500).toISOString(),
    expiry_source: 'response',
    fingerprint: '0123456789abcdef',
    ...members,
  };
}

/** The broker's answer to a check of the pair in `members`. */
export function checked(members: Readonly<Record<string, unknown>>) {
  return {
    stage: 'AWSCURRENT',
    finding: 'accepted',
    version: 'version-1',
    checked_at: '2026-11-01T10:00:00.000Z',
    proven_by: 'request',
    ...members,
  };
}

/** The broker's answer with a problem. */
export function problem(
  type: ProblemType,
  headers: Readonly<Record<string, string>> = {},
  detail = `What happened: ${type}.`,
): Answer {
  const { status, title, retryable } = PROBLEMS[type];
  const body = { type, title, status, detail, retryable, request_id: 'request-1' };
  return answerWith(status, body, { 'content-type': 'application/problem+json', ...headers });
}

export const PROBLEM_TYPES = Object.keys(PROBLEMS).filter((type): type is ProblemType => Object.hasOwn(PROBLEMS, type));

/** AWS's answers in place of the function's; the texts are AWS's own. Some have their name or their message alone. */
export const AWS_ANSWERS = [
  aws('aws-forbidden', 'a policy that does not allow it', '', {
    Message:
      'Forbidden. For troubleshooting Function URL authorization issues, see: https://docs.aws.amazon.com/lambda/',
  }),
  aws('aws-forbidden', 'a Function URL that was deleted', 'AccessDeniedException', { Message: null }),
  aws('aws-signature-mismatch', 'a wrong secret access key', '', {
    message: 'The request signature we calculated does not match the signature … x-amz-security-token:marked-session',
  }),
  signature('aws-signature-mismatch', 'a changed request', ''),
  signature('aws-signature-expired', 'a clock that is behind', 'Signature expired: 20261101T100000Z is now earlier'),
  signature('aws-signature-not-yet-current', 'a clock that is ahead', 'Signature not yet current: 20261101T100600Z is'),
  signature('aws-wrong-scope', 'another region', 'Credential should be scoped to a valid region. '),
  signature('aws-wrong-scope', 'another service', "Credential should be scoped to correct service: 'lambda'."),
  aws('aws-security-token-invalid', 'an unknown access key', 'UnrecognizedClientException', {}),
  aws('aws-security-token-invalid', 'an unknown token', '', { message: 'The security token included … is invalid.' }),
  aws('aws-security-token-expired', 'temporary credentials that have expired', 'ExpiredTokenException', {}),
  aws('aws-security-token-expired', 'an expired token', '', { message: 'The security token included … is expired' }),
  aws('aws-refused', 'a reason that the client does not know', '', { message: 'No.' }),
  aws('aws-refused', 'a page of a firewall', '', '<html>Request blocked</html>'),
  aws('aws-throttled', 'no free concurrency', 'TooManyRequestsException', { message: 'Rate Exceeded.' }, 429),
  aws('aws-function-failed', 'a function that crashed', '', 'Internal Server Error', 502),
  aws('aws-function-failed', 'AWS itself that failed', '', '', 500),
  aws('aws-function-timeout', 'a function that timed out', '', '', 504),
];

function signature(type: FailureType, name: string, message: string) {
  return aws(type, name, 'InvalidSignatureException', { message });
}

function aws(type: FailureType, name: string, errorType: string, body: unknown, status = 403) {
  const headers = errorType === '' ? {} : { 'x-amzn-errortype': errorType };
  return { type, name, answer: answerWith(status, body, headers) };
}
