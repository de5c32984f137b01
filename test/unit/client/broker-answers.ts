import type { FailureType } from '../../../client/error.ts';
import { PROBLEMS, type ProblemType } from '../../../functions/contract.ts';
import { type Answer, answerWith } from './loopback-server.ts';

export const ACCESS_TOKEN = 'marked-access-token-0123456789';

/** What the broker answers when it issues a token that still lives 3599 s at `now`. */
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

/** What the broker answers to a check of the pair in `members`. */
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

/** What the broker answers when it fails with a problem. */
export function problem(type: ProblemType, headers: Readonly<Record<string, string>> = {}): Answer {
  const { status, title, retryable } = PROBLEMS[type];
  const body = { type, title, status, detail: `What happened: ${type}.`, retryable, request_id: 'request-1' };
  return answerWith(status, body, { 'content-type': 'application/problem+json', ...headers });
}

export const PROBLEM_TYPES = Object.keys(PROBLEMS).filter((type): type is ProblemType => Object.hasOwn(PROBLEMS, type));

/** What AWS answers before the function is called; the texts are AWS's own. */
export const AWS_ANSWERS: readonly { readonly type: FailureType; readonly name: string; readonly answer: Answer }[] = [
  {
    type: 'aws-forbidden',
    name: 'a policy that does not allow it',
    answer: answerWith(
      403,
      {
        Message:
          'Forbidden. For troubleshooting Function URL authorization issues, see: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html',
      },
      { 'x-amzn-errortype': 'AccessDeniedException' },
    ),
  },
  {
    type: 'aws-forbidden',
    name: 'a Function URL that was deleted',
    answer: answerWith(403, { Message: null }, { 'x-amzn-errortype': 'AccessDeniedException' }),
  },
  {
    type: 'aws-signature-mismatch',
    name: 'a wrong secret access key',
    answer: signatureRefused(
      'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
    ),
  },
  {
    type: 'aws-signature-expired',
    name: 'a clock that is behind',
    answer: signatureRefused(
      'Signature expired: 20261101T100000Z is now earlier than 20261101T100100Z (20261101T100600Z - 5 min.)',
    ),
  },
  {
    type: 'aws-signature-not-yet-current',
    name: 'a clock that is ahead',
    answer: signatureRefused(
      'Signature not yet current: 20261101T100600Z is still later than 20261101T100500Z (20261101T100000Z + 5 min.)',
    ),
  },
  {
    type: 'aws-wrong-scope',
    name: 'another region',
    answer: signatureRefused('Credential should be scoped to a valid region. '),
  },
  {
    type: 'aws-wrong-scope',
    name: 'another AWS service',
    answer: signatureRefused("Credential should be scoped to correct service: 'lambda'."),
  },
  {
    type: 'aws-security-token-invalid',
    name: 'an unknown access key',
    answer: answerWith(
      403,
      { message: 'The security token included in the request is invalid.' },
      { 'x-amzn-errortype': 'UnrecognizedClientException' },
    ),
  },
  {
    type: 'aws-security-token-expired',
    name: 'temporary credentials that have expired',
    answer: answerWith(
      403,
      { message: 'The security token included in the request is expired' },
      { 'x-amzn-errortype': 'ExpiredTokenException' },
    ),
  },
  { type: 'aws-refused', name: 'a reason that the client does not know', answer: answerWith(403, { message: 'No.' }) },
  { type: 'aws-refused', name: 'a page of a firewall', answer: answerWith(403, '<html>Request blocked</html>') },
  {
    type: 'aws-throttled',
    name: 'no free concurrency',
    answer: answerWith(
      429,
      { Reason: 'ReservedFunctionConcurrentInvocationLimitExceeded', Type: 'User', message: 'Rate Exceeded.' },
      { 'x-amzn-errortype': 'TooManyRequestsException' },
    ),
  },
  { type: 'aws-function-failed', name: 'a function that crashed', answer: answerWith(502, 'Internal Server Error') },
  { type: 'aws-function-timeout', name: 'a function that timed out', answer: answerWith(504, '') },
];

function signatureRefused(message: string): Answer {
  return answerWith(403, { message }, { 'x-amzn-errortype': 'InvalidSignatureException' });
}
