import { SNS } from '@aws-sdk/client-sns';
import { STSClient } from '@aws-sdk/client-sts';
import { beforeAll, describe, expect, it } from 'vitest';
import { createNotifier, hasSubscriber } from '../../functions/aws/notifications.ts';
import { createProbeCredentials } from '../../functions/aws/probe-credentials.ts';
import { motoIsInstalled, startMoto } from '../support/aws/moto.ts';
import { ACCESS } from '../support/example.ts';

const noMoto = motoIsInstalled ? '' : ' (skipped: moto_server is not installed)';

describe.skipIf(!motoIsInstalled)(`the health function, with moto for AWS${noMoto}`, () => {
  let access: object;
  beforeAll(async () => {
    const moto = await startMoto();
    access = { ...ACCESS, endpoint: moto.url };
    return moto.close;
  });

  it('reaches a topic that there is, and no other', async () => {
    const sns = new SNS(access);
    const { TopicArn: topicArn = '' } = await sns.createTopic({ Name: 'token-broker-dev' });
    const send = (topic: string) => createNotifier({ sns, topicArn: topic })({ subject: 's'.repeat(99), text: '&' });
    await send(topicArn);
    await expect(send(`${topicArn}-2`)).rejects.toThrow('notifier-NotFoundException');
    expect(await hasSubscriber({ sns, topicArn })).toBe(false);
  });

  it('has complete credentials of the probe', async () => {
    const readKey = createProbeCredentials(new STSClient(access), 'arn:aws:iam::111111111111:role/probe');
    expect(Object.values(await readKey())).toEqual(Array(3).fill(expect.stringMatching(/^\S{16,}$/)));
  });
});
