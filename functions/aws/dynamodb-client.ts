import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { LEAN, withoutLog } from './lean-client.ts';

/**
 * A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_DYNAMODB`). It
 * repeats nothing: who calls decides that, see `withSecondTry`.
 */
export function createDynamoDBClient(config: DynamoDBClientConfig = {}): DynamoDBClient {
  return withoutLog(new DynamoDBClient({ ...LEAN, ...config }));
}
