import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoDB, GetItemInput, UpdateItemInput } from '@aws-sdk/client-dynamodb';
import type { PairRecord } from '../../broker/pair/record.ts';
import { cleared } from '../../broker/pair/transitions.ts';
import { type Pair, pairKey } from '../../broker/pair.ts';
import { forgetAt, json } from '../attributes.ts';
import { isConditionFailed } from '../calls.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { createPairTable, newTag } from './table.ts';

/** Reads and changes the records of pairs without the sealing key. Every change is idempotent. */
export type PairAdmin = ReturnType<typeof createPairAdmin>;

export function createPairAdmin(dynamodb: DynamoDB, tableName: string, abortSignal: AbortSignal, now = Date.now) {
  const getItem = async (input: GetItemInput) => (await dynamodb.getItem(input, { abortSignal })).Item;
  const updateItem = (input: UpdateItemInput) => dynamodb.updateItem(input, { abortSignal });
  // No circuit breaker: the SDK has its own limits, and its errors contain more.
  const breaker: CircuitBreaker = (_terms, call) => call(abortSignal);
  const table = createPairTable({ dynamodb: { getItem, updateItem }, tableName, now, breakerFor: () => breaker });
  // The writes of a stop are idempotent and require no tag: a stop must not lose a race or depend on the record.
  const update = (pair: Pair, input: Partial<UpdateItemInput>) =>
    updateItem({ TableName: tableName, Key: { pair: { S: pairKey(pair) } }, ...input });
  return {
    read: async (pair: Pair) => (await table.read(pair, IN_TIME)).record,
    /** Returns since when the pair was disabled before, if known. The stop does not wait for a read that fails. */
    async disable(pair: Pair): Promise<number | undefined> {
      const startedAt = now();
      const UpdateExpression = 'SET disabled = if_not_exists(disabled, :disabled), tag = :tag REMOVE forgetAt';
      const ExpressionAttributeValues = { ':disabled': json({ since: startedAt }), ':tag': { S: newTag() } };
      const stop = { UpdateExpression, ExpressionAttributeValues };
      const reading = table.read(pair, IN_TIME).catch(() => undefined);
      const [seen] = await Promise.all([reading, update(pair, stop)]);
      const since = seen?.record.disabled?.since || startedAt;
      return since < startedAt ? since : undefined;
    },
    /**
     * Ends a stop, and removes the token from before it, with the lease, so that no request from before the stop can
     * publish its token. Waits for a request under way, which no other may join.
     */
    async enable(pair: Pair, onWait: (ms: number) => void): Promise<undefined> {
      const { disabled, lease } = (await table.read(pair, IN_TIME)).record;
      if (disabled === undefined) return;
      const leftMs = Math.min((lease?.until ?? 0) - now(), LONGEST_WAIT_MS);
      if (leftMs > 0) {
        onWait(leftMs);
        await sleep(leftMs, undefined, { signal: abortSignal });
      }
      // The date next to a latch is not a number, so that the item does not expire.
      const set = 'SET forgetAt = if_not_exists(rejected, :forgetAt), tag = :tag';
      const UpdateExpression = `${set} REMOVE disabled, lease, sealed, #token`;
      const ConditionExpression = 'attribute_exists(disabled)';
      const ExpressionAttributeNames = { '#token': 'token' };
      const ExpressionAttributeValues = { ':forgetAt': forgetAt(now()), ':tag': { S: newTag() } };
      const input = { UpdateExpression, ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues };
      await update(pair, input).catch((error: unknown) => {
        // Another operator has ended the stop.
        if (!isConditionFailed(error)) throw error;
      });
    },
    /** Removes holds and the pause of a pair, and its latches unless kept. Returns the previous record. */
    async clear(pair: Pair, keepsLatches = false): Promise<PairRecord> {
      for (;;) {
        const seen = await table.read(pair, IN_TIME);
        const { rejected, held, pause } = seen.record;
        const isClear = (keepsLatches || rejected.size === 0) && held.size === 0 && pause === undefined;
        if (isClear || (await table.replace(pair, seen, cleared(seen.record, keepsLatches), IN_TIME)))
          return seen.record;
        await sleep(Math.random() * MAX_BACKOFF_MS, undefined, { signal: abortSignal });
      }
    },
  };
}

const IN_TIME = { deadline: Infinity };
const MAX_BACKOFF_MS = 500;
/** The length of a lease with the default `requestTimeoutMs`. The lease's own clock may be wrong. */
const LONGEST_WAIT_MS = 6_000;
