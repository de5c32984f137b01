import * as z from 'zod/mini';
import type { Promotion } from '../broker/health/check-client.ts';
import type { ClientName } from '../broker/pair/pair.ts';
import { NAME_PATTERN, secretName } from '../contract.ts';

/** What an event of Secrets Manager means: a client's secret has a new current version, or it concerns no client of this environment. */
export type SecretEvent = ({ readonly kind: 'promotion' } & Promotion) | { readonly kind: IgnoredEvent };

/** Why an event of Secrets Manager leads to no check. */
export type IgnoredEvent = 'foreign' | 'malformed';

/**
 * Reads the event that Secrets Manager sends when a stage moves to another version; `undefined` when the event is none of
 * Secrets Manager. No client is checked upon an event that is not exactly this one, of this environment and for AWSCURRENT.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/event-detail-secret-label-updated-secretsmanager.html
 */
export function parseSecretEvent(event: unknown, environment: string): SecretEvent | undefined {
  if (!sourceSchema.safeParse(event).success) return undefined;
  const envelope = envelopeSchema.safeParse(event);
  if (!envelope.success) return { kind: 'malformed' };
  if (envelope.data['detail-type'] !== 'Secret Label Updated') return { kind: 'foreign' };

  const detail = detailSchema.safeParse(envelope.data.detail);
  if (!detail.success) return { kind: 'malformed' };
  const { name, labelUpdated, versionId } = detail.data;
  const client = clientOf(name, environment);
  if (labelUpdated !== 'AWSCURRENT' || client === undefined) return { kind: 'foreign' };
  return { kind: 'promotion', client, version: versionId };
}

const sourceSchema = z.object({ source: z.literal('aws.secretsmanager') });

const envelopeSchema = z.object({ 'detail-type': z.string(), detail: z.unknown() });

const detailSchema = z.object({
  name: z.string().check(z.minLength(1)),
  labelUpdated: z.string().check(z.minLength(1)),
  versionId: z.string().check(z.regex(/^[!-~]{1,64}$/)),
});

function clientOf(name: string, environment: string): ClientName | undefined {
  const prefix = secretName(environment, '');
  const client = name.slice(prefix.length);
  return name.startsWith(prefix) && NAME_PATTERN.test(client) ? client : undefined;
}
