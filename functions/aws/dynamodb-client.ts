import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';

/**
 * A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_DYNAMODB`). It
 * repeats nothing: who calls decides that, see `withSecondTry`.
 */
export function createDynamoDBClient(config: DynamoDBClientConfig = {}): DynamoDBClient {
  return new DynamoDBClient({ maxAttempts: 1, ...config });
}
