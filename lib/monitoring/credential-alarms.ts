import type { AlarmSettings } from '../settings/alarm-schema.ts';
import { type AlarmDefinition, tooMuch } from './alarm.ts';
import type { BrokerMetric } from './metrics.ts';

type CredentialAlarm = 'credentialRejected' | 'sharedCacheDegraded' | 'secretsStale';

/** What traffic shows of credentials, tokens and the stores that the broker keeps them in. */
export function credentialAlarms(
  { credentialRejected, sharedCacheDegraded, secretsStale }: AlarmSettings,
  metric: BrokerMetric,
): Readonly<Record<CredentialAlarm, AlarmDefinition | false>> {
  return {
    credentialRejected: credentialRejected && {
      ...tooMuch(credentialRejected, metric('CredentialRejected')),
      means: 'A service rejected a credential.',
      act: 'Find it with `client list` and follow "A rejected credential". It ends by itself: the credential is not sent again.',
    },
    sharedCacheDegraded: sharedCacheDegraded && {
      ...tooMuch(sharedCacheDegraded, metric('SharedCacheUnavailable')),
      means: 'DynamoDB is down, slow or throttled: every instance of the function requests tokens for itself.',
      act: 'Callers get their tokens. Look at the table and the state of AWS, and at whether the services bear more requests.',
    },
    secretsStale: secretsStale && {
      ...tooMuch(secretsStale, metric('SecretStale')),
      means: 'Secrets Manager cannot be read: the credentials known last serve, for 24 hours at most.',
      act: 'Look at the state of AWS and at what the function may do with secrets and key. Rotate nothing until it is over.',
    },
  };
}
