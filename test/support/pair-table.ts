import { createSecretKey } from 'node:crypto';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { ensurePairTable } from '../../bin/local/dynamodb.ts';
import { createDynamoDBClient } from '../../functions/aws/dynamodb-client.ts';
import { createPairTable, type Unreadable } from '../../functions/aws/pair-table.ts';
import { createSealer } from '../../functions/aws/sealing.ts';
import type { SealingKey, SealingKeys } from '../../functions/aws/sealing-key.ts';
import { createTimeBudget } from '../../functions/aws/time-budget.ts';
import { type FaultyEndpoint, startFaultyEndpoint } from './dynamodb.ts';
import { START } from './example.ts';

interface Options {
  readonly keys?: SealingKeys;
  readonly environment?: string;
  /** Milliseconds for each call: what a busy machine needs, unless time is what a test is about. */
  readonly callMs?: number;
}

/** The pair table as an environment has it, in front of the DynamoDB at `url`, with everything on the way at hand. */
export async function connectPairTable(url: string, options: Options = {}) {
  const { keys = keysOf(exampleKey()), environment = 'dev', callMs = 10_000 } = options;
  const endpoint: FaultyEndpoint = await startFaultyEndpoint(url);
  const direct = createDynamoDBClient({ endpoint: url, ...ACCESS });
  const dynamodb = createDynamoDBClient({ endpoint: endpoint.url, ...ACCESS });
  await ensurePairTable(direct, TABLE);

  const clock = { now: START };
  const now = () => clock.now;
  const unreadable: Unreadable[] = [];
  const store = createPairTable({
    dynamodb,
    tableName: TABLE,
    sealer: createSealer({ environment, keys }),
    withinBudget: createTimeBudget({ now, firstCallMs: callMs, callMs }),
    now,
    onUnreadable: (reason) => unreadable.push(reason),
  });
  return {
    store,
    endpoint,
    clock,
    /** The reasons for which tokens could not be read, in order. */
    unreadable,
    /** A client that no fault is in the way of. */
    direct,
    close: async () => {
      dynamodb.destroy();
      direct.destroy();
      await endpoint.close();
    },
  };
}

/** Keys that are at hand; the first one is the current one. */
export function keysOf(...keys: readonly SealingKey[]): SealingKeys {
  return {
    current: async () => keys[0],
    named: async (version) => keys.find((key) => key.version === version),
  };
}

export function exampleKey(version = 'key-1', text = 'a sealing key for tests, long enough'): SealingKey {
  return { version, material: createSecretKey(text, 'utf8') };
}

export const TABLE = 'pairs';

const ACCESS: DynamoDBClientConfig = {
  region: 'us-east-1',
  credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' },
};
