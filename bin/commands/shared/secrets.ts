import {
  CreateSecretCommand,
  DeleteResourcePolicyCommand,
  DeleteSecretCommand,
  DescribeSecretCommand,
  GetResourcePolicyCommand,
  GetSecretValueCommand,
  InvalidParameterException,
  InvalidRequestException,
  PutResourcePolicyCommand,
  PutSecretValueCommand,
  paginateListSecrets,
  paginateListSecretVersionIds,
  ResourceExistsException,
  ResourceNotFoundException,
  type SecretListEntry,
  type SecretsManagerClient,
  TagResourceCommand,
  UntagResourceCommand,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { CommandFailure } from '../../../client/commands/failure.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { createSecretsManagerClient } from '../../../functions/aws/secrets-manager.ts';
import { servicesOf } from '../../../functions/broker/health/run.ts';
import { parseJsonObject } from '../../../functions/broker/json.ts';
import type { Redacted } from '../../../functions/broker/redacted.ts';
import { NAME_PATTERN, type SecretStage, secretName } from '../../../functions/contract.ts';
import { awsFailure } from './aws-failure.ts';
import { type ClientSecret, namedServices, nearestNames } from './client-secret.ts';
import { type AwsOptions, awsConfig, awsRegion } from './environment.ts';

/** A version about to be stored; its id is chosen before, so that it is known even if storing fails. */
export interface NewVersion {
  readonly versionId: string;
  readonly text: Redacted;
}

/** The clients' secrets of one environment: all that the commands do with Secrets Manager. No value ever leaves here. */
export type Secrets = ReturnType<typeof openSecrets>;

interface StageMove {
  readonly from: string | undefined;
  readonly to?: string | undefined;
}

/** Opens the environment's secrets; sends nothing before it is asked for something. */
export function openSecrets(shell: Shell, options: AwsOptions) {
  const { environment } = options;
  const region = awsRegion(shell, options);
  const client = createSecretsManagerClient({ ...awsConfig(shell, options, 'SECRETS_MANAGER'), ...PATIENT });
  failInOurWords(client, region);
  const send = { abortSignal: shell.signal };
  const prefix = secretName(environment, '');
  const idOf = (name: string) => ({ SecretId: secretName(environment, name) });

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
      const found = await client.send(new DescribeSecretCommand(idOf(name)), send).catch(ifThereIsOne);
      return found && readSecret({ ...found, SecretVersionsToStages: found.VersionIdsToStages }, prefix);
    },

    /** When each version was stored: epoch milliseconds by version id. */
    async versionDates(name: string): Promise<ReadonlyMap<string, number>> {
      const dates = new Map<string, number>();
      const input = { ...idOf(name), MaxResults: 100 };
      for await (const { Versions = [] } of paginateListSecretVersionIds({ client }, input, send)) {
        for (const { VersionId, CreatedDate } of Versions) {
          if (VersionId !== undefined && CreatedDate !== undefined) dates.set(VersionId, CreatedDate.getTime());
        }
      }
      return dates;
    },

    /** The first version of a new secret, which AWS makes the current one at once. */
    async create(
      name: string,
      { versionId, text }: NewVersion,
      { services, kmsKeyId }: { readonly services: readonly string[] | 'all'; readonly kmsKeyId: string | undefined },
    ): Promise<void> {
      const command = new CreateSecretCommand({
        Name: secretName(environment, name),
        Description: `Credential of the client ${name}, for the token broker`,
        ClientRequestToken: versionId,
        SecretString: text.reveal(),
        ...(kmsKeyId !== undefined && { KmsKeyId: kmsKeyId }),
        ...(services !== 'all' && { Tags: [servicesTag(services)] }),
      });
      await client.send(command, send);
    },

    /** Stores another version as AWSPENDING; tells its stages, because AWS makes the first one current as well. */
    async putPending(name: string, { versionId, text }: NewVersion): Promise<readonly string[]> {
      const command = new PutSecretValueCommand({
        ...idOf(name),
        ClientRequestToken: versionId,
        SecretString: text.reveal(),
        VersionStages: ['AWSPENDING'],
      });
      const { VersionStages = [] } = await client.send(command, send);
      return VersionStages;
    },

    /** Says which services the client has; `all` takes the tag away. */
    async setServices(name: string, services: readonly string[] | 'all'): Promise<void> {
      await (services === 'all'
        ? client.send(new UntagResourceCommand({ ...idOf(name), TagKeys: [SERVICES_TAG] }), send)
        : client.send(new TagResourceCommand({ ...idOf(name), Tags: [servicesTag(services)] }), send));
    },

    /** Moves a stage away `from` the version that has it, and `to` another one; fails when another operator was faster. */
    async moveStage(name: string, stage: SecretStage, { from, to }: StageMove): Promise<void> {
      const command = new UpdateSecretVersionStageCommand({
        ...idOf(name),
        VersionStage: stage,
        ...(from !== undefined && { RemoveFromVersionId: from }),
        ...(to !== undefined && { MoveToVersionId: to }),
      });
      await client.send(command, send);
    },

    /** Marks the secret for deletion; tells when it will be gone, in epoch milliseconds. */
    async delete(name: string, RecoveryWindowInDays: number) {
      const { DeletionDate } = await client.send(
        new DeleteSecretCommand({ ...idOf(name), RecoveryWindowInDays }),
        send,
      );
      return DeletionDate?.getTime();
    },

    /** The ARN of the client's secret and its resource policy, if it has one; `undefined` when there is no secret. */
    async readPolicy(name: string) {
      const found = await client.send(new GetResourcePolicyCommand(idOf(name)), send).catch(ifThereIsOne);
      return found && { arn: found.ARN ?? '', policy: found.ResourcePolicy };
    },

    /** Puts the resource policy, or deletes it. */
    async writePolicy(name: string, policy: string | undefined): Promise<void> {
      await (policy === undefined
        ? client.send(new DeleteResourcePolicyCommand(idOf(name)), send)
        : client.send(new PutResourcePolicyCommand({ ...idOf(name), ResourcePolicy: policy }), send));
    },

    /** Whether the current version names the services of the tag; absent without a tag, `unknown` when it cannot be read. */
    async isTagRepeated({
      client: name,
      servicesTag,
      deletedAt,
    }: ClientSecret): Promise<boolean | 'unknown' | undefined> {
      if (servicesTag === undefined || deletedAt !== undefined) return undefined;
      try {
        const command = new GetSecretValueCommand({ ...idOf(name), VersionStage: 'AWSCURRENT' });
        const secret = parseJsonObject((await client.send(command, send)).SecretString ?? '');
        if (secret === undefined) return 'unknown';
        return namedServices(secret)?.toSorted().join(' ') === servicesOf(servicesTag, []).toSorted().join(' ');
      } catch (error) {
        if (!(error instanceof CommandFailure) || error.type === 'aborted') throw error;
        return 'unknown';
      }
    },
  };
}

