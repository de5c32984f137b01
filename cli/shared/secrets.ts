import {
  InvalidParameterException,
  LimitExceededException,
  paginateListSecrets,
  paginateListSecretVersionIds,
  ResourceExistsException,
  ResourceNotFoundException,
  type SecretListEntry,
  SecretsManager,
} from '@aws-sdk/client-secrets-manager';
import { CommandFailure } from '../../client/commands/failure.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import { clientOf, servicesTag, tagsByVersion } from '../../functions/health/client-secrets.ts';
import { expiresTag, SECRET_STATES, type SecretStage, secretPrefix } from '../../functions/vocabulary.ts';
import { isRefused, openClient } from './ask-aws.ts';
import { type ClientSecret, type DatedSecret, nearestNames, versionWith } from './client-secret.ts';
import type { CommandOptions } from './operate.ts';
import { settingsOf } from './settings.ts';

/** The clients' secrets of an environment, with every operation on them that the commands use. */
export type Secrets = ReturnType<typeof openSecrets>;

/** A version to store. Its id is chosen before the request, so that it is known even if the request fails. */
export interface NewVersion {
  readonly versionId: string;
  readonly text: Redacted;
  /** Names with spaces between, or `all`, as in the tag `services`. */
  readonly services: string;
  /** The ends of the credential on its services, as in the tag `expires`. */
  readonly expiries?: string;
}

