import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LabelUpdate } from '../../../bin/local/aws/secret-store.ts';
import type { Fault } from '../../support/aws-faults.ts';
import { sign } from '../../support/signers.ts';
import { EXAMPLE_KEY, startSecretsManager } from '../../support/stand-ins.ts';

/** What it answers to good calls, test/contract compares with what moto answers. */
const V1 = '11111111-1111-4111-8111-111111111111';
const V2 = '22222222-2222-4222-8222-222222222222';
const V3 = '33333333-3333-4333-8333-333333333333';

describe('the versions of a secret', () => {
  it('keep AWSPENDING through a promotion, until a put replaces the promoted one', async () => {
    const { put, promote, aws } = await start();
    const stages = async () => (await aws.describeSecret({ SecretId: 'acme' })).VersionIdsToStages;
    await put(V1);
    await put(V2, 'AWSPENDING');
    await promote(V1, V2);
    expect(await stages()).toEqual({ [V1]: ['AWSPREVIOUS'], [V2]: ['AWSCURRENT', 'AWSPENDING'] });
    await put(V3);
    expect(await stages()).toEqual({ [V2]: ['AWSPREVIOUS'], [V3]: ['AWSCURRENT'] });
    const { Versions } = await aws.listSecretVersionIds({ SecretId: 'acme' });
    expect(Versions?.map(({ VersionId }) => VersionId)).toEqual([V2, V3]);
  });

  it('are announced when a stage other than AWSPENDING and AWSPREVIOUS moves to another one', async () => {
    const updates: LabelUpdate[] = [];
    const { put, promote, arn } = await start({ onLabelUpdated: (update) => updates.push(update) });
    await put(V1);
    await put(V2, 'AWSPENDING');
    await put(V3, 'AWSPENDING');
    expect(updates).toEqual([]);
    await promote(V1, V3);
    await put(V2);
    expect(updates).toEqual([{ name: 'acme', arn, versionId: V3, label: 'AWSCURRENT' }]);
  });
});

describe('a secret', () => {
  it('has an ARN of its own each time it is created', async () => {
    const { aws, arn, store } = await start();
    store.remove(store.get('acme'));
    const again = await aws.createSecret({ Name: 'acme' });
    expect(arn).toMatch(/^arn:aws:secretsmanager:us-east-1:111111111111:secret:acme-[A-Za-z0-9]{6}$/);
    expect(again.ARN).not.toBe(arn);
  });

  it('is not found by a partial ARN when its name ends like a complete one', async () => {
    const { aws } = await start();
    const { ARN = '' } = await aws.createSecret({ Name: 'acme-a1b2c3' });
    const partial = aws.describeSecret({ SecretId: ARN.slice(0, ARN.lastIndexOf('-')) });
    await expect(partial).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
    expect(await aws.describeSecret({ SecretId: 'acme-a1b2c3' })).toMatchObject({ ARN });
  });
});

describe('the stand-in for Secrets Manager', () => {
  it.each<readonly [operation: string, body: unknown, status: number, type: string]>([
    ['Nothing', {}, 400, 'UnknownOperationException'],
    ['GetSecretValue', undefined, 400, 'SerializationException'],
    ['GetSecretValue', ['a-value'], 400, 'ValidationException'],
    ['GetSecretValue', { SecretId: 'a-value *' }, 400, 'ValidationException'],
    ['GetSecretValue', { SecretId: 'a-value'.repeat(200_000) }, 413, 'RequestEntityTooLargeException'],
    ['CreateSecret', { Name: 'other', SecretString: 'a-value' }, 400, 'InvalidRequestException'],
    ['PutSecretValue', { SecretId: 'acme', SecretString: ['a-value'] }, 400, 'ValidationException'],
    ['ListSecrets', { Filters: [{ Key: 'a-value', Values: ['x'] }] }, 400, 'ValidationException'],
    ['UpdateSecretVersionStage', { SecretId: 'acme', VersionStage: 'AWSPENDING' }, 400, 'InvalidParameterException'],
  ])('refuses %s with what it cannot use, and repeats no value of it', async (operation, body, status, type) => {
    const { url } = await start();
    const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `secretsmanager.${operation}` };
    const request = { method: 'POST', url: `${url}/`, headers, body: JSON.stringify(body) ?? '' };
    const scope = { service: 'secretsmanager', region: 'us-east-1' };
    const signed = await sign('aws4fetch', request, EXAMPLE_KEY, new Date(), scope);
    const answer = await fetch(request.url, { ...request, headers: { ...headers, ...signed } });
    const text = await answer.text();
    expect(answer.status).toBe(status);
    expect(JSON.parse(text)).toMatchObject({ __type: type });
    expect(text).not.toContain('a-value');
  });

  it.each([
    ['throttled', { name: 'ThrottlingException', $metadata: { httpStatusCode: 400 } }],
    ['access-denied', { name: 'AccessDeniedException', $metadata: { httpStatusCode: 400 } }],
    ['key-denied', { name: 'AccessDeniedException', $metadata: { httpStatusCode: 400 } }],
    ['key-disabled', { name: 'KMSInvalidStateException', $metadata: { httpStatusCode: 400 } }],
    ['decryption-failure', { name: 'DecryptionFailure', $metadata: { httpStatusCode: 400 } }],
    ['internal-error', { name: 'InternalServiceError', $metadata: { httpStatusCode: 500 } }],
    ['bad-gateway', { $metadata: { httpStatusCode: 502 } }],
    ['garbage', { name: 'SyntaxError' }],
    ['reset', { code: 'ECONNRESET' }],
    ['hang', { name: 'AbortError' }],
    ['stall', { name: 'AbortError' }],
  ] satisfies [Fault, object][])('can fail a call: %s', async (fault, error) => {
    const { aws, failWith, calls } = await start();
    failWith(fault, 1);
    const isSilent = fault === 'hang' || fault === 'stall';
    const patience = isSilent ? { abortSignal: AbortSignal.timeout(100) } : {};
    await expect(aws.describeSecret({ SecretId: 'acme' }, patience)).rejects.toMatchObject(error);
    expect(await aws.describeSecret({ SecretId: 'acme' })).toMatchObject({ Name: 'acme' });
    expect(calls).toEqual(['CreateSecret', 'DescribeSecret', 'DescribeSecret']);
  });
});

/** A stand-in that holds the secret `acme`, still without a value. */
async function start(options: Parameters<typeof startSecretsManager>[0] = {}) {
  const standIn = await startSecretsManager(options);
  onTestFinished(standIn.close);
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };
  const aws = new SecretsManager({ endpoint: standIn.url, region: 'us-east-1', credentials, maxAttempts: 1 });
  const { ARN: arn } = await aws.createSecret({ Name: 'acme' });
  const acme = { SecretId: 'acme' };
  return {
    ...standIn,
    aws,
    arn,
    put: (ClientRequestToken: string, stage = 'AWSCURRENT') =>
      aws.putSecretValue({ ...acme, SecretString: 'a value', ClientRequestToken, VersionStages: [stage] }),
    promote: (RemoveFromVersionId: string, MoveToVersionId: string) =>
      aws.updateSecretVersionStage({ ...acme, VersionStage: 'AWSCURRENT', RemoveFromVersionId, MoveToVersionId }),
  };
}
