import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { SNS } from '@aws-sdk/client-sns';
import { STSClient } from '@aws-sdk/client-sts';
import { beforeAll, describe, expect, it } from 'vitest';
import { createProbeCredentials } from '../../functions/health/ask-broker.ts';
import { createClientList } from '../../functions/health/client-secrets.ts';
import { createNotificationTable, createNotifier, hasSubscribers } from '../../functions/health/notifications.ts';
import { ensurePairTable } from '../../local/aws/dynamodb.ts';
import { motoIsInstalled, startMoto } from '../support/aws/moto.ts';
import { ACCESS, START } from '../support/example.ts';

const noMoto = motoIsInstalled ? '' : ' (skipped: moto_server is not installed)';

describe.skipIf(!motoIsInstalled)(`the health function, with moto for AWS${noMoto}`, () => {
  let access: object;
  beforeAll(async () => {
    const moto = await startMoto();
    access = { ...ACCESS, endpoint: moto.url };
    return moto.close;
  });

  it('has a memory that takes one successor for each service, and returns it', async () => {
    const dynamodb = new DynamoDBClient(access);
    await ensurePairTable(dynamodb, 'pairs');
    const memories = createNotificationTable({ dynamodb, tableName: 'pairs', now: () => START });
    const entries = new Map([['acme/other', { condition: 'rejected', since: 1, at: 2, version: 'v1' } as const]]);
    const write = (revision: number) => memories.write('other', { entries, revision });
    for (const revision of [1, 2]) expect([await write(revision), await write(revision)]).toEqual([true, false]);
    expect(await memories.read('other')).toEqual({ entries, revision: 2 });
    expect(await memories.read(undefined)).toEqual({ entries: new Map(), revision: 0 });
  });

  it('reaches a topic that there is, and no other', async () => {
    const sns = new SNS(access);
    const { TopicArn: topicArn = '' } = await sns.createTopic({ Name: 'token-broker-dev' });
    const send = (topic: string) => createNotifier({ sns, topicArn: topic })({ subject: 's'.repeat(99), text: '&' });
    await send(topicArn);
    await expect(send(`${topicArn}-2`)).rejects.toThrow('notifier-NotFoundException');
    expect(await hasSubscribers(1, { sns, topicArn })).toBe(false);
  });

  it('knows the clients of its environment, planned for deletion or not', async () => {
    const secretsManager = new SecretsManager(access);
    const services = 'customer-insights';
    for (const name of ['dev/acme', 'prod/acme', 'dev-2/acme', 'dev/globex']) {
      const Tags = [{ Key: 'services', Value: services }];
      await secretsManager.createSecret({ Name: `token-broker/${name}`, SecretString: '{}', Tags });
    }
    await secretsManager.deleteSecret({ SecretId: 'token-broker/dev/globex' });
    const clients = ['acme', 'globex'].map((client) => ({ client, services }));
    expect(await createClientList({ environment: 'dev', secretsManager })()).toMatchObject(clients);
  });

  it('has complete credentials of the probe', async () => {
    const readKey = createProbeCredentials(new STSClient(access), 'arn:aws:iam::111111111111:role/probe');
    expect(Object.values(await readKey())).toEqual(Array(3).fill(expect.stringMatching(/^\S{16,}$/)));
  });
});
