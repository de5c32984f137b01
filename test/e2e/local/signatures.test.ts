import { connect } from 'node:net';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { ListSecretsCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startDynamoDB } from '../../../bin/local/aws/dynamodb.ts';
import { startLogs } from '../../../bin/local/aws/logs.ts';
import { startSecretsManager } from '../../../bin/local/aws/secrets-manager.ts';
import { startSns, startSts } from '../../../bin/local/aws/sns-sts.ts';
import type { SigningKey } from '../../../bin/local/function-url/sigv4.ts';
import type { LoopbackServer } from '../../../bin/local/loopback.ts';
import { sign } from '../../support/aws/signers.ts';
import { EXAMPLE_KEY } from '../../support/processes/stand-ins.ts';
import { send } from '../../support/requests.ts';

const TOPIC = 'arn:aws:sns:us-east-1:111111111111:topic';
const PROBE = { role: 'arn:aws:iam::111111111111:role/probe', accessKeyId: 'AKIDPROBE', secretAccessKey: 'marked-key' };
const SESSION = { ...EXAMPLE_KEY, accessKeyId: 'ASIASESSION', sessionToken: 'session' };
const READER = { ...EXAMPLE_KEY, accessKeyId: 'AKIDREADER' };
const CALLER = { ...EXAMPLE_KEY, accessKeyId: 'AKIDCALLER', mayReadSecrets: false };
const KEYS = { keys: [READER, CALLER, SESSION] };

function clientConfig(endpoint: string, credentials: Pick<SigningKey, 'accessKeyId' | 'secretAccessKey'>) {
  return { endpoint, region: 'eu-west-1', maxAttempts: 1, credentials };
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

/** What a signature is, function-url.test.ts and sigv4.test.ts show. */
describe.each(Object.entries(SERVICES))('the stand-in for %s', (service, { start, call, answer }) => {
  const isQuery = service === 'SNS' || service === 'STS';

  it('lets in requests that one of its keys has signed, in any region', async () => {
    const url = await urlOf(start);
    for (const key of [READER, CALLER, SESSION]) {
      expect(await call(clientConfig(url, key))).toMatchObject(answer);
    }
  });

  it.each([
    ["a stranger's key", { ...READER, accessKeyId: 'AKIDSTRANGER' }, UNKNOWN_KEY],
    ['a wrong secret access key', { ...READER, secretAccessKey: 'wrong' }, MISMATCH],
  ])('refuses requests that were signed with %s', async (_, key, names) => {
    await expect(call(clientConfig(await urlOf(start), key))).rejects.toMatchObject({
      name: names[isQuery ? 1 : 0],
      $metadata: { httpStatusCode: isQuery ? 403 : 400 },
    });
  });

  it('refuses a header that only looks like a signature, and no header, and survives a client that hangs up', async () => {
    const url = await urlOf(start);
    connect(Number(new URL(url).port), '127.0.0.1')
      .on('error', () => undefined)
      .end('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf');
    const scope = 'Credential=AKIDREADER/20260101/us-east-1/secretsmanager/aws4_request';
    const answers = [{}, { authorization: `AWS4-HMAC-SHA256 ${scope}` }].map(async (headers) => {
      const { status, body } = await send({ method: 'POST', url: `${url}/`, headers, body: '{}' });
      return `${status} ${/Missing\w+|Incomplete\w+/.exec(body)?.[0]}`;
    });
    const types = ['MissingAuthenticationToken', 'IncompleteSignature'];
    expect(await Promise.all(answers)).toEqual(types.map((type) => (isQuery ? `403 ${type}` : `400 ${type}Exception`)));
  });
});

const UNKNOWN_KEY = ['UnrecognizedClientException', 'InvalidClientTokenId'] as const;
const MISMATCH = ['InvalidSignatureException', 'SignatureDoesNotMatch'] as const;

it('the value of a secret is for a key whose role may read it, and not for a signature of another service', async () => {
  const url = await urlOf(async () => {
    const standIn = await startSecretsManager(KEYS);
    standIn.store.put('acme', 'marked-value');
    return standIn;
  });
  const read = (key: SigningKey, service?: string) =>
    ask(url, 'secretsmanager.GetSecretValue', { SecretId: 'acme' }, { key, service });

  expect(await read(READER)).toMatchObject({ status: 200, body: expect.stringContaining('marked-value') });
  const refusals = [await read(CALLER), await read(READER, 'lambda')];
  expect(refusals).toMatchObject([{ status: 400 }, { status: 400 }]);
  expect(JSON.stringify(refusals)).not.toContain('marked-value');
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
  const answer = await ask(await urlOf(start), `${service}.${operation}`, body);
  expect({ status: answer.status, type: JSON.parse(answer.body).__type }).toEqual({ status: 400, type });
  expect(answer.body).not.toContain('a-value');
});

async function urlOf(start: () => Promise<LoopbackServer>): Promise<string> {
  const { url, close } = await start();
  onTestFinished(close);
  return url;
}

/** Calls an operation of a JSON service, signed for that service when none is named. */
async function ask(url: string, target: string, input: unknown, { key = READER, service }: Signature = {}) {
  const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': target };
  const request = { method: 'POST', url: `${url}/`, headers, body: JSON.stringify(input) ?? '' };
  const scope = { service: service ?? target.replace(/\..*/, ''), region: 'us-east-1' };
  return send({ ...request, headers: { ...headers, ...(await sign('aws4fetch', request, key, new Date(), scope)) } });
}

interface Signature {
  readonly key?: SigningKey;
  readonly service?: string | undefined;
}
