import { PublishCommand, SNSClient, type SNSClientConfig } from '@aws-sdk/client-sns';
import { NotificationFailure, type SendMessage } from '../broker/health/notify.ts';
import { causeWord, withTimeLimit } from './calls.ts';

/** A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_SNS`). */
export function createSnsClient(config: SNSClientConfig = {}): SNSClient {
  return new SNSClient({
    requestHandler: { requestTimeout: ATTEMPT_TIMEOUT_MS, throwOnRequestTimeout: true },
    ...config,
  });
}

interface Dependencies {
  readonly sns: SNSClient;
  readonly topicArn: string;
  /** For one message, repetitions included. */
  readonly timeoutMs?: number;
}

/** Publishes messages to a topic. */
export function createNotifier({ sns, topicArn, timeoutMs = TIMEOUT_MS }: Dependencies): SendMessage {
  return async ({ subject, text }) => {
    const command = new PublishCommand({ TopicArn: topicArn, Subject: subject, Message: text });
    try {
      await withTimeLimit(timeoutMs, (abortSignal) => sns.send(command, { abortSignal }));
    } catch (error) {
      throw new NotificationFailure(`notifier-${causeWord(error)}`);
    }
  };
}

const TIMEOUT_MS = 5_000;
const ATTEMPT_TIMEOUT_MS = 2_000;