/** Opens the environment's secrets. Each method sends its own requests. */
export function openSecrets(shell: Shell, options: CommandOptions) {
  const client = openSecretsManager(shell, options);
  const send = { abortSignal: shell.signal };
  const { environment } = options;
  const prefix = secretPrefix(environment);
  const idOf = (name: string) => ({ SecretId: `${prefix}${name}` });
  const tagCurrent = (name: string, services: string) =>
    client.tagResource({ ...idOf(name), Tags: [{ Key: SERVICES_TAG, Value: services }] }, send);
  async function* versionsOf(name: string, more: { readonly IncludeDeprecated?: true } = {}) {
    const input = { ...idOf(name), MaxResults: 100, ...more };
    for await (const { Versions = [] } of paginateListSecretVersionIds({ client }, input, send)) yield* Versions;
  }

  return {
    /** Lists every client of the environment, also those whose secret is marked for deletion. */
    async list(): Promise<readonly ClientSecret[]> {
      const Filters = [{ Key: 'name' as const, Values: [prefix] }];
      const secrets: ClientSecret[] = [];
      const input = { Filters, IncludePlannedDeletion: true, MaxResults: 100 };
      for await (const { SecretList = [] } of paginateListSecrets({ client }, input, send)) {
        secrets.push(...SecretList.flatMap((entry) => readSecret(entry, environment) ?? []));
      }
      return secrets.toSorted((a, b) => a.client.localeCompare(b.client, 'en', { numeric: true }));
    },

    async find(name: string): Promise<ClientSecret | undefined> {
      const found = await client.describeSecret(idOf(name), send).catch(ifThereIsOne);
      return found && readSecret({ ...found, SecretVersionsToStages: found.VersionIdsToStages }, environment);
    },

    /** Adds when each version was stored. Leaves dates out if AWS refuses to list them. */
    async dated(secret: ClientSecret): Promise<DatedSecret> {
      const dates = new Map<string, number>();
      if (secret.deletedAt !== undefined) return { ...secret, dates };
      try {
        for await (const { VersionId = '', CreatedDate: date } of versionsOf(secret.client)) {
          if (date) dates.set(VersionId, date.getTime());
        }
      } catch (error) {
        // A secret can be deleted while a list is read.
        if (!isRefused(error)) throw error;
      }
      return { ...secret, dates };
    },

    /** Creates a secret, with tags that an organization may require. AWS makes its first version current at once. */
    async create(name: string, { versionId, text, services, expiries }: NewVersion, kmsKeyId: string | undefined) {
      const tags = Object.entries({ ...settingsOf(options.environment)?.tags, [SERVICES_TAG]: services });
      const secret = {
        Name: `${prefix}${name}`,
        Description: `Credential of the client ${name}, for the token broker`,
        ClientRequestToken: versionId,
        SecretString: text.reveal(),
        ...(kmsKeyId !== undefined && { KmsKeyId: kmsKeyId }),
        Tags: [...tags.map(([Key, Value]) => ({ Key, Value })), ...versionTags(versionId, services, expiries)],
      };
      await client.createSecret(secret, send);
      return 'AWSCURRENT' as const;
    },

    /** Stores another version as AWSPENDING. AWS makes the first version of a secret current too. */
    async add({ client: name, servicesOf }: ClientSecret, { versionId, text, services, expiries }: NewVersion) {
      // A tag without a version can belong to a version that another operator is about to store.
      const gone: string[] = [];
      for await (const { VersionId = '', VersionStages = [] } of versionsOf(name, { IncludeDeprecated: true })) {
        if (VersionStages.length === 0 && servicesOf.has(VersionId)) gone.push(VersionId);
      }
      const TagKeys = gone.flatMap((version) => [versionTag(version), expiresTag(version)]);
      if (gone.length > 0) await client.untagResource({ ...idOf(name), TagKeys }, send);
      // Tagged before the version exists, because `promote` and `rollback` know its services only by this tag.
      await client.tagResource({ ...idOf(name), Tags: versionTags(versionId, services, expiries) }, send);
      const stored = { ClientRequestToken: versionId, SecretString: text.reveal(), VersionStages: ['AWSPENDING'] };
      const { VersionStages = [] } = await client.putSecretValue({ ...idOf(name), ...stored }, send);
      if (!VersionStages.includes('AWSCURRENT')) return 'AWSPENDING' as const;
      await tagCurrent(name, services);
      return 'AWSCURRENT' as const;
    },

    /** Makes a version current, then writes its services into the tag. Fails if another operator changed it first. */
    async makeCurrent(secret: ClientSecret, version: string, services = secret.servicesOf.get(version)): Promise<void> {
      const { client: name, servicesTag } = secret;
      await this.moveStage(name, 'AWSCURRENT', versionWith('AWSCURRENT', secret), version).catch(async (error) => {
        // If the answer was lost, the version is current, and AWS refuses the SDK's second attempt.
        if (versionWith('AWSCURRENT', await this.find(name)) !== version) throw error;
      });
      if (services === undefined || services === servicesTag) return;
      await tagCurrent(name, services).catch((error: unknown) => {
        if (!isRefused(error)) throw error;
        const state = `Version ${version} is current now, but the tag "services" is still "${servicesTag ?? ''}"`;
        const repair = `aws secretsmanager tag-resource --secret-id ${prefix}${name} --tags Key=services,Value="${services}"`;
        throw new CommandFailure('tag-behind', `${state}: ${error.detail}`, `Lists follow the tag: ${repair}`);
      });
    },

    /** Removes a stage `from` a version, or moves it `to` another. Fails if another operator moved it first. */
    async moveStage(name: string, stage: SecretStage, from: string | undefined, to?: string): Promise<void> {
      const move = { RemoveFromVersionId: from, MoveToVersionId: to };
      await client.updateSecretVersionStage({ ...idOf(name), VersionStage: stage, ...move }, send);
    },

    /** Marks the secret for deletion, which AWS carries out after 30 days. */
    async delete(name: string): Promise<Date> {
      const { DeletionDate } = await client.deleteSecret(idOf(name), send);
      return DeletionDate ?? new Date(Date.now() + 30 * 24 * 60 * 60_000);
    },

    /** Removes the mark for deletion. */
    async restore(name: string): Promise<void> {
      await client.restoreSecret(idOf(name), send);
    },

    /** Returns the secret's ARN and its resource policy, if it has a policy, or `undefined` without a secret. */
    async readPolicy(name: string) {
      const found = await client.getResourcePolicy(idOf(name), send).catch(ifThereIsOne);
      return found && { arn: found.ARN ?? '', policy: found.ResourcePolicy };
    },

    /** Writes the resource policy, or deletes it. */
    async writePolicy(name: string, policy: string | undefined): Promise<void> {
      await (policy === undefined
        ? client.deleteResourcePolicy(idOf(name), send)
        : client.putResourcePolicy({ ...idOf(name), ResourcePolicy: policy }, send));
    },

    /** Returns the current version's value, or `undefined` if the operator may not read it. */
    async readCurrent(name: string): Promise<Redacted | undefined> {
      try {
        const current = { ...idOf(name), VersionStage: 'AWSCURRENT' };
        return new Redacted((await client.getSecretValue(current, send)).SecretString ?? '');
      } catch (error) {
        if (!isRefused(error)) throw error;
        return undefined;
      }
    },
  };
}

