import { randomBytes } from 'node:crypto';
import type { ClosedToken, PairRecord, VisibleToken } from '../../broker/pair/record.ts';
import type { PairStore, Seen } from '../../broker/pair/store.ts';
import { type Pair, pairKey } from '../../broker/pair.ts';
import { forgetAt, json, text } from '../attributes.ts';
import { type CallTerms, createCircuitBreaker, type SignalledCall, unavailable, withRetry } from '../calls.ts';
import type { DynamoDB } from '../dynamodb.ts';
import type { Sealer } from '../sealing/sealing.ts';
import { type Item, memberAttributes, readMembers, readToken, tokenAttributes } from './item.ts';

interface Dependencies {
  readonly dynamodb: Pick<DynamoDB, 'getItem' | 'updateItem'>;
  readonly tableName: string;
  /** Left out by operators' commands, which may not read the key: then no token is opened or sealed. */
  readonly sealer?: Sealer | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly breaker?: (<Answer>(terms: CallTerms, call: SignalledCall<Answer>) => Promise<Answer>) | undefined;
  /** Told of each record that is read without its token; must not throw. */
  readonly onUnreadable?: (reason: Unreadable, pair: Pair) => void;
}

/** Why a stored token could not be used: it was altered, swapped, or sealed with another key or format; or there is no key. */
export type Unreadable = 'closed' | 'no-key';

export type PairTable = ReturnType<typeof createPairTable>;

