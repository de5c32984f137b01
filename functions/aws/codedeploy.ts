import type { PutLifecycleEventHookExecutionStatusCommandInput } from '@aws-sdk/client-codedeploy';
import { withRetry, withTimeLimit } from './calls.ts';
import { createHttpsSender } from './https/sender.ts';
import { CODEDEPLOY, createJsonApi } from './json-api.ts';

/**
 * Returns a function that reports to CodeDeploy how a hook ended.
 *
 * @see https://docs.aws.amazon.com/codedeploy/latest/APIReference/API_PutLifecycleEventHookExecutionStatus.html
 */
export function createHookReporter(environment: string, timeoutMs = 10_000) {
  const call = createJsonApi(CODEDEPLOY, { send: createHttpsSender({ keepAlive: true }), environment });
  return (status: PutLifecycleEventHookExecutionStatusCommandInput) =>
    withTimeLimit(timeoutMs, (signal) =>
      withRetry(signal, () => call('PutLifecycleEventHookExecutionStatus', status, signal)),
    );
}
