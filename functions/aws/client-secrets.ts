import {
  DescribeSecretCommand,
  ListSecretsCommand,
  ResourceNotFoundException,
  type SecretListEntry,
  type SecretsManagerClient,
  type Tag,
} from '@aws-sdk/client-secrets-manager';
import * as z from 'zod/mini';
import type { Promotion, SecretDescription } from '../broker/health/check-client.ts';
import type { ClientList } from '../broker/health/run.ts';
import type { ClientName } from '../broker/pair/pair.ts';
import { NAME_PATTERN, secretName } from '../contract.ts';
import { causeWord, withTimeLimit } from './calls.ts';

interface Dependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  /** Repetitions included, and for a list all pages. */
  readonly timeoutMs?: number;
}

/**
 * Lists the environment's clients, those too whose secrets are planned for deletion; reads no secret. The list may be some
 * minutes old.
 *
 * @throws Error whose message holds one word of the cause: half a list is no list
 */
export function createClientList({ environment, secretsManager, timeoutMs = 60_000 }: Dependencies) {
  const prefix = secretName(environment, '');

  return async (): Promise<ClientList> => {
    const secrets = await withTimeLimit(timeoutMs, listSecrets).catch((error: unknown) => {
      throw new Error(`The clients cannot be listed: ${causeWord(error)}`);
    });
    // The filter compares beginnings, and what it takes for one is for AWS to say.
    const found = [...secrets].filter(([name]) => name.startsWith(prefix));
    const all = found.map(([name, { Tags }]) => ({ client: name.slice(prefix.length), services: servicesTag(Tags) }));
    const { clients = [], others = [] } = Object.groupBy(all, ({ client }) =>
      NAME_PATTERN.test(client) ? 'clients' : 'others',
    );
    return { clients, ignored: others.map(({ client }) => client) };
  };

  /** By name, because a list that changes from page to page can show a secret twice. */
  async function listSecrets(abortSignal: AbortSignal) {
    const secrets = new Map<string, SecretListEntry>();
    const Filters = [{ Key: 'name' as const, Values: [prefix] }];
    let NextToken: string | undefined;
    do {
      const command = new ListSecretsCommand({ Filters, IncludePlannedDeletion: true, MaxResults: 100, NextToken });
      const page = await secretsManager.send(command, { abortSignal });
      for (const secret of page.SecretList ?? []) secrets.set(secret.Name ?? '', secret);
      NextToken = page.NextToken;
    } while (NextToken !== undefined);
    return secrets;
  }
}

/**
 * Looks at a client's secret from outside, other than the list at its latest; `undefined` when there is none or it is
 * planned for deletion.
 *
 * @throws Error whose message holds one word of the cause
 */
export function createSecretDescriber({ environment, secretsManager, timeoutMs = 10_000 }: Dependencies) {
  return async (client: ClientName): Promise<SecretDescription | undefined> => {
    const command = new DescribeSecretCommand({ SecretId: secretName(environment, client) });
    try {
      const secret = await withTimeLimit(timeoutMs, (abortSignal) => secretsManager.send(command, { abortSignal }));
      if (secret.DeletedDate !== undefined) return undefined;
      const versions = Object.entries(secret.VersionIdsToStages ?? {});
      const [currentVersion] = versions.find(([, stages]) => stages.includes('AWSCURRENT')) ?? [];
      return { services: servicesTag(secret.Tags), currentVersion };
    } catch (error) {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw new Error(`The secret of ${client} cannot be described: ${causeWord(error)}`);
    }
  };
}

function servicesTag(tags: readonly Tag[] = []): string | undefined {
  return tags.find(({ Key }) => Key === 'services')?.Value;
}

/** What an event of Secrets Manager means: a client's secret has a new current version, or it leads to no check. */
export type SecretEvent = ({ readonly kind: 'promotion' } & Promotion) | { readonly kind: IgnoredEvent };

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
  const prefix = secretName(environment, '');
  const client = name.slice(prefix.length);
  const isOfClient = name.startsWith(prefix) && NAME_PATTERN.test(client);
  if (labelUpdated !== 'AWSCURRENT' || !isOfClient) return { kind: 'foreign' };
  return { kind: 'promotion', client, version: versionId };
}

const sourceSchema = z.object({ source: z.literal('aws.secretsmanager') });

const envelopeSchema = z.object({ 'detail-type': z.string(), detail: z.unknown() });

const detailSchema = z.object({
  name: z.string().check(z.minLength(1)),
  labelUpdated: z.string().check(z.minLength(1)),
  versionId: z.string().check(z.regex(/^[!-~]{1,64}$/)),
});
