import {
  GetSecretValueCommand,
  type GetSecretValueCommandOutput,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager';
import { Redacted } from '../broker/redacted.ts';
import { type ReadSecret, type SecretReading, type SecretStage, secretName } from '../broker/secret.ts';
import { secretsFailure } from './secrets-failure.ts';

/**
 * A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_SECRETS_MANAGER`),
 * with time for one repetition within the time of a reading.
 */
export function createSecretsManagerClient(config: SecretsManagerClientConfig = {}): SecretsManagerClient {
  return new SecretsManagerClient({
    maxAttempts: 2,
    // A kept-alive connection can die unnoticed while the environment is frozen.
    requestHandler: { requestTimeout: ATTEMPT_TIMEOUT_MS, throwOnRequestTimeout: true },
    ...config,
  });
}

/** Reads clients' secrets by name and stage; everything together, repetitions too, takes at most `timeoutMs`. */
export function createSecretReader({ environment, secretsManager, timeoutMs = TIMEOUT_MS }: Dependencies): ReadSecret {
  return async (client, stage) => {
    const command = new GetSecretValueCommand({ SecretId: secretName(environment, client), VersionStage: stage });
    const abort = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), timeoutMs);
    });
    try {
      // A race, because the SDK heeds the signal while it sends and waits, but not while it looks for credentials.
      const answer = await Promise.race([secretsManager.send(command, { abortSignal: abort.signal }), tooLate]);
      if (answer !== undefined) return readAnswer(answer, stage);
      abort.abort();
      return { outcome: 'unavailable', cause: `no answer within ${timeoutMs} ms` };
    } catch (error) {
      return secretsFailure(error);
    } finally {
      clearTimeout(timer);
    }
  };
}

interface Dependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 1_000;
const ATTEMPT_TIMEOUT_MS = 600;

function readAnswer(answer: GetSecretValueCommandOutput, stage: SecretStage): SecretReading {
  const { VersionId: versionId, SecretString: text, SecretBinary: binary } = answer;
  if (typeof text === 'string' && typeof versionId === 'string') {
    return { outcome: 'found', secret: { versionId, stage, text: new Redacted(text) } };
  }
  return binary === undefined ? { outcome: 'unavailable', cause: 'an answer without a value' } : { outcome: 'binary' };
}
