import {
  GetSecretValueCommand,
  type GetSecretValueCommandInput,
  type GetSecretValueCommandOutput,
  type SecretsManagerClient,
  SecretsManagerServiceException,
} from '@aws-sdk/client-secrets-manager';
import type { ReadSecret, SecretReading } from '../broker/credential/secret.ts';
import { Redacted } from '../broker/redacted.ts';
import { type SecretStage, secretName } from '../contract.ts';
import { causeWord, isDefinitive, withRetry, withTimeLimit } from './calls.ts';

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
