import { randomBytes } from 'node:crypto';
import type { UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import type { PairRecord } from '../../broker/pair/record.ts';
import { type CallTerms, StoreUnavailable, type TaggedRecord } from '../../broker/pair/store.ts';
import { type Pair, pairKey } from '../../broker/pair.ts';
import { text } from '../attributes.ts';
import { isConditionFailed, withRetry } from '../calls.ts';
import type { DynamoDB } from '../dynamodb.ts';
import type { Sealer } from '../sealing/sealing.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { type Item, memberAttributes, readMembers, readToken, tokenAttributes } from './item.ts';

interface Dependencies {
  readonly dynamodb: DynamoDB;
  readonly tableName: string;
  /** Operators' commands omit it, because they may not read the key. Without it, no token is opened or sealed. */
  readonly sealer?: Sealer | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Writes that hang while reads answer must not be waited for, so each operation has a circuit. */
  readonly breakerFor: (operation: 'GetItem' | 'UpdateItem') => CircuitBreaker;
  /** Called for each record whose token cannot be opened. Must not throw. */
  readonly onUnreadable?: (pair: Pair) => void;
}

/** Stores each pair's record as an item in DynamoDB. Each operation is a single call. */
export function createPairTable(dependencies: Dependencies) {
  const { dynamodb, tableName, sealer, now, breakerFor, onUnreadable } = dependencies;
  const [reads, writes] = [breakerFor('GetItem'), breakerFor('UpdateItem')];

  return {
    async read(pair: Pair, terms: CallTerms): Promise<TaggedRecord> {
      // The key and the item are read in parallel. Even a failed read ends only after both.
      const hasKey = Promise.resolve(sealer?.hasKey(terms.deadline));
      const item = await reads(terms, (signal) => getItem(pair, signal)).finally(() => hasKey);
      if ((await hasKey) === false) throw noSealingKey();
      const token = await openToken(pair, item, terms.deadline);
      return { record: { ...readMembers(item), token }, tag: text(item.tag) };
    },

    async replace(pair: Pair, seen: TaggedRecord, next: PairRecord, terms: CallTerms) {
      const tag = newTag();
      const token = next.token === seen.record.token ? {} : await sealToken(pair, next.token, terms.deadline);
      const input = updateInput({ ...memberAttributes(next, now()), ...token, tag: { S: tag } }, seen.tag);
      const isWritten = await writes(terms, (signal) => update(pair, input, signal));
      return isWritten ? { record: { ...next, disabled: seen.record.disabled }, tag } : undefined;
    },
  };

  async function getItem(pair: Pair, abortSignal: AbortSignal): Promise<Item> {
    const input = { ...keyOf(pair), ConsistentRead: true };
    const item = await withRetry(abortSignal, () => dynamodb.getItem(input, abortSignal));
    // An item always contains its key, so an answer without it is not an item of this pair.
    if (item !== undefined && item.pair?.S !== pairKey(pair)) throw new TypeError('not the requested item');
    return item ?? {};
  }

  /** Returns whether the condition was met. */
  function update(pair: Pair, input: Partial<UpdateItemCommandInput>, abortSignal: AbortSignal): Promise<boolean> {
    return withRetry(abortSignal, async () => {
      try {
        await dynamodb.updateItem({ ...keyOf(pair), ...input }, abortSignal);
        return true;
      } catch (error) {
        if (isConditionFailed(error)) return false;
        throw error;
      }
    });
  }

  function keyOf(pair: Pair) {
    return { TableName: tableName, Key: { pair: { S: pairKey(pair) } } };
  }

  async function openToken(pair: Pair, item: Item, deadline: number) {
    const { visible, sealed } = readToken(item) ?? {};
    if (visible === undefined || sealer === undefined) return visible;
    const token = sealed && (await sealer.open(pair, sealed, deadline));
    if (token === undefined) onUnreadable?.(pair);
    return token ?? visible;
  }

  async function sealToken(pair: Pair, token: PairRecord['token'], deadline: number) {
    if (token?.accessToken === undefined) return tokenAttributes(undefined);
    const sealed = await sealer?.seal(pair, token, deadline);
    if (sealed === undefined) throw noSealingKey();
    return tokenAttributes(sealed);
  }
}

/** Without its key the table is no table: an instance could neither open nor publish a token. */
function noSealingKey(): StoreUnavailable {
  return new StoreUnavailable('lasting', 'its sealing key cannot be read', 'no-sealing-key');
}

/** Returns a random tag, so that no tag recurs after an item was deleted or restored. */
export const newTag = () => randomBytes(16).toString('base64url');

/** Returns a compare-and-set on the tag. It also succeeds on the new tag, because then it is a repetition. */
function updateInput(attributes: Partial<Item>, seenTag: string | undefined) {
  const names = Object.keys(attributes);
  const values = Object.entries(attributes).flatMap(([name, value]) => (value ? [[`:${name}`, value] as const] : []));
  const set = values.map(([value]) => `#${value.slice(1)} = ${value}`);
  const remove = names.filter((name) => attributes[name] === undefined).map((name) => `#${name}`);
  // A tag that is not text counts as missing.
  const condition = seenTag === undefined ? 'NOT attribute_type(#tag, :seen)' : '#tag = :seen';
  return {
    UpdateExpression: `SET ${set.join(', ')}${remove.length > 0 ? ` REMOVE ${remove.join(', ')}` : ''}`,
    ConditionExpression: `${condition} OR #tag = :tag`,
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: { ...Object.fromEntries(values), ':seen': { S: seenTag ?? 'S' } },
  };
}
