import {
  DescribeSecretCommand,
  paginateListSecrets,
  ResourceNotFoundException,
  type SecretListEntry,
  type SecretsManagerClient,
  type Tag,
} from '@aws-sdk/client-secrets-manager';
import type { Promotion, SecretDescription } from '../broker/health/check-client.ts';
import type { ClientList } from '../broker/health/run.ts';
import { membersOf } from '../broker/json.ts';
import type { ClientName } from '../broker/pair.ts';
import { type IgnoredEvent, NAME_PATTERN, secretName } from '../contract.ts';
import { causeWord, withTimeLimit } from './calls.ts';

interface Dependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  readonly timeoutMs?: number;
}

/** Lists the clients, also those planned for deletion; the list may be some minutes old. @throws Error with one word of the cause */
export function createClientList({ environment, secretsManager, timeoutMs = 60_000 }: Dependencies) {
  const prefix = secretName(environment, '');

  return async (withinMs = timeoutMs): Promise<ClientList> => {
    const secrets = await withTimeLimit(Math.min(withinMs, timeoutMs), listSecrets).catch((error: unknown) => {
      throw new Error(`The clients cannot be listed: ${causeWord(error)}`);
    });
    // The filter compares beginnings by rules of AWS, which may let in other names.
    const found = [...secrets].filter(([name]) => name.startsWith(prefix));
    const all = found.map(([name, { Tags }]) => ({ client: name.slice(prefix.length), services: servicesTag(Tags) }));
    const clients = all.filter(({ client }) => NAME_PATTERN.test(client));
    return { clients, ignored: all.filter((one) => !clients.includes(one)).map(({ client }) => client) };
  };

  /** By name, because a list that changes from page to page can show a secret twice. */
  async function listSecrets(abortSignal: AbortSignal) {
    const secrets = new Map<string, SecretListEntry>();
    const asked = { Filters: [{ Key: 'name' as const, Values: [prefix] }], IncludePlannedDeletion: true };
    const pages = paginateListSecrets({ client: secretsManager, pageSize: 100 }, asked, { abortSignal });
    for await (const { SecretList = [] } of pages)
      for (const secret of SecretList) secrets.set(secret.Name ?? '', secret);
    return secrets;
  }
}

/** Looks at a client's secret as it is now; `undefined` if there is none, or its deletion is planned. @throws Error with one word of the cause */
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

/** A client's secret has a new current version, or the event leads to no check. */
type SecretEvent = ({ readonly kind: 'promotion' } & Promotion) | { readonly kind: IgnoredEvent };

/**
 * Reads the event that Secrets Manager sends when a stage moves to another version; `undefined` for an event of
 * another source. Only this event, of a secret of this environment and for AWSCURRENT, has a client checked.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/event-detail-secret-label-updated-secretsmanager.html
 */
export function parseSecretEvent(event: unknown, environment: string): SecretEvent | undefined {
  const { source, 'detail-type': type, detail } = membersOf(event);
  if (source !== 'aws.secretsmanager') return undefined;
  if (type !== 'Secret Label Updated') return { kind: 'foreign' };
  const { name, labelUpdated, versionId: version } = membersOf(detail);
  if (!isText(name) || !isText(labelUpdated) || !isText(version) || !VERSION_ID.test(version))
    return { kind: 'malformed' };
  const prefix = secretName(environment, '');
  const client = name.slice(prefix.length);
  const isOfClient = name.startsWith(prefix) && NAME_PATTERN.test(client);
  return isOfClient && labelUpdated === 'AWSCURRENT' ? { kind: 'promotion', client, version } : { kind: 'foreign' };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

const VERSION_ID = /^[!-~]{1,64}$/;