/** The store of pair records on DynamoDB: one item per pair, one call per operation. */
export function createPairTable(dependencies: Dependencies) {
  const { dynamodb, tableName, sealer, now, breaker = createCircuitBreaker(now), onUnreadable } = dependencies;
  const hasKey = async (deadline: number) => (await sealer?.hasKey(deadline)) === true;

  const store: PairStore = {
    async read(pair, deadline) {
      // Both at once: an instance's first read would otherwise wait for the sealing key as well.
      const isOpenable = hasKey(deadline);
      // After a failure too: nothing of this is under way any more when it ends.
      const item = await breaker({ deadline }, (abortSignal) => getItem(pair, abortSignal)).finally(() => isOpenable);
      return toSeen(pair, item, await isOpenable, deadline);
    },

    async replace(pair, { record: seen, tag: seenTag }, next, deadline) {
      const tag = newTag();
      const token = next.token === seen.token ? {} : await attributesOf(pair, seen, next, deadline);
      const attributes = { ...memberAttributes(next, now()), ...token, tag: { S: tag } };
      const input = updateInput(attributes, seenTag, tag);
      const isWritten = await breaker({ deadline, endsLease: next.lease === undefined }, (abortSignal) =>
        update(pair, input, abortSignal),
      );
      return isWritten ? { record: { ...next, disabled: seen.disabled }, tag } : undefined;
    },
  };

  return {
    ...store,

    /** Stops the pair, also one without a record. Names no tag: it depends on no race and on no understanding of the record. */
    async disable(pair: Pair, abortSignal: AbortSignal): Promise<void> {
      await dynamodb.updateItem(
        {
          ...keyOf(pair),
          UpdateExpression: 'SET disabled = if_not_exists(disabled, :disabled), tag = :tag REMOVE forgetAt',
          ExpressionAttributeValues: { ':disabled': json({ since: now() }), ':tag': { S: newTag() } },
        },
        abortSignal,
      );
    },

    /** Ends the stop; a pair without a record needs none. */
    async enable(pair: Pair, abortSignal: AbortSignal): Promise<void> {
      await update(
        pair,
        {
          // Beside a latch the date is no number, so that the item stays.
          UpdateExpression: 'SET forgetAt = if_not_exists(rejected, :forgetAt), tag = :tag REMOVE disabled',
          ConditionExpression: 'attribute_exists(pair)',
          ExpressionAttributeValues: { ':forgetAt': forgetAt(now()), ':tag': { S: newTag() } },
        },
        abortSignal,
      );
    },
  };

  async function getItem(pair: Pair, abortSignal: AbortSignal): Promise<Item> {
    const input = { ...keyOf(pair), ConsistentRead: true };
    const item = await withRetry(abortSignal, () => dynamodb.getItem(input, abortSignal));
    // An item always holds its key, so one without it is no item of this pair.
    if (item !== undefined && item.pair?.S !== pairKey(pair)) throw new TypeError('not the item that was asked for');
    return item ?? {};
  }

  /** Whether the condition held. */
  async function update(pair: Pair, input: object, abortSignal: AbortSignal): Promise<boolean> {
    try {
      await withRetry(abortSignal, () => dynamodb.updateItem({ ...keyOf(pair), ...input }, abortSignal));
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === 'ConditionalCheckFailedException') return false;
      throw error;
    }
  }

  function keyOf(pair: Pair) {
    return { TableName: tableName, Key: { pair: { S: pairKey(pair) } } };
  }

  async function toSeen(pair: Pair, item: Item, isOpenable: boolean, deadline: number): Promise<Seen> {
    if (!isOpenable) onUnreadable?.('no-key', pair);
    return {
      record: { ...readMembers(item), token: await openToken(pair, item, isOpenable, deadline) },
      tag: text(item.tag),
    };
  }

  async function openToken(
    pair: Pair,
    item: Item,
    isOpenable: boolean,
    deadline: number,
  ): Promise<PairRecord['token']> {
    const stored = readToken(item);
    if (stored === undefined) return undefined;
    const { visible, sealed } = stored;
    const closed = (why: ClosedToken['closed']) => ({ ...visible, closed: why });
    if (!isOpenable) return closed('no-key');
    if (sealed === undefined) return closed('no-bytes');
    const token = await sealer?.open(pair, sealed, deadline);
    if (token === undefined) onUnreadable?.('closed', pair);
    return token ?? closed('unreadable');
  }

  /** Without a key the visible part alone is stored: it proves the version. It takes the place of no token that may still live. */
  async function attributesOf(pair: Pair, seen: PairRecord, { token }: PairRecord, deadline: number) {
    if (token?.accessToken === undefined) return tokenAttributes(undefined, undefined);
    const sealed = await sealer?.seal(pair, token, deadline);
    if (sealed !== undefined) return tokenAttributes(sealed.visible, sealed);
    if (seen.token !== undefined && now() < seen.token.expiresAt) throw unavailable('no-sealing-key');
    const { accessToken, scope, passThrough, ...visible } = token;
    return tokenAttributes(visible satisfies VisibleToken, undefined);
  }
}

/** Random, so that no tag comes again after an item was deleted or restored. */
function newTag(): string {
  return randomBytes(16).toString('base64url');
}

/** Writes all attributes if the item has the tag that was seen, or already the one that is written: then this is a repetition. */
function updateInput(
  attributes: Readonly<Record<string, Item[string] | undefined>>,
  seenTag: string | undefined,
  tag: string,
) {
  const names = Object.keys(attributes);
  const isSet = (name: string) => attributes[name] !== undefined;
  const set = names.filter(isSet).map((name) => `#${name} = :${name}`);
  const remove = names.filter((name) => !isSet(name)).map((name) => `#${name}`);
  const seen = seenTag === undefined ? 'attribute_not_exists(#tag)' : '#tag = :seen';
  return {
    UpdateExpression: `SET ${set.join(', ')}${remove.length > 0 ? ` REMOVE ${remove.join(', ')}` : ''}`,
    ConditionExpression: `${seen} OR #tag = :tag`,
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: {
      ...Object.fromEntries(names.filter(isSet).map((name) => [`:${name}`, attributes[name] as Item[string]])),
      ...(seenTag !== undefined && { ':seen': { S: seenTag } }),
      ':tag': { S: tag },
    },
  };
}
