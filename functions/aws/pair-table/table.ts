import { type PairRecord, pastTime } from '../../broker/pair/record.ts';
import type { PairStore } from '../../broker/pair/store.ts';
import { type Pair, pairKey } from '../../broker/pair.ts';
import { number } from '../attributes.ts';
import { type CallTerms, type CircuitBreaker, createCircuitBreaker, unavailable, withRetry } from '../calls.ts';
import type { DynamoDB } from '../dynamodb.ts';
import type { Sealer } from '../sealing/sealing.ts';
import { type Item, readSeal, readState } from './item.ts';
import { acquireChange, type Change, endChange, rejectChange, underLease, updateInput } from './update.ts';

interface Dependencies {
  readonly dynamodb: DynamoDB;
  readonly tableName: string;
  readonly sealer: Sealer;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly breaker?: CircuitBreaker | undefined;
  /** Told of each record that is read without its token; must not throw. */
  readonly onUnreadable: (reason: Unreadable, pair: Pair) => void;
}

/** Why a stored token could not be used: it was altered, swapped, or sealed with another key or format; or there is no key. */
export type Unreadable = 'closed' | 'no-key';

/** The store of pair records on DynamoDB: one item per pair, one call per operation. */
export function createPairTable({
  dynamodb,
  tableName,
  sealer,
  now,
  breaker = createCircuitBreaker(now),
  onUnreadable,
}: Dependencies): PairStore {
  return {
    async read(pair, deadline) {
      // Both at once: an environment's first read would otherwise wait for the sealing key as well.
      const hasKey = sealer.hasKey(deadline);
      // After a failure too: nothing of this is under way any more when it ends.
      const item = await breaker({ deadline }, (abortSignal) => readItem(pair, abortSignal)).finally(() => hasKey);
      return toRecord(pair, item, await hasKey, deadline);
    },

    async acquire(pair, acquisition, deadline) {
      const { item } = await update(pair, acquireChange(acquisition), { deadline }, 'ALL_OLD');
      if (item === undefined) return undefined;
      const record = await toRecord(pair, item, await sealer.hasKey(deadline), deadline);
      // After a repetition the old item is already mine; the fence before it is the one that I saw.
      return { ...record, fence: acquisition.seenFence };
    },

    async end(pair, lease, ending, deadline) {
      const sealed = ending.kind === 'publish' ? await sealer.seal(pair, ending.token, deadline) : undefined;
      const change = underLease(lease, endChange(ending, sealed), ending.checked);
      const { item, isRepeated } = await update(pair, change, { deadline, endsLease: true });
      if (ending.kind === 'publish' && sealed === undefined) throw unavailable('no-sealing-key');
      // The first call, the answer to which was lost, may have ended the lease.
      if (item === undefined && isRepeated) throw unavailable('answer-lost');
      return item !== undefined;
    },

    /** Two updates and nothing between them that matters: a lease that is no longer mine never becomes mine again. */
    async reject(pair, lease, rejection, deadline) {
      const terms = { deadline, endsLease: true };
      const change = rejectChange(lease, rejection);
      const { item } = await update(pair, underLease(lease, change, rejection.checked), terms);
      if (item === undefined) await update(pair, change, terms);
    },
  };

  async function readItem(pair: Pair, abortSignal: AbortSignal): Promise<Item> {
    const input = { ...keyOf(pair), ConsistentRead: true };
    return itemOf(pair, await withRetry(abortSignal, () => dynamodb.getItem(input, abortSignal)));
  }

  /** Gives the item before the change if that is asked for, else an empty one, and `undefined` when the condition failed. */
  async function update(pair: Pair, change: Change, terms: CallTerms, ReturnValues: 'ALL_OLD' | 'NONE' = 'NONE') {
    const input = { ...keyOf(pair), ...updateInput(change, now()), ReturnValues };
    let calls = 0;
    const call = (abortSignal: AbortSignal) => {
      calls += 1;
      return dynamodb.updateItem(input, abortSignal);
    };
    const item = await breaker(terms, async (abortSignal) => {
      try {
        return itemOf(pair, await withRetry(abortSignal, () => call(abortSignal)));
      } catch (error) {
        if (error instanceof Error && error.name === 'ConditionalCheckFailedException') return undefined;
        throw error;
      }
    });
    return { item, isRepeated: calls > 1 };
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
      onUnreadable('no-key', pair);
      return { ...state, closedUntil: Infinity };
    }
    if (item.sealedToken === undefined) return state;
    const seal = readSeal(item);
    const token = seal && (await sealer.open(pair, seal, deadline));
    if (token !== undefined) return { ...state, token };
    onUnreadable('closed', pair);
    const lastUsedAt = Math.max(...[state.attemptedAt, number(item.issuedAt) ?? 0].map((at) => pastTime(at, now())));
    return { ...state, closedUntil: lastUsedAt + CLOSED_MS };
  }
}

/** A token that I cannot open is replaced when the fleet has left it alone for so long: others may have opened it. */
const CLOSED_MS = 60_000;
