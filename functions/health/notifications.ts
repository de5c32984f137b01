import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ConditionalCheckFailedException, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { GetTopicAttributesCommand, PublishCommand, type SNSClient } from '@aws-sdk/client-sns';
import * as z from 'zod/mini';
import { forgetAt, json, number, numeric, text } from '../aws/attributes.ts';
import { causeWord, withTimeLimit } from '../aws/calls.ts';
import { parseJson } from '../broker/json.ts';
import { parsePairKey, type ServiceName } from '../broker/pair.ts';
import { CONDITIONS, type Entries } from './rules/evaluate.ts';
import { NotificationFailure, type NotificationMemories, type SendMessage } from './rules/notify.ts';

interface Table {
  readonly dynamodb: DynamoDBClient;
  readonly tableName: string;
  readonly now: () => number;
  readonly timeoutMs?: number;
}

/**
 * Keeps the memory of notifications in items of its own beside the pairs: one per service, and one for all the rest.
 * The health function has rights on keys that start with `notify:`, as no pair's key does, and on nothing else.
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
        // The first part creates the item.
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

  /** A service's name holds no colon, and a pair's key begins with that of a client, so no pair has one of these keys. */
  function keyOf(service: ServiceName | undefined) {
    return { TableName: tableName, Key: { pair: { S: service === undefined ? 'notify::run' : `notify:${service}` } } };
  }
}

/** Makes one call, repetitions included. @throws NotificationFailure with one word of the cause */
function limited<Answer>(what: string, timeoutMs: number, call: (abortSignal: AbortSignal) => Promise<Answer>) {
  return withTimeLimit(timeoutMs, call).catch((error: unknown) => {
    throw new NotificationFailure(`${what}-${causeWord(error)}`);
  });
}

/** One short row per entry: an item of the table holds 400 kB. Stored rows depend on these keys. */
function rowsOf({ pairs, service, broker, probe }: Entries) {
  return [...pairs, ['service', service] as const, ['broker', broker] as const, ['probe', probe] as const].flatMap(
    ([key, entry]) => (entry === undefined ? [] : [[key, entry.condition, entry.since, entry.at, entry.version]]),
  );
}

/** Entries that cannot be read count as missing: telling the operators twice is better than not at all. */
function parseEntries(rows = ''): Entries {
  const known = rowsSchema.safeParse(parseJson(rows)).data?.filter((row) => row !== undefined) ?? [];
  const entries = new Map(
    known.map(([key, condition, since, at, version]) => [key, { condition, since, at, version: version ?? undefined }]),
  );
  const pairs = new Map([...entries].filter(([key]) => parsePairKey(key) !== undefined));
  return { pairs, service: entries.get('service'), broker: entries.get('broker'), probe: entries.get('probe') };
}

/** Epoch milliseconds that are a date. */
const timeSchema = z.number().check(z.gte(0), z.lte(8.64e15));
const rowSchema = z.tuple([z.string(), z.enum(CONDITIONS), timeSchema, timeSchema, z.nullable(z.string())]);
const rowsSchema = z.array(z.catch(z.optional(rowSchema), undefined));

interface Topic {
  readonly sns: SNSClient;
  readonly topicArn: string;
  readonly timeoutMs?: number;
}

/** Whether any subscription of the topic is confirmed, so that a message reaches an operator. */
export async function hasSubscriber({ sns, topicArn, timeoutMs = 5_000 }: Topic): Promise<boolean> {
  const command = new GetTopicAttributesCommand({ TopicArn: topicArn });
  const { Attributes } = await limited('notifier', timeoutMs, (abortSignal) => sns.send(command, { abortSignal }));
  return Number(Attributes?.SubscriptionsConfirmed) > 0;
}

/** Publishes messages to a topic. */
export function createNotifier({ sns, topicArn, timeoutMs = 5_000 }: Topic): SendMessage {
  return async ({ subject, text }) => {
    const command = new PublishCommand({ TopicArn: topicArn, Subject: subject, Message: text });
    await limited('notifier', timeoutMs, (abortSignal) => sns.send(command, { abortSignal }));
  };
}
