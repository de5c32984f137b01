import {
  DescribeSecretCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import * as z from 'zod/mini';
import type { Promotion, SecretDescription } from '../broker/health/check-client.ts';
import type { ClientName } from '../broker/pair/pair.ts';
import { NAME_PATTERN, secretName } from '../contract.ts';
import { causeWord, withTimeLimit } from './calls.ts';

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

interface Dependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  /** Repetitions included. */
  readonly timeoutMs?: number;
}

/**
 * Looks at a client's secret from outside; `undefined` when there is none or it is planned for deletion. Other than the
 * list of secrets, this knows of a client as soon as it exists.
 *
 * @throws Error whose message holds one word of the cause
 */
export function createSecretDescriber({ environment, secretsManager, timeoutMs = TIMEOUT_MS }: Dependencies) {
  return async (client: ClientName): Promise<SecretDescription | undefined> => {
    const command = new DescribeSecretCommand({ SecretId: secretName(environment, client) });
    try {
      const secret = await withTimeLimit(timeoutMs, (abortSignal) => secretsManager.send(command, { abortSignal }));
      if (secret.DeletedDate !== undefined) return undefined;
      const versions = Object.entries(secret.VersionIdsToStages ?? {});
      return {
        services: secret.Tags?.find(({ Key }) => Key === 'services')?.Value,
        currentVersion: versions.find(([, stages]) => stages.includes('AWSCURRENT'))?.[0],
      };
    } catch (error) {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw new Error(`The secret of ${client} cannot be described: ${causeWord(error)}`);
    }
  };
}

const TIMEOUT_MS = 10_000;
