import { type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { SealingKeys } from './sealing/sealing-key.ts';
import { withTimeLimit } from './time-limit.ts';

/**
 * Makes an environment's first reads before anybody waits for them: the sealing key and a look into the table, which
 * opens the connections to both. Ends after `timeoutMs` at the latest and never fails: what has not come by then, the
 * first call asks for again. It is no call of a `TimeBudget`, so the first call still has the time of a first call.
 */
export async function warmUp({ dynamodb, tableName, keys, now, timeoutMs = TIMEOUT_MS }: Dependencies): Promise<void> {
  const look = new GetItemCommand({ TableName: tableName, Key: { pair: { S: NO_PAIR } } });
  await Promise.allSettled([
    withTimeLimit(timeoutMs, (abortSignal) => dynamodb.send(look, { abortSignal })),
    withTimeLimit(timeoutMs, () => keys.current(now() + timeoutMs)),
  ]);
}

interface Dependencies {
  readonly dynamodb: DynamoDBClient;
  readonly tableName: string;
  /** The very ones that the environment goes on with. */
  readonly keys: SealingKeys;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 300;

/** The keys of pairs contain a slash, so this one is nobody's. */
const NO_PAIR = 'warm-up';