/** Finds the secret of a client. Without a secret, the failure suggests the nearest client names. */
export async function findSecret(secrets: Secrets, client: string, advice = WHICH): Promise<ClientSecret> {
  const secret = await secrets.find(client);
  if (secret !== undefined) return secret;
  // Without the right to list, the failure suggests no names.
  const clients = (await secrets.list().catch(() => [])).map(({ client }) => client);
  const near = nearestNames(client, clients).join(', ');
  const detail = `There is no client "${client}" in this environment`;
  throw new CommandFailure('secret-missing', detail, near === '' ? advice : `Did you mean ${near}? ${advice}`);
}

const WHICH = 'client list shows the clients; client put --create makes a client.';

function ifThereIsOne(error: unknown): undefined {
  if (!(error instanceof CommandFailure && error.type === 'secret-missing')) throw error;
}

const SERVICES_TAG = 'services';

/** Returns the key of the tag that contains the services of a version. */
function versionTag(versionId: string): string {
  return `${SERVICES_TAG}:${versionId}`;
}

/** Returns the tags of a new version. A tag is limited to 256 characters, which ten different ends fill. */
function versionTags(versionId: string, services: string, expiries = 'never') {
  const ofServices = { Key: versionTag(versionId), Value: services };
  if (expiries === 'never') return [ofServices];
  return [ofServices, { Key: expiresTag(versionId), Value: expiries.slice(0, 249) }];
}

/** Reads an entry of ListSecrets. Returns `undefined` unless it is the secret of a client of the environment. */
function readSecret(entry: SecretListEntry, environment: string): ClientSecret | undefined {
  const { Name = '', ARN = '', Tags, SecretVersionsToStages = {}, DeletedDate } = entry;
  const client = clientOf(Name, environment);
  if (client === undefined) return undefined;
  return {
    client,
    arn: ARN,
    servicesTag: servicesTag(Tags),
    servicesOf: tagsByVersion(versionTag, Tags),
    expiriesOf: tagsByVersion(expiresTag, Tags),
    versions: Object.entries(SecretVersionsToStages).map(([versionId, stages]) => ({ versionId, stages })),
    deletedAt: DeletedDate?.getTime(),
  };
}

/** Creates a client of Secrets Manager whose calls fail with a CommandFailure. */
export function openSecretsManager(shell: Shell, options: CommandOptions): SecretsManager {
  return openClient((config) => new SecretsManager(config), 'SECRETS_MANAGER', shell, options, conflict);
}

/** Returns the failure of a call that the secret's state does not allow. */
function conflict(error: unknown, operation: string): CommandFailure | undefined {
  if (error instanceof ResourceNotFoundException) {
    const advice = 'Check --environment and --region; client list shows the clients.';
    return new CommandFailure('secret-missing', 'There is no such secret', advice);
  }
  if (error instanceof LimitExceededException && operation === 'PutSecretValue') return stateFailure('secret-full');
  const { name, message } = error instanceof Error ? error : new Error();
  const [, , state] = SECRET_STATES.find(([theirs, words]) => name === theirs && words.test(message)) ?? [];
  if (state !== undefined) return stateFailure(state);
  const isLost = error instanceof InvalidParameterException && operation === 'UpdateSecretVersionStage';
  return isLost || error instanceof ResourceExistsException ? secretChanged() : undefined;
}

/** Returns the failure of a command whose version has lost its stage. */
export function secretChanged(): CommandFailure {
  const detail = 'Another operator has changed the secret in the meantime';
  return new CommandFailure('secret-changed', detail, 'Look at client show or --dry-run, then run it again.');
}

/** Returns the failure of a command that the state of a secret does not allow. */
export function stateFailure(state: keyof typeof STATES): CommandFailure {
  const [detail, advice] = STATES[state];
  return new CommandFailure(state, detail, advice);
}

const STATES = {
  'secret-deleted': ['The secret is marked for deletion', 'Restore it first, with client restore.'],
  'secret-managed': ['Another AWS service manages the secret', 'Only that service can change it.'],
  'secret-replica': [
    'The secret in this region is a replica of a secret in another region',
    'Run it again in the region of the primary secret (--region).',
  ],
  'secret-replicated': [
    'The secret has replicas in other regions',
    'Remove them first: aws secretsmanager remove-regions-from-replication.',
  ],
  'secret-full': [
    'The secret has as many versions as AWS allows',
    'AWS removes a version without a stage 24 hours after it was stored: run it again later.',
  ],
} as const satisfies Record<(typeof SECRET_STATES)[number][2] | 'secret-full', readonly [string, string]>;
