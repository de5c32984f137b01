import { AssumeRoleCommand, STSClient, type STSClientConfig } from '@aws-sdk/client-sts';
import { withTimeLimit } from './calls.ts';

/** A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_STS`). */
export function createStsClient(config: STSClientConfig = {}): STSClient {
  return new STSClient({
    requestHandler: { requestTimeout: ATTEMPT_TIMEOUT_MS, throwOnRequestTimeout: true },
    ...config,
  });
}

interface Dependencies {
  readonly sts: STSClient;
  readonly roleArn: string;
  readonly timeoutMs?: number;
}

/** The credentials of the role that the broker must refuse, fresh each time. */
export function createProbeCredentials({ sts, roleArn, timeoutMs = TIMEOUT_MS }: Dependencies) {
  return async (): Promise<ProbeCredentials> => {
    const command = new AssumeRoleCommand({
      RoleArn: roleArn,
      RoleSessionName: 'token-broker-health',
      DurationSeconds: SHORTEST_SECONDS,
    });
    const { Credentials } = await withTimeLimit(timeoutMs, (abortSignal) => sts.send(command, { abortSignal }));
    const {
      AccessKeyId: accessKeyId,
      SecretAccessKey: secretAccessKey,
      SessionToken: sessionToken,
    } = Credentials ?? {};
    if (!accessKeyId || !secretAccessKey) throw new TypeError('STS gave no credentials');
    return { accessKeyId, secretAccessKey, sessionToken };
  };
}

interface ProbeCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

/** AWS gives credentials for no shorter time. */
const SHORTEST_SECONDS = 900;
const TIMEOUT_MS = 5_000;
const ATTEMPT_TIMEOUT_MS = 2_000;
