import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Fault } from '../../support/aws-faults.ts';
import { sign } from '../../support/signers.ts';
import { EXAMPLE_KEY, startSecretsManager } from '../../support/stand-ins.ts';

const TYPE = { 'content-type': 'application/x-amz-json-1.1' };

describe('a request to the stand-in for Secrets Manager', () => {
  it.each([
    ['without a target', { headers: TYPE }, 400, 'UnknownOperationException'],
    ['for another service', { headers: target('dynamodb.GetItem') }, 400, 'UnknownOperationException'],
    [
      'for an operation that is not there',
      { headers: target('secretsmanager.Nothing') },
      400,
      'UnknownOperationException',
    ],
    ['that is not a POST', { method: 'PUT' }, 404, 'UnknownOperationException'],
    ['for another path', { path: '/other' }, 404, 'UnknownOperationException'],
    [
      'of another content type',
      { headers: { ...target(), 'content-type': 'text/plain' } },
      404,
      'UnknownOperationException',
    ],
    ['without a body', { body: '' }, 400, 'SerializationException'],
    ['that is not UTF-8', { body: new Uint8Array([0x22, 0xff, 0x22]) }, 400, 'SerializationException'],
    ['with a list for a body', { body: '["a-value"]' }, 400, 'ValidationException'],
    ['without the secret’s id', { body: '{}' }, 400, 'ValidationException'],
    ['with an id that is a number', { body: '{"SecretId":1}' }, 400, 'ValidationException'],
    ['with an id that cannot be one', { body: '{"SecretId":"a-value *"}' }, 400, 'ValidationException'],
    [
      'that is too large',
      { body: `{"SecretId":"${'a-value'.repeat(200_000)}"}` },
      413,
      'RequestEntityTooLargeException',
    ],
  ])('%s is refused', async (_what, request, status, type) => {
    const { url } = await start();
    const answer = await send(url, request);
    const text = await answer.text();
    expect(answer.status).toBe(status);
    expect(JSON.parse(text)).toMatchObject({ __type: type });
    expect(text).not.toContain('a-value');
  });

  it.each([
    ['CreateSecret', { Name: 'other', SecretString: 'a-value' }, 'ValidationException'],
    ['CreateSecret', { Name: 'a-value *', ClientRequestToken: 'x'.repeat(32) }, 'ValidationException'],
    [
      'CreateSecret',
      { Name: 'other', SecretBinary: '*a-value*', ClientRequestToken: 'x'.repeat(32) },
      'ValidationException',
    ],
    ['CreateSecret', { Name: 'other', Tags: [{ Value: 'a-value' }] }, 'ValidationException'],
    ['PutSecretValue', { SecretId: 'acme', SecretString: ['a-value'] }, 'ValidationException'],
    ['PutSecretValue', { SecretId: 'acme', SecretString: 'a-value', VersionStages: [] }, 'ValidationException'],
    ['GetSecretValue', { SecretId: 'acme', VersionId: 'a-value' }, 'ValidationException'],
    ['ListSecrets', { Filters: [{ Key: 'a-value', Values: ['x'] }] }, 'ValidationException'],
    ['ListSecrets', { Filters: [{ Key: 'name' }] }, 'ValidationException'],
    ['ListSecrets', { MaxResults: 101 }, 'ValidationException'],
    ['UpdateSecretVersionStage', { SecretId: 'acme', VersionStage: 'AWSPENDING' }, 'InvalidParameterException'],
    ['BatchGetSecretValue', { SecretIdList: ['acme'] }, 'UnknownOperationException'],
  ])('%s with %j is refused as %3$s', async (operation, input, type) => {
    const { url } = await start();
    const answer = await send(url, { headers: target(`secretsmanager.${operation}`), body: JSON.stringify(input) });
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject({ __type: type });
    expect(text).not.toContain('a-value');
  });

  it('may hold members that the stand-in does not know', async () => {
    const { url } = await start();
    const answer = await send(url, {
      body: '{"SecretId":"acme","Unknown":1,"__proto__":{"VersionId":"x"},"VersionStage":null}',
    });
    expect(await answer.json()).toMatchObject({ Name: 'acme', SecretString: 'a-value' });
  });
});

describe('the stand-in for Secrets Manager', () => {
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
    const { aws, failWith } = await start();
    failWith(fault, 1);
    const isSilent = fault === 'hang' || fault === 'stall';
    const patience = isSilent ? { abortSignal: AbortSignal.timeout(100) } : {};
    await expect(aws.getSecretValue({ SecretId: 'acme' }, patience)).rejects.toMatchObject(error);
    expect(await aws.getSecretValue({ SecretId: 'acme' })).toMatchObject({ SecretString: 'a-value' });
  });

  it('fails every call until it is told to stop', async () => {
    const { aws, failWith } = await start();
    failWith('throttled');
    for (let call = 0; call < 3; call++) await expect(aws.listSecrets({})).rejects.toThrow('Rate exceeded');
    failWith(undefined);
    await expect(aws.listSecrets({})).resolves.toBeDefined();
  });

  it('remembers which operations were called, and nothing else', async () => {
    const { url, aws, calls } = await start();
    await aws.getSecretValue({ SecretId: 'acme' });
    await aws.describeSecret({ SecretId: 'unknown' }).catch(() => undefined);
    await send(url, { headers: TYPE });
    expect(calls).toEqual(['CreateSecret', 'GetSecretValue', 'DescribeSecret', 'unknown']);
  });
});

/** A stand-in that holds the secret `acme`. */
async function start() {
  const standIn = await startSecretsManager();
  onTestFinished(standIn.close);
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };
  const aws = new SecretsManager({ endpoint: standIn.url, region: 'us-east-1', credentials, maxAttempts: 1 });
  await aws.createSecret({ Name: 'acme', SecretString: 'a-value' });
  return { ...standIn, aws };
}

interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

async function send(url: string, request: RawRequest) {
  const { method = 'POST', path = '/', headers = target(), body = '{"SecretId":"acme"}' } = request;
  const unsigned = { method, url: `${url}${path}`, headers, body };
  const scope = { service: 'secretsmanager', region: 'us-east-1' };
  const signed = await sign('aws4fetch', unsigned, EXAMPLE_KEY, new Date(), scope);
  return fetch(unsigned.url, { method, headers: { ...headers, ...signed }, body });
}

function target(operation = 'secretsmanager.GetSecretValue'): Record<string, string> {
  return { ...TYPE, 'x-amz-target': operation };
}
