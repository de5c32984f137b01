import { once } from 'node:events';
import { connect } from 'node:net';
import { DescribeTableCommand, DynamoDBClient, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ensurePairTable, ensureSealingKey } from '../../../bin/local/aws/dynamodb.ts';
import { createSealingKeys } from '../../../functions/aws/sealing/sealing-key.ts';
import { createSecretsManagerClient } from '../../../functions/aws/secrets-manager.ts';
import { START } from '../../support/example.ts';
import { startDynamoDB, startSecretsManager } from '../../support/stand-ins.ts';

const ACCESS = { region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' } };

describe('the table of pairs', () => {
  it('survives a client that goes away in the middle of a request', async () => {
    const { url, dynamodb } = await start();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write('POST / HTTP/1.1\r\nhost: example.com\r\ncontent-length: 100\r\n\r\n{');
    // When it answers other requests, it has seen the beginning of this one.
    await ensurePairTable(dynamodb, 'pairs');
    socket.resetAndDestroy();
    await once(socket, 'close');
    expect((await dynamodb.send(new ScanCommand({ TableName: 'pairs' }))).Count).toBe(0);
  });

  it('exists as soon as one of several simultaneous attempts to create it is done, on this server alone', async () => {
    const [{ dynamodb }, other] = [await start(), await start()];
    await Promise.all([1, 2, 3].map(() => ensurePairTable(dynamodb, 'pairs')));
    const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName: 'pairs' }));
    expect(Table).toMatchObject({
      TableStatus: 'ACTIVE',
      KeySchema: [{ AttributeName: 'pair', KeyType: 'HASH' }],
      BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' },
    });
    await expect(other.dynamodb.send(new ScanCommand({ TableName: 'pairs' }))).rejects.toThrow('not found');
  });

  it('stays as it is when it exists, and is not made under a name that DynamoDB does not take', async () => {
    const { dynamodb } = await start();
    await ensurePairTable(dynamodb, 'pairs');
    await dynamodb.send(new PutItemCommand({ TableName: 'pairs', Item: { pair: { S: 'acme/customer-insights' } } }));
    await ensurePairTable(dynamodb, 'pairs');
    expect((await dynamodb.send(new ScanCommand({ TableName: 'pairs' }))).Count).toBe(1);
    await expect(ensurePairTable(dynamodb, '?')).rejects.toThrow('TableName');
  });
});

describe('the sealing key', () => {
  it('is made once by several simultaneous attempts, and can be read by the broker', async () => {
    const { secretsManager } = await startSecrets();
    await Promise.all([1, 2, 3].map(() => ensureSealingKey(secretsManager, 'dev')));
    const keys = createSealingKeys({ secretsManager, environment: 'dev', now: () => START });
    expect((await keys.current())?.material.symmetricKeySize).toBeGreaterThanOrEqual(32);
  });

  it('stays as it is when it exists, and differs in another environment', async () => {
    const { secretsManager, read } = await startSecrets();
    await ensureSealingKey(secretsManager, 'dev');
    const first = await read('dev');
    await ensureSealingKey(secretsManager, 'dev');
    await ensureSealingKey(secretsManager, 'prod');
    expect(await read('dev')).toBe(first);
    expect(await read('prod')).not.toBe(first);
  });

  it('is not replaced while it is marked for deletion', async () => {
    const { secretsManager, store } = await startSecrets();
    await ensureSealingKey(secretsManager, 'dev');
    store.get('token-broker-keys/dev/sealing').deletion = { goneAt: Date.now() + 60_000 };
    await expect(ensureSealingKey(secretsManager, 'dev')).rejects.toMatchObject({ name: 'InvalidRequestException' });
  });
});

async function start() {
  const standIn = await startDynamoDB();
  const dynamodb = new DynamoDBClient({ endpoint: standIn.url, ...ACCESS });
  onTestFinished(async () => {
    dynamodb.destroy();
    await standIn.close();
  });
  return { ...standIn, dynamodb };
}

async function startSecrets() {
  const standIn = await startSecretsManager();
  const secretsManager = createSecretsManagerClient({ endpoint: standIn.url, ...ACCESS });
  onTestFinished(async () => {
    secretsManager.destroy();
    await standIn.close();
  });
  const read = async (environment: string) => {
    const command = new GetSecretValueCommand({ SecretId: `token-broker-keys/${environment}/sealing` });
    return (await secretsManager.send(command)).SecretString;
  };
  return { ...standIn, secretsManager, read };
}
