import { SNSClient } from '@aws-sdk/client-sns';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PublishedMessage } from '../../../bin/local/aws/sns-sts.ts';
import { createNotifier, hasSubscriber } from '../../../functions/aws/notifications.ts';
import { NotificationFailure } from '../../../functions/broker/health/notify.ts';
import type { Fault } from '../../support/aws-faults.ts';
import { repeatAtOnce, startSns } from '../../support/stand-ins.ts';

const TOPIC = 'arn:aws:sns:us-east-1:111111111111:token-broker-dev';
const MESSAGE = { subject: '[token-broker dev] rejected: acme', text: 'Zeile 1 & <Zeile> 2\n\n  „Ende“ + 100 %\n' };

describe('a message', () => {
  it('reaches the topic as it is', async () => {
    const { notify, messages, calls } = await start();
    await notify(MESSAGE);
    expect(messages).toEqual([MESSAGE]);
    expect(calls).toEqual(['Publish']);
  });

  it('is sent again when SNS fails once', async () => {
    const { notify, messages, failWith } = await start();
    failWith('internal-error', 1);
    await notify(MESSAGE);
    expect(messages).toEqual([MESSAGE]);
  });

  it.each(['access-denied', 'throttled', 'internal-error', 'bad-gateway', 'reset', 'hang', 'stall'] satisfies Fault[])(
    'that SNS does not take is a failure of one word: %s',
    async (fault) => {
      const { notify, messages, failWith } = await start(
        fault === 'hang' || fault === 'stall' ? { timeoutMs: 20 } : {},
      );
      failWith(fault);
      await expectFailure(notify(MESSAGE));
      expect(messages).toEqual([]);
    },
  );

  it('to a topic that does not exist is a failure', async () => {
    const { sns } = await start();
    await expectFailure(createNotifier({ sns, topicArn: `${TOPIC}-2` })(MESSAGE));
  });

  it.each([['two\nlines'], ['s'.repeat(101)], ['für acme'], [' begins with a space']])(
    'whose subject no topic takes is a failure: %j',
    async (subject) => {
      const { notify, messages } = await start();
      await expectFailure(notify({ ...MESSAGE, subject }));
      expect(messages).toEqual([]);
    },
  );
});

describe('a topic', () => {
  it.each([
    [0, false],
    [2, true],
  ])('with %d confirmed subscriptions: that it has a subscriber is %j', async (subscribers, expected) => {
    const { sns } = await start({ subscribers });
    expect(await hasSubscriber({ sns, topicArn: TOPIC })).toBe(expected);
    await expectFailure(hasSubscriber({ sns, topicArn: `${TOPIC}-2` }));
  });
});

async function expectFailure(sending: Promise<unknown>): Promise<void> {
  const error = await sending.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NotificationFailure);
  expect(error).toMatchObject({ message: expect.stringMatching(/^notifier-\w+$/) });
  expect(error).not.toHaveProperty('cause');
}

async function start({ timeoutMs = 10_000, subscribers = 1 } = {}) {
  repeatAtOnce();
  const messages: PublishedMessage[] = [];
  const standIn = await startSns({ topicArn: TOPIC, onMessage: (message) => messages.push(message), subscribers });
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };
  const sns = new SNSClient({ endpoint: standIn.url, region: 'us-east-1', credentials });
  onTestFinished(async () => {
    sns.destroy();
    await standIn.close();
  });
  return { ...standIn, sns, messages, notify: createNotifier({ sns, topicArn: TOPIC, timeoutMs }) };
}
