import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { CreateTopicCommand, SNSClient } from '@aws-sdk/client-sns';
import { STSClient } from '@aws-sdk/client-sts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensurePairTable } from '../../bin/local/aws/dynamodb.ts';
import { createClientList } from '../../functions/aws/client-secrets.ts';
import { createNotificationTable, createNotifier, hasSubscriber } from '../../functions/aws/notifications.ts';
import { createProbeCredentials } from '../../functions/aws/probe-credentials.ts';
import type { Entry } from '../../functions/broker/health/evaluate.ts';
import { NotificationFailure } from '../../functions/broker/health/notify.ts';
import { START } from '../support/example.ts';
import { motoIsInstalled, startMoto } from '../support/moto.ts';

const noMoto = motoIsInstalled ? '' : ' (skipped: moto_server is not installed)';

describe.skipIf(!motoIsInstalled)(`the ports of the health function, against an independent server${noMoto}`, () => {
  let moto: Awaited<ReturnType<typeof startMoto>>;
  let access: object;
  beforeAll(async () => {
    moto = await startMoto();
    const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };
    access = { endpoint: moto.url, region: 'us-east-1', credentials };
  });
  afterAll(() => moto.close());

  it('the memory takes one successor, gives it back, and keeps each service for itself', async () => {
    const dynamodb = new DynamoDBClient(access);
    await ensurePairTable(dynamodb, 'memories');
    const memories = createNotificationTable({ dynamodb, tableName: 'memories', now: () => START });
    const entry: Entry = { condition: 'rejected', since: START, at: START + 5, version: 'v1' };
    const memory = { entries: new Map([['acme/customer-insights', entry]]), revision: 1 };
    expect(await memories.write('customer-insights', memory)).toBe(true);
    expect(await memories.write('customer-insights', { ...memory, entries: new Map() })).toBe(false);
    expect(await memories.read('customer-insights')).toEqual(memory);
    expect(await memories.read(undefined)).toEqual({ entries: new Map(), revision: 0 });
    expect(await memories.write('customer-insights', { ...memory, revision: 2 })).toBe(true);
    dynamodb.destroy();
  });

  it('the notifier reaches a topic that there is, and no other', async () => {
    const sns = new SNSClient(access);
    const { TopicArn: topicArn = '' } = await sns.send(new CreateTopicCommand({ Name: 'token-broker-dev' }));
    const message = { subject: 's'.repeat(99), text: 'Zeile 1 & <Zeile> 2' };
    await createNotifier({ sns, topicArn })(message);
    await expect(createNotifier({ sns, topicArn: `${topicArn}-2` })(message)).rejects.toThrow(NotificationFailure);
    expect(await hasSubscriber({ sns, topicArn })).toBe(false);
    sns.destroy();
  });

  it('the list has the clients of the environment and no others', async () => {
    const secretsManager = new SecretsManagerClient(access);
    for (const name of ['dev/acme', 'dev/globex', 'prod/acme', 'dev-2/acme']) {
      const Tags = name === 'dev/globex' ? [{ Key: 'services', Value: 'customer-insights' }] : [];
      await secretsManager.send(new CreateSecretCommand({ Name: `token-broker/${name}`, SecretString: '{}', Tags }));
    }
    const { clients } = await createClientList({ environment: 'dev', secretsManager })();
    expect(clients.toSorted((one, other) => (one.client < other.client ? -1 : 1))).toEqual([
      { client: 'acme', services: undefined },
      { client: 'globex', services: 'customer-insights' },
    ]);
    secretsManager.destroy();
  });

  it('the credentials of the probe are complete', async () => {
    const sts = new STSClient(access);
    const read = createProbeCredentials(sts, 'arn:aws:iam::111111111111:role/probe');
    const { accessKeyId, secretAccessKey, sessionToken } = await read();
    for (const part of [accessKeyId, secretAccessKey, sessionToken]) expect(part).toMatch(/^\S{16,}$/);
    sts.destroy();
  });
});
