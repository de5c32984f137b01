import { withRetry, withTimeLimit } from './calls.ts';
import { createHttpsSender } from './https/sender.ts';
import { createJsonApi } from './json-api.ts';

/** What CodeDeploy is told of a hook that it started. */
interface HookStatus {
  readonly deploymentId: string;
  readonly lifecycleEventHookExecutionId: string;
  readonly status: 'Succeeded' | 'Failed';
}

/**
 * Tells CodeDeploy of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_CODEDEPLOY`) how a hook ended.
 *
 * @see https://docs.aws.amazon.com/codedeploy/latest/APIReference/API_PutLifecycleEventHookExecutionStatus.html
 */
export function createHookReporter(timeoutMs = 10_000): (status: HookStatus) => Promise<void> {
  const call = createJsonApi(
    { service: 'codedeploy', target: 'CodeDeploy_20141006', json: '1.1' },
    { send: createHttpsSender(), endpoint: process.env.AWS_ENDPOINT_URL_CODEDEPLOY },
  );
  return async (status) => {
    const report = (signal: AbortSignal) => call('PutLifecycleEventHookExecutionStatus', status, signal);
    await withTimeLimit(timeoutMs, (signal) => withRetry(signal, () => report(signal)));
  };
}
