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
    try {
      return readAnswer(await getSecretValue(dependencies, asked, deadline), asked, stage);
    } catch (error) {
      return readFailure(error);
    }
  };
}

/** Asks for the value of a secret, by the deadline (epoch milliseconds) at the latest. */
export function getSecretValue(
  { secretsManager, now, timeoutMs = 1_000 }: SecretDependencies,
  asked: GetSecretValueCommandInput,
  deadline: number,
): Promise<GetSecretValueCommandOutput> {
  const command = new GetSecretValueCommand(asked);
  return withTimeLimit(
    timeoutMs,
    (abortSignal) => withRetry(abortSignal, () => secretsManager.send(command, { abortSignal })),
    deadline - now(),
  );
}

/** Whether an answer is about the secret, and the version of it, that was asked for; no other answer is believed. */
export function isAbout(answer: GetSecretValueCommandOutput, asked: GetSecretValueCommandInput): boolean {
  const { SecretId, VersionId, VersionStage } = asked;
  if (answer.Name !== SecretId) return false;
  return VersionStage === undefined
    ? answer.VersionId === VersionId
    : answer.VersionStages?.includes(VersionStage) === true;
}

function readAnswer(
  answer: GetSecretValueCommandOutput,
  asked: GetSecretValueCommandInput,
  stage: SecretStage,
): SecretReading {
  const { VersionId: versionId, SecretString: text, SecretBinary: binary } = answer;
  const hasText = typeof text === 'string' && typeof versionId === 'string';
  if (!hasText && binary === undefined) return { outcome: 'unavailable', cause: 'an answer without a value' };
  if (!isAbout(answer, asked)) return { outcome: 'unavailable', cause: 'another secret' };
  return hasText ? { outcome: 'found', secret: { versionId, stage, text: new Redacted(text) } } : { outcome: 'binary' };
}

/**
 * What a failed reading says about the secret. An answer that says no is definitive. No answer, an unreadable one,
 * throttling and 5xx say nothing, and neither does a key that refuses: the secret itself is still there and still allowed.
 */
function readFailure(error: unknown): SecretReading {
  const cause = causeWord(error);
  if (!(error instanceof SecretsManagerServiceException) || !isDefinitive(error) || KEY_FAILURES.has(error.name)) {
    return { outcome: 'unavailable', cause };
  }
  if (isRefusalByKey(error)) return { outcome: 'unavailable', cause: 'KMSAccessDenied' };
  if (error.name === 'ResourceNotFoundException') return { outcome: 'missing' };
  if (error.name === 'InvalidRequestException') return { outcome: 'deleted' };
  return { outcome: 'denied', cause };
}

/** The same error as for a secret that may not be read; only the words differ. Other words count as the stricter case. */
function isRefusalByKey({ name, message }: SecretsManagerServiceException): boolean {
  return name === 'AccessDeniedException' && message.startsWith('Access to KMS is not allowed');
}

const KEY_FAILURES: ReadonlySet<string> = new Set(['DecryptionFailure', 'KMSInvalidStateException']);

/**
 * A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_SECRETS_MANAGER`),
 * for which a first call waits. It repeats nothing (see `withRetry`), uses no connection that was idle for 30 s, and has no
 * log: that of the SDK copies the input and the output of each call.
 */
export function createSecretsManagerClient(config: SecretsManagerClientConfig = {}): SecretsManagerClient {
  const { secure, plain, dropUnfit } = createAgents(Date.now);
  const requestHandler = { httpsAgent: secure, httpAgent: plain };
  const client = new SecretsManagerClient({
    maxAttempts: 1,
    streamCollector: collectBody,
    requestHandler,
    ...config,
  });
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
