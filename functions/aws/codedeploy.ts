import { Sha256 } from '@aws-crypto/sha256-js';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { SignatureV4 } from '@smithy/signature-v4';
import { withRetry, withTimeLimit } from './calls.ts';
import { createHttpsSender } from './https/sender.ts';

/** What CodeDeploy is told of a hook that it started. */
export interface HookStatus {
  readonly deploymentId: string;
  readonly lifecycleEventHookExecutionId: string;
  readonly status: 'Succeeded' | 'Failed';
}

/**
 * Tells CodeDeploy of the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_CODEDEPLOY`)
 * how a hook ended, without the SDK's client for this one call.
 *
 * @throws Error with the status of the answer and nothing else of it
 * @see https://docs.aws.amazon.com/codedeploy/latest/APIReference/API_PutLifecycleEventHookExecutionStatus.html
 */
export function createHookReporter(timeoutMs = 10_000): (status: HookStatus) => Promise<void> {
  const { AWS_REGION: region, AWS_ENDPOINT_URL_CODEDEPLOY: endpoint } = process.env;
  if (!region) throw new Error('AWS_REGION must be set.');
  const url = new URL(endpoint || `https://codedeploy.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`);
  const signer = new SignatureV4({ service: 'codedeploy', region, credentials: defaultProvider(), sha256: Sha256 });
  const send = createHttpsSender();

  return async (status) => {
    const body = JSON.stringify(status);
    const { protocol, hostname, pathname: path, host } = url;
    await withTimeLimit(timeoutMs, (signal) =>
      withRetry(signal, async () => {
        const { headers } = await signer.sign({
          ...{ method: 'POST', protocol, hostname, path, body },
          headers: { host, 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': TARGET },
        });
        const limits = { timeoutMs, maxBodyBytes: 100_000, signal };
        const answer = await send({ method: 'POST', url, headers, body }, limits);
        if (answer.status !== 200) throw new Error(`CodeDeploy answered with the status ${answer.status}`);
      }),
    );
  };
}

const TARGET = 'CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus';
