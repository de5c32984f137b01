import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ConditionalCheckFailedException, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { GetTopicAttributesCommand, PublishCommand, type SNSClient } from '@aws-sdk/client-sns';
import * as z from 'zod/mini';
import { forgetAt, json, number, numeric, text } from '../aws/attributes.ts';
import { causeWord, withTimeLimit } from '../aws/calls.ts';
import { parseJson } from '../broker/json.ts';
import type { ServiceName } from '../broker/pair.ts';
import { CONDITIONS, type Entries, isSubject } from './rules/evaluate.ts';
import { NotificationFailure, type NotificationMemories, type SendMessage } from './rules/notify.ts';

interface Table {
  readonly dynamodb: DynamoDBClient;
  readonly tableName: string;
  readonly now: () => number;
  readonly timeoutMs?: number;
}

/**
 * Stores the memory of notifications in the table of the pairs: an item per service, and an item for the broker and the
 * probe. The health function has rights only on keys that start with `notify:`. A key of a pair never starts so.
 */
export function createNotificationTable({ dynamodb, tableName, now, timeoutMs = 3_000 }: Table): NotificationMemories {
  return {
    async read(service) {
      const command = new GetItemCommand({ ...keyOf(service), ConsistentRead: true });
      const send = (abortSignal: AbortSignal) => dynamodb.send(command, { abortSignal });
      const { Item: item = {} } = await limited('memory', timeoutMs, send);
      return { entries: parseEntries(text(item.entries)), revision: number(item.revision) ?? 0 };
    },

    write(service, { entries, revision }) {
      const command = new UpdateItemCommand({
        ...keyOf(service),
        UpdateExpression: 'SET entries = :entries, revision = :revision, forgetAt = :forgetAt',
        // The first condition creates the item.
        ConditionExpression: 'NOT attribute_type(revision, :number) OR revision = :before',
        ExpressionAttributeValues: {
          ':entries': json(rowsOf(entries)),
          ':revision': numeric(revision),
          ':forgetAt': forgetAt(now()),
          ':before': numeric(revision - 1),
          ':number': { S: 'N' },
        },
      });
      return limited('memory', timeoutMs, async (abortSignal) => {
        try {
          await dynamodb.send(command, { abortSignal });
          return true;
        } catch (error) {
          if (error instanceof ConditionalCheckFailedException) return false;
          throw error;
        }
      });
    },
  };

  /** Names contain no colon, so the keys differ from each other and from every key of a pair. */
  function keyOf(service: ServiceName | undefined) {
    return { TableName: tableName, Key: { pair: { S: service === undefined ? 'notify::run' : `notify:${service}` } } };
  }
}

/** Limits the time of a call and its repetitions. @throws NotificationFailure with a word for the cause */
function limited<Answer>(what: string, timeoutMs: number, call: (abortSignal: AbortSignal) => Promise<Answer>) {
  return withTimeLimit(timeoutMs, call).catch((error: unknown) => {
    throw new NotificationFailure(`${what}-${causeWord(error)}`);
  });
}

/** Returns a short row per entry, as an item is limited to 400 kB. A changed key would lose a stored incident. */
function rowsOf(entries: Entries) {
  return [...entries].map(([subject, { condition, since, at, version, detail }]) => {
    // An earlier release reads rows without a detail only.
    return [subject, condition, since, at, version, ...(detail === undefined ? [] : [detail])];
  });
}

/** Drops unreadable entries: a repeated message is better than a missing message. */
function parseEntries(rows = ''): Entries {
  const known = rowsSchema.safeParse(parseJson(rows)).data?.filter((row) => row !== undefined) ?? [];
  return new Map(
    known
      .filter(([subject]) => isSubject(subject))
      .map(([subject, condition, since, at, version, detail]) => {
        return [subject, { condition, since, at, version: version ?? undefined, detail }];
      }),
  );
}

/** Epoch milliseconds within the range of `Date`. */
const timeSchema = z.number().check(z.gte(0), z.lte(8.64e15));
const fields = [z.string(), z.enum(CONDITIONS), timeSchema, timeSchema, z.nullable(z.string())] as const;
const rowSchema = z.tuple(fields, z.string());
const rowsSchema = z.array(z.catch(z.optional(rowSchema), undefined));

interface Topic {
  readonly sns: SNSClient;
  readonly topicArn: string;
  readonly timeoutMs?: number;
}

/** Returns whether so many subscriptions of the topic are confirmed that a message can reach each operator. */
export async function hasSubscribers(count: number, { sns, topicArn, timeoutMs = 5_000 }: Topic): Promise<boolean> {
  const command = new GetTopicAttributesCommand({ TopicArn: topicArn });
  const { Attributes } = await limited('notifier', timeoutMs, (abortSignal) => sns.send(command, { abortSignal }));
  return Number(Attributes?.SubscriptionsConfirmed) >= count;
}

/** Publishes messages to a topic. */
export function createNotifier({ sns, topicArn, timeoutMs = 5_000 }: Topic): SendMessage {
  return async ({ subject, text }) => {
    const command = new PublishCommand({ TopicArn: topicArn, Subject: subject, Message: text });
    await limited('notifier', timeoutMs, (abortSignal) => sns.send(command, { abortSignal }));
  };
}
