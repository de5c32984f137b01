import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { type Pair, pairKey } from '../../broker/pair/pair.ts';
import { readState, rejectedAttribute } from './state.ts';

/** What an operator changes in the record of a pair by hand. Everything can be repeated. */
export interface PairAdmin {
  /** Stops the pair, also one that nobody has asked for yet: within 60 s no environment issues a token of it. */
  disable(pair: Pair): Promise<void>;
  /** Ends that. */
  enable(pair: Pair): Promise<void>;
  /** Lets every rejected version of the pair's secret be sent again; tells which these were. */
  clearLatches(pair: Pair): Promise<readonly string[]>;
}

interface Dependencies {
  readonly dynamodb: DynamoDBClient;
  /** Holds the pairs of one environment. */
  readonly tableName: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Ends the waiting for DynamoDB; nobody knows then whether the change was made. */
  readonly signal?: AbortSignal | undefined;
}

/** Changes pair records past the lease: no attribute of a token request in progress is touched. */
export function createPairAdmin({ dynamodb, tableName, now, signal }: Dependencies): PairAdmin {
  const send = signal === undefined ? {} : { abortSignal: signal };
  const keyOf = (pair: Pair) => ({ TableName: tableName, Key: { pair: { S: pairKey(pair) } } });
  const forgetAt = () => ({ N: `${Math.ceil((now() + KEPT_MS) / 1_000)}` });

  const update = async (pair: Pair, change: Omit<UpdateItemCommandInput, 'TableName' | 'Key'>): Promise<void> => {
    await dynamodb.send(new UpdateItemCommand({ ...keyOf(pair), ...change }), send);
  };

  return {
    // Without the date the table's garbage collection leaves the item alone: a client stays disabled however long.
    disable: (pair) =>
      update(pair, {
        UpdateExpression: 'SET disabled = :true REMOVE forgetAt',
        ExpressionAttributeValues: { ':true': { BOOL: true } },
      }),

    async enable(pair) {
      try {
        await update(pair, {
          UpdateExpression: 'SET forgetAt = :forgetAt REMOVE disabled',
          // A pair without a record is not disabled, and needs none.
          ConditionExpression: 'attribute_exists(pair)',
          ExpressionAttributeValues: { ':forgetAt': forgetAt() },
        });
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
      }
    },

    async clearLatches(pair) {
      const { Item } = await dynamodb.send(new GetItemCommand({ ...keyOf(pair), ConsistentRead: true }), send);
      const versions = [...readState(Item ?? {}).rejected.keys()];
      if (versions.length === 0) return [];
      const names = versions.map((version, index) => [`#latch${index}`, rejectedAttribute(version)] as const);
      await update(pair, {
        UpdateExpression: `REMOVE ${names.map(([alias]) => alias).join(', ')}`,
        ExpressionAttributeNames: Object.fromEntries(names),
      });
      return versions;
    },
  };
}

/** As long as after any other write. */
const KEPT_MS = 90 * 24 * 60 * 60_000;
