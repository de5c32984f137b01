import { AssumeRoleCommand, type STSClient } from '@aws-sdk/client-sts';
import { withTimeLimit } from '../aws/calls.ts';

/** Assumes the role that the broker must refuse, on every call, for the shortest time that AWS allows. */
export function createProbeCredentials(sts: STSClient, RoleArn: string, timeoutMs = 5_000) {
  return async () => {
    const command = new AssumeRoleCommand({ RoleArn, RoleSessionName: 'token-broker-health', DurationSeconds: 900 });
    const { Credentials } = await withTimeLimit(timeoutMs, (abortSignal) => sts.send(command, { abortSignal }));
    const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken } = Credentials ?? {};
    if (!accessKeyId || !secretAccessKey) throw new TypeError('STS returned no credentials');
    return { accessKeyId, secretAccessKey, sessionToken: SessionToken };
  };
}
