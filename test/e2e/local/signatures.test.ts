import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, ListSecretsCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { send } from '../../support/requests.ts';
import { sign } from '../../support/signers.ts';
import { EXAMPLE_KEY, startDynamoDB, startSecretsManager, startSns, startSts } from '../../support/stand-ins.ts';

const TOPIC = 'arn:aws:sns:us-east-1:111111111111:topic';
const PROBE = { role: 'arn:aws:iam::111111111111:role/probe', accessKeyId: 'AKIDPROBE', secretAccessKey: 'marked-key' };
const SESSION = { ...EXAMPLE_KEY, accessKeyId: 'ASIASESSION', sessionToken: 'session' };
const READER = { ...EXAMPLE_KEY, accessKeyId: 'AKIDREADER' };
const CALLER = { ...EXAMPLE_KEY, accessKeyId: 'AKIDCALLER', mayReadSecrets: false };
const KEYS = { keys: [READER, CALLER, SESSION] };

type Key = Pick<typeof SESSION, 'accessKeyId' | 'secretAccessKey'> & { readonly sessionToken?: string };

/** One call of each service, with what it answers when it lets the caller in. */
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

interface Config {
  readonly endpoint: string;
  readonly region: string;
  readonly maxAttempts: number;
  readonly credentials: Key;
}

describe.each(Object.entries(SERVICES))('the stand-in for %s', (service, { start, call, answer }) => {
  const isQuery = service === 'SNS' || service === 'STS';

  async function asked(credentials: Key, region = 'us-east-1') {
    const standIn = await start();
    onTestFinished(standIn.close);
    return call({ endpoint: standIn.url, region, maxAttempts: 1, credentials });
  }

  it.each([READER, CALLER, SESSION])('lets in what $accessKeyId has signed', async (key) => {
    expect(await asked(key)).toMatchObject(answer);
    expect(await asked(key, 'eu-west-1')).toMatchObject(answer);
  });

  it.each([
    ["a stranger's key", { ...READER, accessKeyId: 'AKIDSTRANGER' }, UNKNOWN_KEY],
    ['a wrong secret access key', { ...READER, secretAccessKey: 'wrong' }, MISMATCH],
    ['a wrong session token', { ...SESSION, sessionToken: 'other' }, UNKNOWN_KEY],
  ])('refuses what was signed with %s', async (_, key, names) => {
    await expect(asked(key)).rejects.toMatchObject({
      name: names[isQuery ? 1 : 0],
      $metadata: { httpStatusCode: isQuery ? 403 : 400 },
    });
  });

  it('refuses a header that only looks like a signature, and no header', async () => {
    const { url, close } = await start();
    onTestFinished(close);
    const scope = 'Credential=AKIDREADER/20260101/us-east-1/secretsmanager/aws4_request';
    const forged = { authorization: `AWS4-HMAC-SHA256 ${scope}, SignedHeaders=host, Signature=${'0'.repeat(64)}` };
    const answers = [{}, { authorization: `AWS4-HMAC-SHA256 ${scope}` }, forged].map(async (headers) => {
      const { status, body } = await send({ method: 'POST', url: `${url}/`, headers, body: '{}' });
      return { status, type: /Missing\w+|Incomplete\w+|Invalid\w+|\w+DoesNotMatch/.exec(body)?.[0] };
    });

    expect(await Promise.all(answers)).toEqual(
      isQuery
        ? [
            { status: 403, type: 'MissingAuthenticationToken' },
            { status: 403, type: 'IncompleteSignature' },
            { status: 403, type: 'IncompleteSignature' },
          ]
        : [
            { status: 400, type: 'MissingAuthenticationTokenException' },
            { status: 400, type: 'IncompleteSignatureException' },
            { status: 400, type: 'IncompleteSignatureException' },
          ],
    );
  });
});

const UNKNOWN_KEY = ['UnrecognizedClientException', 'InvalidClientTokenId'] as const;
const MISMATCH = ['InvalidSignatureException', 'SignatureDoesNotMatch'] as const;

describe('the value of a secret', () => {
  it('is for a key whose role may read it, and for no other', async () => {
    const { url, store, close } = await startSecretsManager(KEYS);
    onTestFinished(close);
    for (const name of ['token-broker/local/acme', 'token-broker-keys/local/sealing']) {
      store.create(name).versions.add('v'.repeat(32), { SecretString: 'marked-value' });
      const read = (credentials: Key) =>
        new SecretsManagerClient({ endpoint: url, region: 'us-east-1', maxAttempts: 1, credentials }).send(
          new GetSecretValueCommand({ SecretId: name }),
        );
      expect(await read(READER)).toMatchObject({ SecretString: 'marked-value' });
      await expect(read(CALLER)).rejects.toMatchObject({
        name: 'AccessDeniedException',
        message: expect.stringMatching(/role\/example is not authorized to perform: secretsmanager:GetSecretValue$/),
      });
    }
  });

  it('is not given for a signature of another service', async () => {
    const { url, store, close } = await startSecretsManager(KEYS);
    onTestFinished(close);
    store.create('acme').versions.add('v'.repeat(32), { SecretString: 'marked-value' });
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
