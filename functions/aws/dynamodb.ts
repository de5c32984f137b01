import type { AttributeValue, GetItemCommandInput, UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import { isRecord } from '../broker/json.ts';
import { type Access, createJsonApi, DYNAMODB } from './json-api.ts';

export type DynamoDB = ReturnType<typeof createDynamoDB>;

/**
 * The two operations of DynamoDB that the pair table uses. A read returns the attributes of the item, if there is one.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
 */
export function createDynamoDB(access: Access) {
  const call = createJsonApi(DYNAMODB, access);
  return {
    async getItem(input: GetItemCommandInput, abortSignal: AbortSignal) {
      const { Item } = await call('GetItem', input, abortSignal);
      if (Item === undefined || Item === null) return undefined;
      if (!isRecord(Item)) throw new SyntaxError('The answer of AWS contains an item that is not an object');
      // The types are as AWS documents them. Each reader of an attribute checks its own attribute.
      return Item as Readonly<Record<string, AttributeValue>>;
    },
    updateItem: (input: UpdateItemCommandInput, abortSignal: AbortSignal): Promise<unknown> =>
      call('UpdateItem', input, abortSignal),
  };
}
