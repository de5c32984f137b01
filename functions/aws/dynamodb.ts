import type { AttributeValue, GetItemCommandInput, UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import { isRecord } from '../broker/json.ts';
import { type Access, createJsonApi } from './json-api.ts';

/** The two operations that the pair table uses; each gives the attributes that the answer holds, if any. */
export interface DynamoDB {
  readonly getItem: Operation<GetItemCommandInput>;
  readonly updateItem: Operation<UpdateItemCommandInput>;
}

type Operation<Input> = (input: Input, abortSignal: AbortSignal) => Promise<ReturnType<typeof attributes>>;

/**
 * DynamoDB of the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_DYNAMODB`).
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
 */
export function createDynamoDB(access: Access): DynamoDB {
  const endpoint = access.endpoint ?? process.env.AWS_ENDPOINT_URL_DYNAMODB;
  const call = createJsonApi(
    { service: 'dynamodb', target: 'DynamoDB_20120810', json: '1.0' },
    { ...access, endpoint },
  );
  return {
    getItem: async (input, abortSignal) => attributes((await call('GetItem', input, abortSignal)).Item),
    updateItem: async (input, abortSignal) => attributes((await call('UpdateItem', input, abortSignal)).Attributes),
  };
}

/** As AWS says what an attribute is; those who read one look whether it is. */
function attributes(value: unknown) {
  return isRecord(value) ? (value as Readonly<Record<string, AttributeValue>>) : undefined;
}
