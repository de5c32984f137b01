import * as z from 'zod/mini';
import type { Promotion } from '../broker/health/rotation.ts';
import type { ClientName } from '../broker/pair/pair.ts';
import { NAME_PATTERN, secretName } from '../contract.ts';

/** What an event means: a client's credential was put into use, or nothing that concerns this environment. */
export type RotationEvent = ({ readonly kind: 'promotion' } & Promotion) | { readonly kind: 'foreign' | 'malformed' };

/**
 * Reads the event that Secrets Manager sends when a stage moves to another version. Nothing is done upon an event that is
 * not exactly this one, of a client of this environment and for AWSCURRENT.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/event-detail-secret-label-updated-secretsmanager.html
 */
export function parseRotationEvent(event: unknown, environment: string): RotationEvent {
  const envelope = envelopeSchema.safeParse(event);
  if (!envelope.success) return { kind: 'malformed' };
  const { source, 'detail-type': type } = envelope.data;
  if (source !== 'aws.secretsmanager' || type !== 'Secret Label Updated') return { kind: 'foreign' };

  const detail = detailSchema.safeParse(envelope.data.detail);
  if (!detail.success) return { kind: 'malformed' };
  const { name, labelUpdated, versionId } = detail.data;
  const client = clientOf(name, environment);
  if (labelUpdated !== 'AWSCURRENT' || client === undefined) return { kind: 'foreign' };
  return { kind: 'promotion', client, version: versionId };
}

const envelopeSchema = z.object({ source: z.string(), 'detail-type': z.string(), detail: z.unknown() });

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
