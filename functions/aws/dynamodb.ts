import type { AttributeValue, GetItemCommandInput, UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import { isRecord } from '../broker/json.ts';
import { type Access, createJsonApi, DYNAMODB } from './json-api.ts';

export type DynamoDB = ReturnType<typeof createDynamoDB>;

/**
 * The two operations of DynamoDB that the pair table uses. Each returns the attributes in the answer, or `undefined`.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
 */
export function createDynamoDB(access: Access) {
  const call = createJsonApi(DYNAMODB, access);
  return {
    getItem: async (input: GetItemCommandInput, abortSignal: AbortSignal) =>
      attributes((await call('GetItem', input, abortSignal)).Item),
    updateItem: async (input: UpdateItemCommandInput, abortSignal: AbortSignal) =>
      attributes((await call('UpdateItem', input, abortSignal)).Attributes),
  };
}

/** The types are as AWS documents them. Each reader of an attribute checks its own attribute. */
function attributes(value: unknown) {
  if (value === undefined || value === null) return undefined;
  if (!isRecord(value)) throw new SyntaxError('The answer of AWS contains attributes that are not an object');
  return value as Readonly<Record<string, AttributeValue>>;
}
