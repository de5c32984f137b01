import { randomUUID } from 'node:crypto';
import { AwsError } from './error.ts';
import { type AwsQueryServer, serveAwsQuery } from './query.ts';

/** A message as the subscribers of a topic get it. */
export interface PublishedMessage {
  readonly subject: string | undefined;
  readonly text: string;
}

/** Stands in for Amazon SNS on 127.0.0.1: one topic, whose messages go to `onMessage`. */
export async function startSns({ topicArn, onMessage, port }: Options): Promise<AwsQueryServer> {
  const actions = new Map([
    [
      'Publish',
      (input: URLSearchParams) => {
        if (input.get('TopicArn') !== topicArn) throw new AwsError('NotFound', 'Topic does not exist', 404);
        const subject = input.get('Subject') ?? undefined;
        const text = input.get('Message') ?? '';
        if (text === '') throw new AwsError('InvalidParameter', 'Invalid parameter: Empty message');
        if (subject !== undefined && !SUBJECT.test(subject)) {
          throw new AwsError('InvalidParameter', 'Invalid parameter: Subject');
        }
        onMessage({ subject, text });
        return { MessageId: randomUUID() };
      },
    ],
  ]);
  return serveAwsQuery({ actions, port });
}

interface Options {
  /** Publishing to any other is refused. */
  readonly topicArn: string;
  readonly onMessage: (message: PublishedMessage) => void;
  /** A free one when left out. */
  readonly port?: number;
}

/** One line of ASCII that does not begin with a space, up to 100 characters. */
const SUBJECT = /^[!-~][ -~]{0,99}$/;
