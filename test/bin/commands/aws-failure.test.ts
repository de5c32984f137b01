import { describe, expect, it } from 'vitest';
import { awsFailure } from '../../../bin/commands/shared/aws-failure.ts';

const ASKED = { action: 'secretsmanager:ListSecrets', region: 'eu-west-1' };

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
    const failure = awsFailure(Object.assign(new Error('marked: what AWS wrote'), { name }), ASKED);
    expect(failure.type).toBe(type);
    expect(failure.advice).not.toBe('');
    expect(JSON.stringify([failure.message, failure.detail, failure.advice])).not.toContain('marked');
  });

  it('says what was asked of whom', () => {
    const error = Object.assign(new Error(), { code: 'ECONNREFUSED' });
    const { detail } = awsFailure(error, ASKED);
    expect(detail).toBe('AWS gave no usable answer: secretsmanager:ListSecrets in eu-west-1 (ECONNREFUSED)');
  });

  it('asks for a region when there is none', () => {
    expect(awsFailure(new Error('Region is missing'), { ...ASKED, region: undefined }).type).toBe('aws-region-missing');
  });
});
