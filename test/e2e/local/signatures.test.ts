import { connect } from 'node:net';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, ListSecretsCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startDynamoDB } from '../../../bin/local/aws/dynamodb.ts';
import { startLogs } from '../../../bin/local/aws/logs.ts';
import { startSecretsManager } from '../../../bin/local/aws/secrets-manager.ts';
import { startSns, startSts } from '../../../bin/local/aws/sns-sts.ts';
import { sign } from '../../support/aws/signers.ts';
import { EXAMPLE_KEY } from '../../support/processes/stand-ins.ts';
import { send } from '../../support/requests.ts';

const TOPIC = 'arn:aws:sns:us-east-1:111111111111:topic';
const PROBE = { role: 'arn:aws:iam::111111111111:role/probe', accessKeyId: 'AKIDPROBE', secretAccessKey: 'marked-key' };
const SESSION = { ...EXAMPLE_KEY, accessKeyId: 'ASIASESSION', sessionToken: 'session' };
const READER = { ...EXAMPLE_KEY, accessKeyId: 'AKIDREADER' };
const CALLER = { ...EXAMPLE_KEY, accessKeyId: 'AKIDCALLER', mayReadSecrets: false };
const KEYS = { keys: [READER, CALLER, SESSION] };

type Key = Pick<typeof SESSION, 'accessKeyId' | 'secretAccessKey'> & { readonly sessionToken?: string };

function clientConfig(endpoint: string, credentials: Key, region = 'us-east-1') {
  return { endpoint, region, maxAttempts: 1, credentials };
}

type Config = ReturnType<typeof clientConfig>;

/** One call of each service, with its answer to a caller that it lets in. */
const SERVICES = {
  'Secrets Manager': {
    start: () => startSecretsManager(KEYS),
    call: (config: Config) => new SecretsManagerClient(config).send(new ListSecretsCommand({})),
    answer: { SecretList: [] },
  },
  DynamoDB: {
    start: () => startDynamoDB(KEYS),
    call: (config: Config) => new DynamoDBClient(config).send(new ListTablesCommand({})),
    answer: { TableNames: [] },
  },
  SNS: {
    start: () => startSns({ ...KEYS, topicArn: TOPIC, onMessage: () => undefined }),
    call: (config: Config) => new SNSClient(config).send(new PublishCommand({ TopicArn: TOPIC, Message: 'hello' })),
    answer: { MessageId: expect.any(String) },
  },
  STS: {
    start: () => startSts({ ...KEYS, roles: [PROBE] }),
    call: (config: Config) =>
      new STSClient(config).send(new AssumeRoleCommand({ RoleArn: PROBE.role, RoleSessionName: 'probe' })),
    answer: { Credentials: { AccessKeyId: PROBE.accessKeyId } },
  },
};

describe.each(Object.entries(SERVICES))('the stand-in for %s', (service, { start, call, answer }) => {
  const isQuery = service === 'SNS' || service === 'STS';

  async function started() {
    const standIn = await start();
    onTestFinished(standIn.close);
    return standIn.url;
  }

  it.each([READER, CALLER, SESSION])('lets in requests that $accessKeyId has signed, in any region', async (key) => {
    const url = await started();
    expect(await call(clientConfig(url, key))).toMatchObject(answer);
    expect(await call(clientConfig(url, key, 'eu-west-1'))).toMatchObject(answer);
  });

  it.each([
    ["a stranger's key", { ...READER, accessKeyId: 'AKIDSTRANGER' }, UNKNOWN_KEY],
    ['a wrong secret access key', { ...READER, secretAccessKey: 'wrong' }, MISMATCH],
    ['a wrong session token', { ...SESSION, sessionToken: 'other' }, UNKNOWN_KEY],
  ])('refuses requests that were signed with %s', async (_, key, names) => {
    await expect(call(clientConfig(await started(), key))).rejects.toMatchObject({
      name: names[isQuery ? 1 : 0],
      $metadata: { httpStatusCode: isQuery ? 403 : 400 },
    });
  });

  it('refuses a header that only looks like a signature, and no header, and survives a client that hangs up', async () => {
    const url = await started();
    connect(Number(new URL(url).port), '127.0.0.1')
      .on('error', () => undefined)
      .end('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf');
    const scope = 'Credential=AKIDREADER/20260101/us-east-1/secretsmanager/aws4_request';
    const forged = `AWS4-HMAC-SHA256 ${scope}, SignedHeaders=host, Signature=${'0'.repeat(64)}`;
    const sent = [{}, { authorization: `AWS4-HMAC-SHA256 ${scope}` }, { authorization: forged }];
    const answers = sent.map(async (headers) => {
      const { status, body } = await send({ method: 'POST', url: `${url}/`, headers, body: '{}' });
      return `${status} ${/Missing\w+|Incomplete\w+/.exec(body)?.[0]}`;
    });
    const types = ['MissingAuthenticationToken', 'IncompleteSignature', 'IncompleteSignature'];
    expect(await Promise.all(answers)).toEqual(types.map((type) => (isQuery ? `403 ${type}` : `400 ${type}Exception`)));
  });
});

