import { onTestFinished, vi } from 'vitest';
import { startDynamoDB as startRealDynamoDB } from '../../../bin/local/aws/dynamodb.ts';
import { startSecretsManager as startRealSecretsManager } from '../../../bin/local/aws/secrets-manager.ts';
import type { AwsKey } from '../../../bin/local/aws/server.ts';
import { startSns as startRealSns, startSts as startRealSts } from '../../../bin/local/aws/sns-sts.ts';
import { createFaults } from '../aws/aws-faults.ts';
import { ACCESS } from '../example.ts';

/** The key of every test that is not about signatures. */
export const EXAMPLE_KEY = {
  role: 'arn:aws:iam::111111111111:role/example',
  ...ACCESS.credentials,
  mayReadSecrets: true,
} satisfies AwsKey;

const KEYS = { keys: [EXAMPLE_KEY] };

type Without<Options> = Omit<Options, 'keys'> & Partial<Options>;

/** The stand-in for DynamoDB, which knows `EXAMPLE_KEY` when no other keys are given. */
export function startDynamoDB(options: Without<Parameters<typeof startRealDynamoDB>[0]> = {}) {
  return startRealDynamoDB({ ...KEYS, ...options });
}

/** The stand-in for Secrets Manager, in the same way. */
export async function startSecretsManager(options: Without<Parameters<typeof startRealSecretsManager>[0]> = {}) {
  const { intercept, failWith } = createFaults();
  return { ...(await startRealSecretsManager({ ...KEYS, intercept, ...options })), failWith };
}

/** The stand-in for SNS, in the same way. */
export async function startSns(options: Without<Parameters<typeof startRealSns>[0]>) {
  const { intercept, failWith } = createFaults();
  return { ...(await startRealSns({ ...KEYS, intercept, ...options })), failWith };
}

/** The stand-in for STS, in the same way. */
export async function startSts(options: Without<Parameters<typeof startRealSts>[0]>) {
  const { intercept, failWith } = createFaults();
  return { ...(await startRealSts({ ...KEYS, intercept, ...options })), failWith };
}

/** Until the end of the test, the SDK and the adapters repeat without their random pauses. */
export function repeatAtOnce(): void {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
}
