import {
  GetSecretValueCommand,
  type GetSecretValueCommandOutput,
  type SecretsManagerClient,
  SecretsManagerServiceException,
} from '@aws-sdk/client-secrets-manager';
import type { ReadSecret, SecretReading } from '../broker/credential/secret.ts';
import { Redacted } from '../broker/redacted.ts';
import { type SecretStage, secretName } from '../contract.ts';
import { causeWord, isDefinitive } from './errors.ts';
import { withRetry, withTimeLimit } from './time-limit.ts';

interface Dependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly timeoutMs?: number;
}

/** Reads clients' secrets by name and stage; everything together, repetitions too, takes at most `timeoutMs`. */
export function createSecretReader({
  environment,
  secretsManager,
  now,
  timeoutMs = TIMEOUT_MS,
}: Dependencies): ReadSecret {
  return async (client, stage, deadline = Infinity) => {
    const name = secretName(environment, client);
    const command = new GetSecretValueCommand({ SecretId: name, VersionStage: stage });
    try {
      const answer = await withTimeLimit(
        timeoutMs,
        (abortSignal) => withRetry(abortSignal, () => secretsManager.send(command, { abortSignal })),
        deadline - now(),
      );
      return readAnswer(answer, name, stage);
    } catch (error) {
      return readFailure(error);
    }
  };
}

const TIMEOUT_MS = 1_000;

/** An answer is believed only about the secret and the stage that were asked for. */
function readAnswer(answer: GetSecretValueCommandOutput, name: string, stage: SecretStage): SecretReading {
  const { VersionId: versionId, SecretString: text, SecretBinary: binary } = answer;
  const hasText = typeof text === 'string' && typeof versionId === 'string';
  if (!hasText && binary === undefined) return { outcome: 'unavailable', cause: 'an answer without a value' };
  const isAsked = answer.Name === name && answer.VersionStages?.includes(stage);
  if (!isAsked) return { outcome: 'unavailable', cause: 'another secret' };
  return hasText ? { outcome: 'found', secret: { versionId, stage, text: new Redacted(text) } } : { outcome: 'binary' };
}

/**
 * What a failed reading says about the secret. An answer that says no is definitive. No answer, an unreadable one,
 * throttling and 5xx say nothing, and neither does a key that refuses: the secret itself is still there and still allowed.
 */
function readFailure(error: unknown): Exclude<SecretReading, { outcome: 'found' }> {
  const cause = causeWord(error);
  if (!(error instanceof SecretsManagerServiceException) || !isDefinitive(error)) {
    return { outcome: 'unavailable', cause };
  }
  if (KEY_FAILURES.has(error.name)) return { outcome: 'unavailable', cause };
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
