import {
  GetSecretValueCommand,
  type GetSecretValueCommandOutput,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager';
import type { ReadSecret, SecretReading } from '../broker/credential/secret.ts';
import { Redacted } from '../broker/redacted.ts';
import { type SecretStage, secretName } from '../contract.ts';
import { LEAN, withoutLog } from './lean-client.ts';
import { withSecondTry } from './retry.ts';
import { secretsFailure } from './secrets-failure.ts';
import { withTimeLimit } from './time-limit.ts';

/**
 * A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_SECRETS_MANAGER`).
 * It repeats nothing: who reads decides that, see `withSecondTry`.
 */
export function createSecretsManagerClient(config: SecretsManagerClientConfig = {}): SecretsManagerClient {
  return withoutLog(new SecretsManagerClient({ ...LEAN, ...config }));
}

/** Reads clients' secrets by name and stage; everything together, repetitions too, takes at most `timeoutMs`. */
export function createSecretReader({
  environment,
  secretsManager,
  now,
  timeoutMs = TIMEOUT_MS,
}: Dependencies): ReadSecret {
  return async (client, stage, deadline = Infinity) => {
    const command = new GetSecretValueCommand({ SecretId: secretName(environment, client), VersionStage: stage });
    try {
      const answer = await withTimeLimit(
        timeoutMs,
        (abortSignal, limits) => withSecondTry(limits, () => secretsManager.send(command, { abortSignal })),
        deadline - now(),
      );
      return readAnswer(answer, stage);
    } catch (error) {
      return secretsFailure(error);
    }
  };
}

interface Dependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 1_000;

function readAnswer(answer: GetSecretValueCommandOutput, stage: SecretStage): SecretReading {
  const { VersionId: versionId, SecretString: text, SecretBinary: binary } = answer;
  if (typeof text === 'string' && typeof versionId === 'string') {
    return { outcome: 'found', secret: { versionId, stage, text: new Redacted(text) } };
  }
  return binary === undefined ? { outcome: 'unavailable', cause: 'an answer without a value' } : { outcome: 'binary' };
}
