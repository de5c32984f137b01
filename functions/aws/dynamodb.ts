import type { AttributeValue, GetItemCommandInput, UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import { isRecord } from '../broker/json.ts';
import { type Access, createJsonApi } from './json-api.ts';

export type DynamoDB = ReturnType<typeof createDynamoDB>;

/**
 * The two operations of DynamoDB that the pair table uses; each gives the attributes that the answer holds, if any.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
 */
export function createDynamoDB(access: Access) {
  const call = createJsonApi('dynamodb', access);
  return {
    getItem: async (input: GetItemCommandInput, abortSignal: AbortSignal) =>
      attributes((await call('GetItem', input, abortSignal)).Item),
    updateItem: async (input: UpdateItemCommandInput, abortSignal: AbortSignal) =>
      attributes((await call('UpdateItem', input, abortSignal)).Attributes),
  };
}

/** The types are those that AWS documents; each reader of an attribute checks its own. */
function attributes(value: unknown) {
  return isRecord(value) ? (value as Readonly<Record<string, AttributeValue>>) : undefined;
}
