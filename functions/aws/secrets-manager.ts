import type { GetSecretValueCommandInput } from '@aws-sdk/client-secrets-manager';
import type { ReadSecret, SecretReading } from '../broker/credential/secret.ts';
import { textOf } from '../broker/json.ts';
import { Redacted } from '../broker/redacted.ts';
import { FOR_DELETION, KEY_REFUSED, POLICY_KIND, secretName } from '../vocabulary.ts';
import { causeWord, isDefinitive, MARKED_FOR_DELETION, withRetry, withTimeLimit } from './calls.ts';
import { type Access, createJsonApi, SECRETS } from './json-api.ts';

export type SecretsManager = ReturnType<typeof createSecretsManager>;

/**
 * The only operation of Secrets Manager that the token function uses. Returns the members of the answer.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
 */
export function createSecretsManager(access: Access) {
  const call = createJsonApi(SECRETS, access, nameRefusal);
  return {
    getSecretValue: (input: GetSecretValueCommandInput, signal: AbortSignal) => call('GetSecretValue', input, signal),
  };
}

/** Names the causes that only the message distinguishes: deletion, the key, and the kind of policy. */
function nameRefusal(name: string, message: string): string {
  if (name === 'InvalidRequestException') return FOR_DELETION.test(message) ? MARKED_FOR_DELETION : name;
  if (name !== 'AccessDeniedException') return name;
  return KEY_REFUSED.test(message) ? KEY_DENIED : (POLICY_KIND.exec(message)?.[1] ?? name);
}

/** A refusal of the key says nothing about the secret. */
const KEY_DENIED = 'KMSAccessDenied';

/** Dependencies for reading the secrets of an environment. A reading with its repetitions takes at most `timeoutMs`. */
export interface SecretDependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManager;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly timeoutMs?: number;
}

/** Reads clients' secrets by name and stage. */
export function createSecretReader(dependencies: SecretDependencies): ReadSecret {
  return async (client, stage, deadline = Infinity) => {
    const asked = { SecretId: secretName(dependencies.environment, client), VersionStage: stage };
    try {
      const { versionId, text } = await readSecretVersion(dependencies, asked, deadline);
      if (text === undefined) return { outcome: 'binary' };
      return { outcome: 'found', secret: { versionId, stage, text: new Redacted(text) } };
    } catch (error) {
      return readFailure(error);
    }
  };
}

/**
 * Reads a version of a secret before the deadline (epoch milliseconds). Rejects an answer about another secret or
 * version. A binary secret has no `text`, and a retired version has no `stages`.
 */
export async function readSecretVersion(
  { secretsManager, now, timeoutMs = 1_000 }: SecretDependencies,
  asked: GetSecretValueCommandInput,
  deadline: number,
) {
  const read = (abortSignal: AbortSignal) =>
    withRetry(abortSignal, () => secretsManager.getSecretValue(asked, abortSignal));
  const answer = await withTimeLimit(Math.min(timeoutMs, deadline - now()), read);
  const { Name, VersionId: versionId, VersionStages, SecretString, SecretBinary } = answer;
  const stages: readonly unknown[] = Array.isArray(VersionStages) ? VersionStages : [];
  const hasStage = asked.VersionStage === undefined || stages.includes(asked.VersionStage);
  const isAsked = Name === asked.SecretId && versionId === (asked.VersionId ?? versionId) && hasStage;
  if (!isAsked) throw misread('AnotherSecret');
  const text = textOf(SecretString);
  if (typeof versionId !== 'string' || (text ?? textOf(SecretBinary)) === undefined) throw misread('NoSecretValue');
  return { versionId, stages, text };
}

function misread(name: string): Error {
  return Object.assign(new Error('The answer of AWS contains no value of the secret'), { name });
}

/**
 * Returns the outcome of a failure. Only a definitive refusal is about the secret. After no answer, an unreadable
 * answer, throttling, 5xx or a refusal of the key, the secret still exists and is still allowed.
 */
function readFailure(error: unknown): SecretReading {
  if (!isDefinitive(error)) return { outcome: 'unavailable', cause: causeWord(error) };
  const { name: cause } = error;
  if (cause === 'ResourceNotFoundException') return { outcome: 'missing' };
  if (cause === MARKED_FOR_DELETION) return { outcome: 'deleted' };
  // An operator has written this policy, as `client disable` does.
  return { outcome: cause === 'deny in a resource-based policy' ? 'stopped' : 'denied', cause };
}
