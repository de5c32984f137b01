import {
  InvalidParameterException,
  InvalidRequestException,
  paginateListSecrets,
  paginateListSecretVersionIds,
  ResourceExistsException,
  ResourceNotFoundException,
  type SecretListEntry,
  SecretsManager,
} from '@aws-sdk/client-secrets-manager';
import { CommandFailure } from '../../../client/commands/failure.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { NAME_PATTERN, type SecretStage, secretPrefix } from '../../../functions/vocabulary.ts';
import { isRefused, openClient } from './ask-aws.ts';
import type { CommandOptions } from './aws-config.ts';
import { type ClientSecret, nearestNames, versionWith } from './client-secret.ts';

/** The clients' secrets of one environment: all that the commands do with Secrets Manager. */
export type Secrets = ReturnType<typeof openSecrets>;

/** A version about to be stored; its id is chosen before, so that it is known even if storing fails. */
export interface NewVersion {
  readonly versionId: string;
  readonly text: Redacted;
  /** As in the tag `services`: names with spaces between, or `all`. */
  readonly services: string;
}

/** Opens the environment's secrets; each method sends its own requests. */
export function openSecrets(shell: Shell, options: CommandOptions) {
  const client = openSecretsManager(shell, options);
  const send = { abortSignal: shell.signal };
  const prefix = secretPrefix(options.environment);
  const idOf = (name: string) => ({ SecretId: `${prefix}${name}` });

  return {
    /** Every client of the environment, also those whose secret is marked for deletion. */
    async list(): Promise<readonly ClientSecret[]> {
      const Filters = [{ Key: 'name' as const, Values: [prefix] }];
      const secrets: ClientSecret[] = [];
      const input = { Filters, IncludePlannedDeletion: true, MaxResults: 100 };
      for await (const { SecretList = [] } of paginateListSecrets({ client }, input, send)) {
        secrets.push(...SecretList.flatMap((entry) => readSecret(entry, prefix) ?? []));
      }
      return secrets.toSorted((one, other) => (one.client < other.client ? -1 : 1));
    },

    async find(name: string): Promise<ClientSecret | undefined> {
      const found = await client.describeSecret(idOf(name), send).catch(ifThereIsOne);
      return found && readSecret({ ...found, SecretVersionsToStages: found.VersionIdsToStages }, prefix);
    },

    /** When each version was stored: epoch milliseconds by version id; none if AWS refuses to list them. */
    async versionDates({ client: name, deletedAt }: ClientSecret): Promise<ReadonlyMap<string, number>> {
      const dates = new Map<string, number>();
      if (deletedAt !== undefined) return dates;
      const input = { ...idOf(name), MaxResults: 100 };
      try {
        for await (const { Versions = [] } of paginateListSecretVersionIds({ client }, input, send)) {
          for (const { VersionId = '', CreatedDate: date } of Versions) if (date) dates.set(VersionId, date.getTime());
        }
      } catch (error) {
        // A secret can be deleted while a list is read: show it without further dates.
        if (!isRefused(error)) throw error;
      }
      return dates;
    },

    /** The first version of a new secret, which AWS makes the current one at once. */
    async create(name: string, { versionId, text, services }: NewVersion, kmsKeyId: string | undefined) {
      const secret = {
        Name: `${prefix}${name}`,
        Description: `Credential of the client ${name}, for the token broker`,
        ClientRequestToken: versionId,
        SecretString: text.reveal(),
        ...(kmsKeyId !== undefined && { KmsKeyId: kmsKeyId }),
        Tags: [SERVICES_TAG, versionTag(versionId)].map((Key) => ({ Key, Value: services })),
      };
      await client.createSecret(secret, send);
      return 'AWSCURRENT' as const;
    },

    /** Stores another version as AWSPENDING, but AWS makes the first one of a secret current as well. */
    async add({ client: name, servicesOf, versions }: ClientSecret, { versionId, text, services }: NewVersion) {
      const gone = [...servicesOf.keys()].filter((id) => !versions.some((version) => version.versionId === id));
      if (gone.length > 0) await client.untagResource({ ...idOf(name), TagKeys: gone.map(versionTag) }, send);
      // Before it is there, because `promote` and `rollback` read no version to find out its services.
      await client.tagResource({ ...idOf(name), Tags: [{ Key: versionTag(versionId), Value: services }] }, send);
      const stored = { ClientRequestToken: versionId, SecretString: text.reveal(), VersionStages: ['AWSPENDING'] };
      const { VersionStages = [] } = await client.putSecretValue({ ...idOf(name), ...stored }, send);
      if (!VersionStages.includes('AWSCURRENT')) return 'AWSPENDING' as const;
      await this.setServices(name, services);
      return 'AWSCURRENT' as const;
    },

    /** Makes a version the current one, then has the tag name its services; fails when another operator was faster. */
    async makeCurrent(secret: ClientSecret, version: string, services = secret.servicesOf.get(version)): Promise<void> {
      const { client: name, servicesTag } = secret;
      await this.moveStage(name, 'AWSCURRENT', versionWith('AWSCURRENT', secret), version);
      if (services === undefined || services === servicesTag) return;
      await this.setServices(name, services).catch((error: unknown) => {
        if (!isRefused(error)) throw error;
        const state = `Version ${version} is current now, but the tag "services" still says "${servicesTag ?? ''}"`;
        const repair = `aws secretsmanager tag-resource --secret-id ${prefix}${name} --tags Key=services,Value="${services}"`;
        throw new CommandFailure('tag-behind', `${state}: ${error.detail}`, `Lists go by the tag: ${repair}`);
      });
    },

    /** Says in the tag which services the current version names. */
    async setServices(name: string, services: string): Promise<void> {
      await client.tagResource({ ...idOf(name), Tags: [{ Key: SERVICES_TAG, Value: services }] }, send);
    },

    /** Moves a stage away `from` the version that has it, and `to` another one; fails when another operator was faster. */
    async moveStage(name: string, stage: SecretStage, from: string | undefined, to?: string): Promise<void> {
      const move = { RemoveFromVersionId: from, MoveToVersionId: to };
      await client.updateSecretVersionStage({ ...idOf(name), VersionStage: stage, ...move }, send);
    },

    /** Marks the secret for deletion, which AWS carries out after 30 days. */
    async delete(name: string): Promise<Date> {
      const { DeletionDate } = await client.deleteSecret(idOf(name), send);
      return DeletionDate ?? new Date(Date.now() + 30 * 24 * 60 * 60_000);
    },

    /** Takes the mark back. */
    async restore(name: string): Promise<void> {
      await client.restoreSecret(idOf(name), send);
    },

    /** The ARN of the client's secret and its resource policy, if it has one; `undefined` when there is no secret. */
    async readPolicy(name: string) {
      const found = await client.getResourcePolicy(idOf(name), send).catch(ifThereIsOne);
      return found && { arn: found.ARN ?? '', policy: found.ResourcePolicy };
    },

    /** Puts the resource policy, or deletes it. */
    async writePolicy(name: string, policy: string | undefined): Promise<void> {
      await (policy === undefined
        ? client.deleteResourcePolicy(idOf(name), send)
        : client.putResourcePolicy({ ...idOf(name), ResourcePolicy: policy }, send));
    },

    /** The version in use, where the operator may read it. */
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

/** The secret of a client that must have one; the failure names the clients nearest to it. */
export async function findSecret(secrets: Secrets, client: string, advice = WHICH): Promise<ClientSecret> {
  const secret = await secrets.find(client);
  if (secret !== undefined) return secret;
  // Without the right to list, the names are left out.
  const clients = (await secrets.list().catch(() => [])).map((one) => one.client);
  const near = nearestNames(client, clients).join(', ');
  const detail = `There is no client "${client}" in this environment`;
  throw new CommandFailure('secret-missing', detail, near === '' ? advice : `Did you mean ${near}? ${advice}`);
}

const WHICH = 'client list shows which there are; client put --create makes one.';

function ifThereIsOne(error: unknown): undefined {
  if (!(error instanceof CommandFailure && error.type === 'secret-missing')) throw error;
}

const SERVICES_TAG = 'services';

/** Tells the services of one version. */
function versionTag(versionId: string): string {
  return `${SERVICES_TAG}:${versionId}`;
}

/** Reads an entry of ListSecrets; `undefined` when it is not the secret of a client below the prefix. */
function readSecret(entry: SecretListEntry, prefix: string): ClientSecret | undefined {
  const { Name = '', ARN = '', Tags = [], SecretVersionsToStages = {}, DeletedDate } = entry;
  // The filter of ListSecrets matches prefixes; a client's own name has no slash.
  const client = Name.slice(prefix.length);
  if (!Name.startsWith(prefix) || !NAME_PATTERN.test(client)) return undefined;
  return {
    client,
    arn: ARN,
    servicesTag: Tags.find(({ Key }) => Key === SERVICES_TAG)?.Value,
    servicesOf: new Map(
      Tags.flatMap(({ Key = '', Value = '' }) =>
        Key.startsWith(versionTag('')) ? [[Key.slice(versionTag('').length), Value] as const] : [],
      ),
    ),
    versions: Object.entries(SecretVersionsToStages).map(([versionId, stages]) => ({ versionId, stages })),
    deletedAt: DeletedDate?.getTime(),
  };
}

/** A client of Secrets Manager whose calls fail in a command's own words. */
export function openSecretsManager(shell: Shell, options: CommandOptions): SecretsManager {
  return openClient((config) => new SecretsManager(config), 'SECRETS_MANAGER', shell, options, conflict);
}

/** The failure of a call that the state of the secret rules out. */
function conflict(error: unknown, operation: string): CommandFailure | undefined {
  if (error instanceof ResourceNotFoundException) {
    const advice = 'Check --environment and --region; client list shows the clients that there are.';
    return new CommandFailure('secret-missing', 'There is no such secret', advice);
  }
  if (error instanceof InvalidRequestException) return secretDeleted();
  const isLost = error instanceof InvalidParameterException && operation === 'UpdateSecretVersionStage';
  if (!isLost && !(error instanceof ResourceExistsException)) return undefined;
  const detail = 'Another operator has changed the secret meanwhile';
  return new CommandFailure('secret-changed', detail, 'Look at it with client list, then run the command again.');
}

/** The failure of a command that finds a secret which is marked for deletion. */
export function secretDeleted(): CommandFailure {
  const advice = 'Restore it first, with client restore.';
  return new CommandFailure('secret-deleted', 'The secret is marked for deletion', advice);
}
