import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';

/**
 * A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_DYNAMODB`). Its
 * calls get their time from a `TimeBudget`, in which one repetition fits: the SDK waits at most 25 ms before it.
 */
export function createDynamoDBClient(config: DynamoDBClientConfig = {}): DynamoDBClient {
  return new DynamoDBClient({
    maxAttempts: 2,
    requestHandler: { throwOnRequestTimeout: true },
    ...config,
  });
}
