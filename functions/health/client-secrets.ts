import type { SecretsManagerClient, Tag } from '@aws-sdk/client-secrets-manager';
import { DescribeSecretCommand, paginateListSecrets, ResourceNotFoundException } from '@aws-sdk/client-secrets-manager';
import { causeWord, withTimeLimit } from '../aws/calls.ts';
import { membersOf, textOf } from '../broker/json.ts';
import type { ClientName } from '../broker/pair.ts';
import { expiresTag, type IgnoredEvent, NAME_PATTERN, secretName, secretPrefix } from '../vocabulary.ts';
import type { Promotion, SecretDescription } from './rules/check-client.ts';
import type { ClientList } from './rules/run.ts';

interface Dependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  readonly timeoutMs?: number;
}

/** Lists the clients, also those planned for deletion. May be minutes old. @throws Error with a word for the cause */
export function createClientList({ environment, secretsManager, timeoutMs = 60_000 }: Dependencies) {
  return (withinMs = timeoutMs): Promise<ClientList> =>
    withTimeLimit(Math.min(withinMs, timeoutMs), listClients).catch((error: unknown) => {
      throw new Error(`The clients cannot be listed: ${causeWord(error)}`);
    });

  async function listClients(abortSignal: AbortSignal): Promise<ClientList> {
    // A list that changes from page to page can contain a secret twice.
    const clients = new Map<ClientName, Omit<ClientList[number], 'client'>>();
    const Filters = [{ Key: 'name' as const, Values: [secretPrefix(environment)] }];
    const asked = { Filters, IncludePlannedDeletion: true };
    const pages = paginateListSecrets({ client: secretsManager, pageSize: 100 }, asked, { abortSignal });
    for await (const { SecretList = [] } of pages) {
      for (const { Name = '', Tags } of SecretList) {
        const client = clientOf(Name, environment);
        if (client === undefined) continue;
        clients.set(client, { services: servicesTag(Tags), expiries: tagsByVersion(expiresTag, Tags) });
      }
    }
    return [...clients].map(([client, tags]) => ({ client, ...tags }));
  }
}

/** Describes a client's secret, unless missing or planned for deletion. @throws Error with a word for the cause */
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

/** Returns the services of the version in use, as names with spaces between or `all`. */
export function servicesTag(tags: readonly Tag[] = []): string | undefined {
  return tags.find(({ Key }) => Key === 'services')?.Value;
}

/** Returns the values of the tags that `keyOf` names after a version, by version. */
export function tagsByVersion(keyOf: (versionId: string) => string, tags: readonly Tag[] = []) {
  const prefix = keyOf('');
  const own = tags.filter(({ Key }) => Key?.startsWith(prefix));
  return new Map(own.map(({ Key = '', Value = '' }) => [Key.slice(prefix.length), Value]));
}

/** A client's secret has a new current version, or the event starts no check. */
type SecretEvent = ({ readonly kind: 'promotion' } & Promotion) | { readonly kind: IgnoredEvent };

/**
 * Reads the event that Secrets Manager sends when a stage moves to another version. Returns `undefined` for an event
 * of another source. Only the stage AWSCURRENT of a client's secret in this environment starts a check.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/event-detail-secret-label-updated-secretsmanager.html
 */
export function parseSecretEvent(event: unknown, environment: string): SecretEvent | undefined {
  const { source, 'detail-type': type, detail } = membersOf(event);
  if (source !== 'aws.secretsmanager') return undefined;
  if (type !== 'Secret Label Updated') return { kind: 'foreign' };
  const { name, labelUpdated, versionId } = membersOf(detail);
  const [secret = '', stage = '', version = ''] = [name, labelUpdated, versionId].map(textOf);
  if (secret === '' || stage === '' || !VERSION_ID.test(version)) return { kind: 'malformed' };
  const client = clientOf(secret, environment);
  return client && stage === 'AWSCURRENT' ? { kind: 'promotion', client, version } : { kind: 'foreign' };
}

/** Returns the client whose secret has this name. The filter of a list in AWS is less strict than this comparison. */
export function clientOf(name: string, environment: string): ClientName | undefined {
  const prefix = secretPrefix(environment);
  const client = name.slice(prefix.length);
  return name.startsWith(prefix) && NAME_PATTERN.test(client) ? client : undefined;
}

const VERSION_ID = /^[!-~]{1,64}$/;