const UNKNOWN_KEY = ['UnrecognizedClientException', 'InvalidClientTokenId'] as const;
const MISMATCH = ['InvalidSignatureException', 'SignatureDoesNotMatch'] as const;

describe('the value of a secret', () => {
  async function startWithSecret() {
    const standIn = await startSecretsManager(KEYS);
    onTestFinished(standIn.close);
    standIn.store.put('acme', 'marked-value');
    return standIn;
  }

  it('is for a key whose role may read it, and for no other', async () => {
    const { url } = await startWithSecret();
    const read = (key: Key) =>
      new SecretsManagerClient(clientConfig(url, key)).send(new GetSecretValueCommand({ SecretId: 'acme' }));

    expect(await read(READER)).toMatchObject({ SecretString: 'marked-value' });
    await expect(read(CALLER)).rejects.toMatchObject({
      name: 'AccessDeniedException',
      message: expect.stringMatching(
        /role\/example is not authorized .* because no identity-based policy allows the secretsmanager:GetSecretValue/,
      ),
    });
  });

  it('is not given for a signature of another service', async () => {
    const { url } = await startWithSecret();
    const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'secretsmanager.GetSecretValue' };
    const request = { method: 'POST', url: `${url}/`, headers, body: '{"SecretId":"acme"}' };
    const ask = async (service: string) => {
      const signed = await sign('aws4fetch', request, READER, new Date(), { service, region: 'us-east-1' });
      return send({ ...request, headers: { ...headers, ...signed } });
    };

    expect(await ask('secretsmanager')).toMatchObject({ status: 200, body: expect.stringContaining('marked-value') });
    expect(await ask('lambda')).toMatchObject({ status: 400, body: expect.not.stringContaining('marked-value') });
  });
});

it.each<readonly [operation: string, body: unknown, type: string]>([
  ['Nothing', {}, 'UnknownOperationException'],
  ['GetSecretValue', undefined, 'SerializationException'],
  ['GetSecretValue', ['a-value'], 'ValidationException'],
  ['GetSecretValue', { SecretId: 'a-value *' }, 'ValidationException'],
  ['PutSecretValue', { SecretId: 'acme', SecretString: ['a-value'] }, 'ValidationException'],
  ['FilterLogEvents', { logGroupName: 'broker', filterPattern: 'a-value' }, 'ValidationException'],
])('%s is refused with what it cannot use, and no value of it is repeated', async (operation, body, type) => {
  const [service, start] =
    operation === 'FilterLogEvents'
      ? (['logs', () => startLogs({ ...KEYS, logGroup: 'broker' })] as const)
      : (['secretsmanager', () => startSecretsManager(KEYS)] as const);
  const { url, close } = await start();
  onTestFinished(close);
  const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `${service}.${operation}` };
  const request = { method: 'POST', url: `${url}/`, headers, body: JSON.stringify(body) ?? '' };
  const signed = await sign('aws4fetch', request, READER, new Date(), { service, region: 'us-east-1' });
  const answer = await send({ ...request, headers: { ...headers, ...signed } });
  expect({ status: answer.status, type: JSON.parse(answer.body).__type }).toEqual({ status: 400, type });
  expect(answer.body).not.toContain('a-value');
});