/** The secret of a client that must have one. */
export async function findSecret(secrets: Secrets, client: string): Promise<ClientSecret> {
  const secret = await secrets.find(client);
  if (secret !== undefined) return secret;
  throw await unknownClient(secrets, client, 'client list shows which there are; client put --create makes one.');
}

/** The failure of a command for a client without a secret; names those that a person may have meant. */
export async function unknownClient(secrets: Secrets, client: string, advice: string): Promise<CommandFailure> {
  // Without the right to list, the names are left out.
  const clients = await secrets.list().catch(() => []);
  const near = nearestNames(
    client,
    clients.map((one) => one.client),
  );
  const detail = `There is no client "${client}" in this environment`;
  return new CommandFailure(
    'secret-missing',
    detail,
    near.length === 0 ? advice : `Did you mean ${near.join(', ')}? ${advice}`,
  );
}

function ifThereIsOne(error: unknown): undefined {
  if (!(error instanceof CommandFailure && error.type === 'secret-missing')) throw error;
}

/** A person waits longer than a caller of the broker, but not for ever. */
export const PATIENT = {
  maxAttempts: 4,
  requestHandler: { connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
};

const SERVICES_TAG = 'services';

function servicesTag(services: readonly string[]) {
  return { Key: SERVICES_TAG, Value: services.join(' ') };
}

/** Reads what ListSecrets tells of a secret; `undefined` when it is not one of a client below the prefix. */
function readSecret(entry: SecretListEntry, prefix: string): ClientSecret | undefined {
  const { Name = '', ARN = '', Tags = [], SecretVersionsToStages = {}, DeletedDate } = entry;
  // The filter of ListSecrets is a prefix match, and a name could go on: a client's has no slash.
  const client = Name.slice(prefix.length);
  if (!Name.startsWith(prefix) || !NAME_PATTERN.test(client)) return undefined;
  return {
    client,
    arn: ARN,
    servicesTag: Tags.find(({ Key }) => Key === SERVICES_TAG)?.Value,
    versions: Object.entries(SecretVersionsToStages).map(([versionId, stages]) => ({ versionId, stages })),
    deletedAt: DeletedDate?.getTime(),
  };
}

/** From now on the client's calls fail in a command's own words. */
export function failInOurWords({ middlewareStack }: SecretsManagerClient, region: string | undefined): void {
  middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const operation = commandName.replace(/Command$/, '');
        try {
          return await next(args);
        } catch (error) {
          throw conflict(error, operation) ?? awsFailure(error, { action: `secretsmanager:${operation}`, region });
        }
      },
    { step: 'initialize', priority: 'high' },
  );
}

/** What AWS refuses because of how the secret is at the moment. */
function conflict(error: unknown, operation: string): CommandFailure | undefined {
  if (error instanceof ResourceNotFoundException) {
    return new CommandFailure('secret-missing', 'There is no such secret', 'client list shows which there are.');
  }
  if (error instanceof InvalidRequestException) return secretDeleted();
  const isLost = error instanceof InvalidParameterException && operation === 'UpdateSecretVersionStage';
  if (isLost || error instanceof ResourceExistsException) {
    return new CommandFailure(
      'secret-changed',
      'Another operator has changed the secret meanwhile',
      'Look at it with client list, then run the command again.',
    );
  }
  return undefined;
}

/** The failure of a command that finds a secret which is marked for deletion. */
export function secretDeleted(): CommandFailure {
  return new CommandFailure(
    'secret-deleted',
    'The secret is marked for deletion',
    'Restore it first: docs/operations.md, "Restore a deleted secret".',
  );
}
