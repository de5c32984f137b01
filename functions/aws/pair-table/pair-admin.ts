import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoDB, GetItemInput, UpdateItemInput } from '@aws-sdk/client-dynamodb';
import type { PairRecord } from '../../broker/pair/record.ts';
import { cleared } from '../../broker/pair/transitions.ts';
import type { Pair } from '../../broker/pair.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { createPairTable } from './table.ts';

/** Reads and changes the records of pairs without the sealing key. Every change is idempotent. */
export type PairAdmin = ReturnType<typeof createPairAdmin>;

export function createPairAdmin(dynamodb: DynamoDB, tableName: string, abortSignal: AbortSignal, now = Date.now) {
  const getItem = async (input: GetItemInput) => (await dynamodb.getItem(input, { abortSignal })).Item;
  const updateItem = async (input: UpdateItemInput) => (await dynamodb.updateItem(input, { abortSignal })).Attributes;
  // No circuit breaker: the SDK has its own limits, and its errors contain more.
  const breaker: CircuitBreaker = (_terms, call) => call(abortSignal);
  const table = createPairTable({ dynamodb: { getItem, updateItem }, tableName, now, breakerFor: () => breaker });
  return {
    read: async (pair: Pair) => (await table.read(pair, IN_TIME)).record,
    /** Returns since when the pair was disabled before, if known. The stop does not wait for a read that fails. */
    async disable(pair: Pair): Promise<number | undefined> {
      const startedAt = now();
      const reading = table.read(pair, IN_TIME).catch(() => undefined);
      const [seen] = await Promise.all([reading, table.disable(pair, abortSignal)]);
      const since = seen?.record.disabled?.since || startedAt;
      return since < startedAt ? since : undefined;
    },
    /** Ends a stop, and removes the token from before it. Waits for a request under way, which no other may join. */
    async enable(pair: Pair, onWait: (ms: number) => void): Promise<undefined> {
      const { disabled, lease } = (await table.read(pair, IN_TIME)).record;
      if (disabled === undefined) return;
      const leftMs = Math.min((lease?.until ?? 0) - now(), LONGEST_WAIT_MS);
      if (leftMs > 0) {
        onWait(leftMs);
        await sleep(leftMs, undefined, { signal: abortSignal });
      }
      await table.enable(pair, abortSignal);
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
