import { SecretsManagerServiceException } from '@aws-sdk/client-secrets-manager';
import type { SecretReading } from '../broker/credential/secret.ts';
import { causeWord } from './cause-word.ts';
import { isRefusal } from './definitive.ts';

/**
 * What a failed reading says about the secret. An answer that says no is definitive. No answer, an unreadable one,
 * throttling and 5xx say nothing, and neither does a key that refuses: the secret itself is still there and still allowed.
 */
export function secretsFailure(error: unknown): Exclude<SecretReading, { outcome: 'found' }> {
  const cause = causeWord(error);
  if (!(error instanceof SecretsManagerServiceException) || !isRefusal(error)) return { outcome: 'unavailable', cause };
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
