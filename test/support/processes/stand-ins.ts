import { onTestFinished, vi } from 'vitest';
import { startDynamoDB as startRealDynamoDB } from '../../../bin/local/aws/dynamodb.ts';
import { startSecretsManager as startRealSecretsManager } from '../../../bin/local/aws/secrets-manager.ts';
import type { AwsKey } from '../../../bin/local/aws/server.ts';
import { startSns as startRealSns, startSts as startRealSts } from '../../../bin/local/aws/sns-sts.ts';
import type { LoopbackServer } from '../../../bin/local/loopback.ts';
import { startFaultyEndpoint } from '../aws/faulty-endpoint.ts';
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

/** The stand-in for Secrets Manager, in the same way, which fails on demand. */
export async function startSecretsManager(options: Without<Parameters<typeof startRealSecretsManager>[0]> = {}) {
  return failing(await startRealSecretsManager({ ...KEYS, ...options }));
}

/** The stand-in for SNS, in the same way. */
export async function startSns(options: Without<Parameters<typeof startRealSns>[0]>) {
  return failing(await startRealSns({ ...KEYS, ...options }));
}

/** The stand-in for STS, in the same way. */
export async function startSts(options: Without<Parameters<typeof startRealSts>[0]>) {
  return failing(await startRealSts({ ...KEYS, ...options }));
}

/** A stand-in behind an endpoint that adds faults; `operations` were called, in order. */
async function failing<Server extends LoopbackServer>(server: Server) {
  const { url, failWith, operations, close } = await startFaultyEndpoint(server.url);
  return { ...server, url, failWith, operations, close: () => close().then(server.close) };
}

/** Until the end of the test, the SDK and the adapters repeat without their random pauses. */
export function repeatAtOnce(): void {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
}
