import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { SigningKey } from '../function-url/sigv4.ts';
import type { LoopbackServer } from '../loopback.ts';
import { AwsError, operation, type StandInOptions, serveAws } from './server.ts';

/** A message as the subscribers of a topic receive it. */
export interface PublishedMessage {
  readonly subject: string | undefined;
  readonly text: string;
}

interface SnsOptions extends StandInOptions {
  /** The only topic that accepts messages. */
  readonly topicArn: string;
  readonly onMessage: (message: PublishedMessage) => void;
  /** The number of confirmed subscriptions. Defaults to 1, for `onMessage`. */
  readonly subscribers?: number;
}

/** Stands in for Amazon SNS on 127.0.0.1, with a single topic. Passes its messages to `onMessage`. */
export function startSns({ topicArn, onMessage, subscribers = 1, ...signatures }: SnsOptions): Promise<LoopbackServer> {
  const Publish = operation(PUBLISH, ({ TopicArn, Subject: subject, Message: text }) => {
    if (TopicArn !== topicArn) throw new AwsError('NotFound', 'Topic does not exist', 404);
    if (text === '') throw new AwsError('InvalidParameter', 'Invalid parameter: Empty message');
    if (!SUBJECT.test(subject ?? '-')) throw new AwsError('InvalidParameter', 'Invalid parameter: Subject');
    onMessage({ subject, text });
    return { MessageId: randomUUID() };
  });
  const GetTopicAttributes = operation(z.object({ TopicArn: z.literal(topicArn) }), () => ({
    Attributes: { entry: { key: 'SubscriptionsConfirmed', value: subscribers } },
  }));
  const operations = { Publish, GetTopicAttributes };
  return serveAws({ service: 'sns', protocol: 'query', operations, ...signatures });
}

const PUBLISH = z.object({ TopicArn: z.string(), Subject: z.string().optional(), Message: z.string().default('') });

/** A line of at most 100 ASCII characters that does not begin with a space. */
const SUBJECT = /^[!-~][ -~]{0,99}$/;

interface StsOptions extends StandInOptions {
  /** The roles that may be assumed, each with the key that its caller gets. */
  readonly roles: readonly (SigningKey & { readonly role: string })[];
}

/** Stands in for AWS STS on 127.0.0.1. Returns the key of each assumed role, and denies any other role. */
export function startSts({ roles, ...signatures }: StsOptions): Promise<LoopbackServer> {
  const AssumeRole = operation(ASSUME_ROLE, ({ RoleArn, DurationSeconds }) => {
    const key = roles.find(({ role }) => role === RoleArn);
    if (key === undefined) throw new AwsError('AccessDenied', 'Not authorized to perform: sts:AssumeRole', 403);
    return {
      Credentials: {
        AccessKeyId: key.accessKeyId,
        SecretAccessKey: key.secretAccessKey,
        SessionToken: key.sessionToken ?? '',
        Expiration: new Date(Date.now() + DurationSeconds * 1_000).toISOString(),
      },
    };
  });
  return serveAws({ service: 'sts', protocol: 'query', operations: { AssumeRole }, ...signatures });
}

const ASSUME_ROLE = z.object({
  RoleArn: z.string(),
  RoleSessionName: z.string().regex(/^[\w+=,.@-]{2,64}$/),
  DurationSeconds: z.coerce.number().min(900).max(43_200).default(3_600),
});
