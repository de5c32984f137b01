import { describe, expect, it } from 'vitest';
import { awsFailure } from '../../../bin/commands/shared/ask-aws.ts';
import { adviceFor } from '../../../client/commands/failure.ts';
import { FINDING_ADVICE, PROBLEM_ADVICE } from '../../../functions/contract.ts';

const ABOUT = { environment: 'prod', client: 'acme' };
const advise = (type: string) => adviceFor({ type, advice: undefined }, ABOUT);

describe('the advice on a problem', () => {
  it.each(Object.keys(PROBLEM_ADVICE))(
    '"%s" is a sentence that a terminal can show, with every name in its place',
    (type) => {
      expect(advise(type)).toMatch(/^[A-Z][^`<>]*\.$/);
    },
  );

  it('is different for every problem, and for every finding', () => {
    for (const advice of [PROBLEM_ADVICE, FINDING_ADVICE]) {
      expect(new Set(Object.values(advice)).size).toBe(Object.keys(advice).length);
    }
  });

  it('names the secret that an operator must look at', () => {
    expect(advise('credential-rejected')).toContain('token-broker/prod/acme');
  });

  it('comes from the failure itself when it has one', () => {
    expect(adviceFor({ type: 'timeout', advice: 'Wait.' }, ABOUT)).toBe('Wait.');
  });

  it.each(['something-new', 'toString'])('has an answer for "%s", which it does not know', (type) => {
    expect(advise(type)).toMatch(/does not know/);
  });
});

const ASKED = ['secretsmanager:ListSecrets', 'eu-west-1'] as const;

describe('a failure of AWS', () => {
  it.each([
    ['AccessDeniedException', 'aws-access-denied'],
    ['ExpiredTokenException', 'aws-credentials-expired'],
    ['ExpiredToken', 'aws-credentials-expired'],
    ['UnrecognizedClientException', 'aws-credentials-invalid'],
    ['InvalidSignatureException', 'aws-credentials-invalid'],
    ['InvalidClientTokenId', 'aws-credentials-invalid'],
    ['CredentialsProviderError', 'aws-credentials-missing'],
    ['ThrottlingException', 'aws-throttled'],
    ['RequestLimitExceeded', 'aws-throttled'],
    ['DecryptionFailure', 'aws-key-unusable'],
    ['KMSAccessDeniedException', 'aws-key-unusable'],
    ['InternalServiceError', 'aws-unavailable'],
    ['TimeoutError', 'aws-unavailable'],
    ['AbortError', 'aborted'],
  ])('%s is "%s"', (name, type) => {
    const failure = awsFailure(Object.assign(new Error('marked: what AWS wrote'), { name }), ...ASKED);
    expect(failure.type).toBe(type);
    expect(failure.advice).not.toBe('');
    expect(JSON.stringify([failure.message, failure.detail, failure.advice])).not.toContain('marked');
  });

  it('names the service, the operation and the region that were asked', () => {
    const error = Object.assign(new Error(), { code: 'ECONNREFUSED' });
    const { detail } = awsFailure(error, ...ASKED);
    expect(detail).toBe('AWS gave no usable answer: secretsmanager:ListSecrets in eu-west-1 (ECONNREFUSED)');
  });

  it('asks for a region when there is none', () => {
    expect(awsFailure(new Error('Region is missing'), ASKED[0], undefined).type).toBe('aws-region-missing');
  });
});
