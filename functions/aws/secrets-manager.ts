import type { Readable } from 'node:stream';
import {
  GetSecretValueCommand,
  type GetSecretValueCommandInput,
  type GetSecretValueCommandOutput,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
  SecretsManagerServiceException,
} from '@aws-sdk/client-secrets-manager';
import type { ReadSecret, SecretReading } from '../broker/credential/secret.ts';
import { Redacted } from '../broker/redacted.ts';
import { type SecretStage, secretName } from '../contract.ts';
import { causeWord, isDefinitive, withRetry, withTimeLimit } from './calls.ts';
import { createAgents } from './https/agents.ts';

/** What reads the secrets of one environment; each reading, repetitions included, takes at most `timeoutMs`. */
export interface SecretDependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly timeoutMs?: number;
}

/** Reads clients' secrets by name and stage. */
export function createSecretReader(dependencies: SecretDependencies): ReadSecret {
  return async (client, stage, deadline = Infinity) => {
    const asked = { SecretId: secretName(dependencies.environment, client), VersionStage: stage };
    return getSecretValue(dependencies, asked, deadline).then((answer) => readAnswer(answer, asked), readFailure);
  };
}

/** Asks for the value of a secret, by the deadline (epoch milliseconds) at the latest. */
export function getSecretValue(
  { secretsManager, now, timeoutMs = 1_000 }: SecretDependencies,
  asked: GetSecretValueCommandInput,
  deadline: number,
): Promise<GetSecretValueCommandOutput> {
  const command = new GetSecretValueCommand(asked);
  const send = (abortSignal: AbortSignal) =>
    withRetry(abortSignal, () => secretsManager.send(command, { abortSignal }));
  return withTimeLimit(timeoutMs, send, deadline - now());
}

/** Whether an answer is about the secret, and the version of it, that was asked for; no other answer is believed. */
export function isAbout(answer: GetSecretValueCommandOutput, asked: GetSecretValueCommandInput): boolean {
  const { SecretId, VersionId = answer.VersionId, VersionStage } = asked;
  const hasStage = VersionStage === undefined || answer.VersionStages?.includes(VersionStage) === true;
  return answer.Name === SecretId && answer.VersionId === VersionId && hasStage;
}

function readAnswer(
  answer: GetSecretValueCommandOutput,
  asked: { SecretId: string; VersionStage: SecretStage },
): SecretReading {
  const { VersionId: versionId, SecretString: text, SecretBinary: binary } = answer;
  if (!isAbout(answer, asked)) return { outcome: 'unavailable', cause: 'another secret' };
  if (binary !== undefined) return { outcome: 'binary' };
  if (typeof text !== 'string' || typeof versionId !== 'string')
    return { outcome: 'unavailable', cause: 'an answer without a value' };
  return { outcome: 'found', secret: { versionId, stage: asked.VersionStage, text: new Redacted(text) } };
}

/**
 * What a failed reading says about the secret. An answer that says no is definitive. No answer, an unreadable one,
 * throttling and 5xx say nothing, and neither does a key that refuses: the secret itself is still there and still allowed.
 */
function readFailure(error: unknown): SecretReading {
  const down = { outcome: 'unavailable', cause: causeWord(error) } as const;
  if (!(error instanceof SecretsManagerServiceException && isDefinitive(error))) return down;
  const { name, message } = error;
  if (name === 'ResourceNotFoundException') return { outcome: 'missing' };
  if (name === 'InvalidRequestException') return { outcome: 'deleted' };
  if (name === 'DecryptionFailure' || name === 'KMSInvalidStateException') return down;
  // A key that refuses differs only in its words from a secret that may not be read. Other words count as the stricter case.
  const isOfKey = name === 'AccessDeniedException' && message.startsWith('Access to KMS is not allowed');
  return isOfKey ? { ...down, cause: 'KMSAccessDenied' } : { ...down, outcome: 'denied' };
}

/**
 * A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_SECRETS_MANAGER`),
 * for which a first call waits. It repeats nothing (see `withRetry`), uses no connection that was idle for 30 s, and has no
 * log: that of the SDK copies the input and the output of each call.
 */
export function createSecretsManagerClient(config: SecretsManagerClientConfig = {}): SecretsManagerClient {
  const { secure, plain, dropUnfit } = createAgents(Date.now);
  const requestHandler = { httpsAgent: secure, httpAgent: plain };
  const own = { maxAttempts: 1, streamCollector: collectBody, requestHandler };
  const client = new SecretsManagerClient({ ...own, ...config });
  client.middlewareStack.remove('loggerMiddleware');
  client.middlewareStack.add(
    (next) => (call) => {
      dropUnfit();
      return next(call);
    },
    { step: 'finalizeRequest' },
  );
  return client;
}

/**
 * All bytes of an answer. The SDK's own way first asks whether the answer is a stream of a browser, and Node loads all
 * that it knows of those to say no.
 */
function collectBody(body: Readable): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    body.on('data', (chunk: Uint8Array) => chunks.push(chunk));
    body.on('error', reject);
    body.on('end', () => resolve(Buffer.concat(chunks)));
  });
}
