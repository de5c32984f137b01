import { randomBytes } from 'node:crypto';
import type { PairRecord, VisibleToken } from '../../broker/pair/record.ts';
import type { TaggedRecord } from '../../broker/pair/store.ts';
import { type Pair, pairKey } from '../../broker/pair.ts';
import type { CLOSED_OUTCOMES } from '../../vocabulary.ts';
import { forgetAt, json, text } from '../attributes.ts';
import type { Attempts, CircuitBreaker } from '../calls.ts';
import { createCircuitBreaker, isConditionFailed, unavailable, withRetry } from '../calls.ts';
import type { DynamoDB } from '../dynamodb.ts';
import type { Sealer } from '../sealing/sealing.ts';
import { type Item, memberAttributes, readMembers, readToken, tokenAttributes } from './item.ts';

interface Dependencies {
  readonly dynamodb: DynamoDB;
  readonly tableName: string;
  /** Operators' commands omit it, because they may not read the key. Without it, no token is opened or sealed. */
  readonly sealer?: Sealer | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly breaker?: CircuitBreaker | undefined;
  /** Called for each record that is read without its token. Must not throw. */
  readonly onUnreadable?: (reason: keyof typeof CLOSED_OUTCOMES, pair: Pair) => void;
}

/** Stores each pair's record as an item in DynamoDB. Each operation is a single call. */
export function createPairTable(dependencies: Dependencies) {
  const { dynamodb, tableName, sealer, now, breaker = createCircuitBreaker(now), onUnreadable } = dependencies;

  return {
    async read(pair: Pair, deadline: number, isPatient?: boolean): Promise<TaggedRecord> {
      // The key and the item are read in parallel. Even a failed read ends only after both.
      const hasKey = Promise.resolve(sealer?.hasKey(deadline));
      const item = await breaker({ deadline, isPatient }, (...term) => getItem(pair, ...term)).finally(() => hasKey);
      const token = await openToken(pair, item, (await hasKey) === true, deadline);
      return { record: { ...readMembers(item), token }, tag: text(item.tag) };
    },

    async replace(pair: Pair, seen: TaggedRecord, next: PairRecord, deadline: number) {
      const tag = newTag();
      const token = next.token === seen.record.token ? {} : await sealToken(pair, seen.record, next.token, deadline);
      const input = updateInput({ ...memberAttributes(next, now()), ...token, tag: { S: tag } }, seen.tag);
      const terms = { deadline, endsLease: next.lease === undefined, isWrite: true };
      const isWritten = await breaker(terms, (...term) => update(pair, input, ...term));
      return isWritten ? { record: { ...next, disabled: seen.record.disabled }, tag } : undefined;
    },

    // The operators' two writes are idempotent and require no tag: a stop must not lose a race or depend on the record.
    async disable(pair: Pair, abortSignal: AbortSignal): Promise<void> {
      const UpdateExpression = 'SET disabled = if_not_exists(disabled, :disabled), tag = :tag REMOVE forgetAt';
      const ExpressionAttributeValues = { ':disabled': json({ since: now() }), ':tag': { S: newTag() } };
      await update(pair, { UpdateExpression, ExpressionAttributeValues }, abortSignal);
    },

    async enable(pair: Pair, abortSignal: AbortSignal): Promise<void> {
      // The date next to a latch is not a number, so that the item does not expire.
      const UpdateExpression = 'SET forgetAt = if_not_exists(rejected, :forgetAt), tag = :tag REMOVE disabled';
      const ConditionExpression = 'attribute_exists(pair)';
      const ExpressionAttributeValues = { ':forgetAt': forgetAt(now()), ':tag': { S: newTag() } };
      await update(pair, { UpdateExpression, ConditionExpression, ExpressionAttributeValues }, abortSignal);
    },
  };

  async function getItem(pair: Pair, abortSignal: AbortSignal, attempts?: Attempts): Promise<Item> {
    const input = { ...keyOf(pair), ConsistentRead: true };
    const item = await withRetry(abortSignal, () => dynamodb.getItem(input, abortSignal), attempts);
    // An item always contains its key, so an answer without it is not an item of this pair.
    if (item !== undefined && item.pair?.S !== pairKey(pair)) throw new TypeError('not the requested item');
    return item ?? {};
  }

  /** Returns whether the condition was met. */
  function update(pair: Pair, input: object, abortSignal: AbortSignal, attempts?: Attempts): Promise<boolean> {
    const write = async () => {
      try {
        await dynamodb.updateItem({ ...keyOf(pair), ...input }, abortSignal);
        return true;
      } catch (error) {
        if (isConditionFailed(error)) return false;
        throw error;
      }
    };
    return withRetry(abortSignal, write, attempts);
  }

  function keyOf(pair: Pair) {
    return { TableName: tableName, Key: { pair: { S: pairKey(pair) } } };
  }

  async function openToken(pair: Pair, item: Item, hasKey: boolean, deadline: number) {
    if (!hasKey) onUnreadable?.('no-key', pair);
    const { visible, sealed } = readToken(item) ?? {};
    if (visible === undefined) return undefined;
    if (!hasKey) return { ...visible, closed: 'no-key' } as const;
    if (sealed === undefined) return { ...visible, closed: 'no-bytes' } as const;
    const token = await sealer?.open(pair, sealed, deadline);
    if (token === undefined) onUnreadable?.('unreadable', pair);
    return token ?? ({ ...visible, closed: 'unreadable' } as const);
  }

  /** Stores only the visible part without a key, as proof of the version, and never instead of an unexpired token. */
  async function sealToken(pair: Pair, seen: PairRecord, token: PairRecord['token'], deadline: number) {
    if (token?.accessToken === undefined) return tokenAttributes(undefined, undefined);
    const sealed = await sealer?.seal(pair, token, deadline);
    if (sealed !== undefined) return tokenAttributes(sealed.visible, sealed);
    if (seen.token !== undefined && now() < seen.token.expiresAt) throw unavailable('no-sealing-key');
    const { accessToken, scope, passThrough, ...visible } = token;
    return tokenAttributes(visible satisfies VisibleToken, undefined);
  }
}

/** Returns a random tag, so that no tag recurs after an item was deleted or restored. */
const newTag = () => randomBytes(16).toString('base64url');

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
