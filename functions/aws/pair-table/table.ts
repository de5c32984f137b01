import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { type Pair, pairKey } from '../../broker/pair/pair.ts';
import type { PairRecord } from '../../broker/pair/record.ts';
import type { PairStore } from '../../broker/pair/store.ts';
import { type TimeBudget, unavailable } from '../circuit-breaker.ts';
import { withSecondTry } from '../retry.ts';
import type { Sealer, Unopened } from '../sealing/sealing.ts';
import type { Item } from './item.ts';
import { readForeignUntil, readSeal } from './seal.ts';
import { readState } from './state.ts';
import {
  acquireChange,
  type Change,
  countChange,
  pauseChange,
  publishChange,
  rejectChange,
  releaseChange,
  updateInput,
} from './update.ts';

/** Why a stored token could not be used. `locked`: there is no sealing key, so none can be stored either. */
export type Unreadable = Unopened | 'locked';

/** The store of pair records on DynamoDB: one item per pair, one call per operation. */
export function createPairTable(dependencies: Dependencies): PairStore {
  const { dynamodb, tableName, sealer, withinBudget, now, onUnreadable } = dependencies;

  return until(Infinity);

  function until(deadline: number): PairStore {
    const store: PairStore = {
      until,

      async read(pair, consistency) {
        const isStrong = consistency === 'strong';
        // Both at once: an environment's first read would otherwise wait for the sealing key as well.
        const hasKey = sealer.hasKey(deadline);
        // After a failure too: nothing of this is under way any more when it ends.
        const item = await readItem(pair, isStrong, deadline).finally(() => hasKey);
        return toRecord(pair, item, await hasKey, deadline);
      },

      async acquire(pair, acquisition) {
        const item = await update(pair, acquireChange(acquisition), deadline, 'ALL_OLD');
        if (item === undefined) return undefined;
        const hasKey = await sealer.hasKey(deadline);
        // After a repetition the old item is already mine; the fence before it is the one that I saw.
        return { ...(await toRecord(pair, item, hasKey, deadline)), fence: acquisition.seenFence };
      },

      async publish(pair, fence, publication) {
        const sealed = await sealer.seal(pair, publication, deadline);
        if (sealed !== undefined) return (await update(pair, publishChange(fence, sealed), deadline)) !== undefined;
        await store.release(pair, fence);
        throw unavailable('no-sealing-key');
      },

      pause: async (pair, fence, pause) => (await update(pair, pauseChange(fence, pause), deadline)) !== undefined,

      /** Two updates and nothing between them that matters: a fence that is no longer mine never becomes mine again. */
      async reject(pair, fence, rejection) {
        const item = await update(pair, rejectChange(fence, rejection), deadline);
        if (item === undefined) await update(pair, countChange(fence, rejection), deadline);
      },

      release: async (pair, fence, provenVersion) =>
        void (await update(pair, releaseChange(fence, provenVersion), deadline)),
    };
    return store;
  }

  function readItem(pair: Pair, isStrong: boolean, deadline: number): Promise<Item> {
    const command = new GetItemCommand({ ...keyOf(pair), ConsistentRead: isStrong });
    return withinBudget(async (limits) => {
      const { abortSignal } = limits;
      const { Item: item } = await withSecondTry(limits, () => dynamodb.send(command, { abortSignal }));
      return itemOf(pair, item);
    }, deadline);
  }

  /** The item before the change if that was asked for, else an empty one; `undefined` when the condition failed. */
  function update(
    pair: Pair,
    change: Change,
    deadline: number,
    returned: 'ALL_OLD' | 'NONE' = 'NONE',
  ): Promise<Item | undefined> {
    const command = new UpdateItemCommand({ ...keyOf(pair), ...updateInput(change, now()), ReturnValues: returned });
    return withinBudget(async (limits) => {
      const { abortSignal } = limits;
      try {
        const answer = await withSecondTry(limits, () => dynamodb.send(command, { abortSignal }));
        return itemOf(pair, answer.Attributes);
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return undefined;
        throw error;
      }
    }, deadline);
  }

  function keyOf(pair: Pair) {
    return { TableName: tableName, Key: { pair: { S: pairKey(pair) } } };
  }

  /** An item always holds its key, so what does not is no item of this pair. */
  function itemOf(pair: Pair, item: Item | undefined): Item {
    if (item === undefined) return {};
    if (item.pair?.S !== pairKey(pair)) throw new TypeError('not the item that was asked for');
    return item;
  }

  async function toRecord(pair: Pair, item: Item, hasKey: boolean, deadline: number): Promise<PairRecord> {
    const state = readState(item);
    if (!hasKey) {
      onUnreadable('locked', pair);
      return { ...state, isLocked: true };
    }
    const seal = readSeal(item);
    if (seal === undefined) return state;
    const opened = await sealer.open(pair, seal, deadline);
    if (typeof opened === 'object') return { ...state, ...opened };
    const foreignUntil = opened === 'foreign' ? readForeignUntil(item, now()) : 0;
    onUnreadable(opened, pair);
    return { ...state, foreignUntil };
  }
}

interface Dependencies {
  readonly dynamodb: DynamoDBClient;
  /** Holds the pairs of one environment. */
  readonly tableName: string;
  readonly sealer: Sealer;
  readonly withinBudget: TimeBudget;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Called each time that a record is read without its token; for a metric. Must not throw. */
  readonly onUnreadable: (reason: Unreadable, pair: Pair) => void;
}
