import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';

/**
 * A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_DYNAMODB`). Its
 * calls get their time from a `TimeBudget`, which leaves room for one repetition.
 */
export function createDynamoDBClient(config: DynamoDBClientConfig = {}): DynamoDBClient {
  return new DynamoDBClient({
    maxAttempts: 2,
    // Without these the SDK looks for configuration files, which Lambda does not have.
    retryMode: 'standard',
    accountIdEndpointMode: 'disabled',
    requestHandler: { throwOnRequestTimeout: true },
    ...config,
  });
}
