import { PublishCommand, type SNSClient } from '@aws-sdk/client-sns';
import { NotificationFailure, type SendMessage } from '../broker/health/notify.ts';
import { causeWord, withTimeLimit } from './calls.ts';

interface Dependencies {
  readonly sns: SNSClient;
  readonly topicArn: string;
  /** For one message, repetitions included. */
  readonly timeoutMs?: number;
}

/** Publishes messages to a topic. */
export function createNotifier({ sns, topicArn, timeoutMs = 5_000 }: Dependencies): SendMessage {
  return async ({ subject, text }) => {
    const command = new PublishCommand({ TopicArn: topicArn, Subject: subject, Message: text });
    try {
      await withTimeLimit(timeoutMs, (abortSignal) => sns.send(command, { abortSignal }));
    } catch (error) {
      throw new NotificationFailure(`notifier-${causeWord(error)}`);
    }
  };
}
