import {
  CreateSecretCommand,
  DeleteResourcePolicyCommand,
  DescribeSecretCommand,
  GetResourcePolicyCommand,
  GetSecretValueCommand,
  InvalidParameterException,
  InvalidRequestException,
  ListSecretsCommand,
  ListSecretVersionIdsCommand,
  PutResourcePolicyCommand,
  PutSecretValueCommand,
  ResourceExistsException,
  ResourceNotFoundException,
  type SecretListEntry,
  TagResourceCommand,
  UntagResourceCommand,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { createSecretsManagerClient } from '../../../functions/aws/clients.ts';
import { servicesOf } from '../../../functions/broker/health/run.ts';
import type { Redacted } from '../../../functions/broker/redacted.ts';
import { NAME_PATTERN, type SecretStage, secretName } from '../../../functions/contract.ts';
import { parseJsonObject } from '../../json.ts';
import { type ClientSecret, namedServices } from './client-secret.ts';
import { type AwsOptions, awsRegion } from './environment.ts';
import { awsFailure, CommandFailure } from './failure.ts';

/** A version about to be stored; its id is chosen before, so that it is known even if storing fails. */
export interface NewVersion {
  readonly versionId: string;
  readonly text: Redacted;
}

/** The clients' secrets of one environment: all that the commands do with Secrets Manager. No value ever leaves here. */
export interface Secrets {
  /** Every client of the environment, also those whose secret is marked for deletion. */
  list(): Promise<readonly ClientSecret[]>;
  find(client: string): Promise<ClientSecret | undefined>;
  /** When each version was stored: epoch milliseconds by version id. */
  versionDates(client: string): Promise<ReadonlyMap<string, number>>;
  /** The first version of a new secret, which AWS makes the current one at once. */
  create(client: string, version: NewVersion, details: SecretDetails): Promise<void>;
  /** Stores another version as AWSPENDING; tells its stages, because AWS makes the first one current as well. */
  putPending(client: string, version: NewVersion): Promise<readonly string[]>;
  /** Says which services the client has; `all` takes the tag away. */
  setServices(client: string, services: readonly string[] | 'all'): Promise<void>;
  /** Moves a stage away `from` the version that has it, and `to` another one; fails when another operator was faster. */
  moveStage(client: string, stage: SecretStage, move: StageMove): Promise<void>;
  /** The ARN of the client's secret and its resource policy, if it has one; `undefined` when there is no secret. */
  readPolicy(client: string): Promise<{ readonly arn: string; readonly policy: string | undefined } | undefined>;
  /** Puts the resource policy, or deletes it. */
  writePolicy(client: string, policy: string | undefined): Promise<void>;
  /** Whether the current version names the services of the tag; absent without a tag, `unknown` when it cannot be read. */
  isTagRepeated(secret: ClientSecret): Promise<boolean | 'unknown' | undefined>;
}

interface SecretDetails {
  readonly services: readonly string[] | 'all';
  readonly kmsKeyId: string | undefined;
}

interface StageMove {
  readonly from: string | undefined;
  readonly to?: string | undefined;
}

/** Opens the environment's secrets; sends nothing before it is asked for something. */
export function openSecrets(options: AwsOptions, signal: AbortSignal): Secrets {
  const { environment } = options;
  const region = awsRegion(options);
  const client = createSecretsManagerClient({ ...(region && { region }), ...PATIENT });
  const prefix = secretName(environment, '');
  const call = inOurWords(region, signal);

  return {
    async list() {
      const secrets: ClientSecret[] = [];
      let NextToken: string | undefined;
      do {
        const Filters = [{ Key: 'name' as const, Values: [prefix] }];
        const command = new ListSecretsCommand({ Filters, IncludePlannedDeletion: true, MaxResults: 100, NextToken });
        const page = await call('ListSecrets', (send) => client.send(command, send));
        secrets.push(...(page.SecretList ?? []).flatMap((entry) => readSecret(entry, prefix) ?? []));
        NextToken = page.NextToken;
      } while (NextToken !== undefined);
      return secrets.toSorted((one, other) => (one.client < other.client ? -1 : 1));
    },

    async find(name) {
      const command = new DescribeSecretCommand({ SecretId: secretName(environment, name) });
      const found = await call('DescribeSecret', (send) => client.send(command, send).catch(ifThereIsOne));
      return found && readSecret({ ...found, SecretVersionsToStages: found.VersionIdsToStages }, prefix);
    },

    async versionDates(name) {
      const dates = new Map<string, number>();
      let NextToken: string | undefined;
      do {
        const input = { SecretId: secretName(environment, name), MaxResults: 100, NextToken };
        const page = await call('ListSecretVersionIds', (send) =>
          client.send(new ListSecretVersionIdsCommand(input), send),
        );
        for (const { VersionId, CreatedDate } of page.Versions ?? []) {
          if (VersionId !== undefined && CreatedDate !== undefined) dates.set(VersionId, CreatedDate.getTime());
        }
        NextToken = page.NextToken;
      } while (NextToken !== undefined);
      return dates;
    },

    async create(name, { versionId, text }, { services, kmsKeyId }) {
      const command = new CreateSecretCommand({
        Name: secretName(environment, name),
        Description: `Credential of the client ${name}, for the token broker`,
        ClientRequestToken: versionId,
        SecretString: text.reveal(),
        ...(kmsKeyId !== undefined && { KmsKeyId: kmsKeyId }),
        ...(services !== 'all' && { Tags: [servicesTag(services)] }),
      });
      await call('CreateSecret', (send) => client.send(command, send));
    },

    async putPending(name, { versionId, text }) {
      const command = new PutSecretValueCommand({
        SecretId: secretName(environment, name),
        ClientRequestToken: versionId,
        SecretString: text.reveal(),
        VersionStages: ['AWSPENDING'],
      });
      const { VersionStages = [] } = await call('PutSecretValue', (send) => client.send(command, send));
      return VersionStages;
    },

    async setServices(name, services) {
      const SecretId = secretName(environment, name);
      await (services === 'all'
        ? call('UntagResource', (send) =>
            client.send(new UntagResourceCommand({ SecretId, TagKeys: [SERVICES_TAG] }), send),
          )
        : call('TagResource', (send) =>
            client.send(new TagResourceCommand({ SecretId, Tags: [servicesTag(services)] }), send),
          ));
    },

    async moveStage(name, stage, { from, to }) {
      const command = new UpdateSecretVersionStageCommand({
        SecretId: secretName(environment, name),
        VersionStage: stage,
        ...(from !== undefined && { RemoveFromVersionId: from }),
        ...(to !== undefined && { MoveToVersionId: to }),
      });
      await call('UpdateSecretVersionStage', (send) => client.send(command, send));
    },

    async readPolicy(name) {
      const command = new GetResourcePolicyCommand({ SecretId: secretName(environment, name) });
      const found = await call('GetResourcePolicy', (send) => client.send(command, send).catch(ifThereIsOne));
      return found && { arn: found.ARN ?? '', policy: found.ResourcePolicy };
    },

    async writePolicy(name, policy) {
      const SecretId = secretName(environment, name);
      await (policy === undefined
        ? call('DeleteResourcePolicy', (send) => client.send(new DeleteResourcePolicyCommand({ SecretId }), send))
        : call('PutResourcePolicy', (send) =>
            client.send(new PutResourcePolicyCommand({ SecretId, ResourcePolicy: policy }), send),
          ));
    },

    async isTagRepeated({ client: name, servicesTag, deletedAt }) {
      if (servicesTag === undefined || deletedAt !== undefined) return undefined;
      const input = { SecretId: secretName(environment, name), VersionStage: 'AWSCURRENT' };
      try {
        const { SecretString = '' } = await call('GetSecretValue', (send) =>
          client.send(new GetSecretValueCommand(input), send),
        );
        const secret = parseJsonObject(SecretString);
        if (secret === undefined) return 'unknown';
        const tagged = servicesOf(servicesTag, []);
        return namedServices(secret)?.toSorted().join(' ') === tagged.toSorted().join(' ');
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
  throw new CommandFailure(
    'secret-missing',
    `There is no client "${client}" in this environment`,
    'client list shows which there are; client put makes one.',
  );
}

function ifThereIsOne(error: unknown): undefined {
  if (!(error instanceof ResourceNotFoundException)) throw error;
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
  const { Name = '', Tags = [], SecretVersionsToStages = {}, DeletedDate } = entry;
  // The filter of ListSecrets is a prefix match, and a name could go on: a client's has no slash.
  const client = Name.slice(prefix.length);
  if (!Name.startsWith(prefix) || !NAME_PATTERN.test(client)) return undefined;
  return {
    client,
    servicesTag: Tags.find(({ Key }) => Key === SERVICES_TAG)?.Value,
    versions: Object.entries(SecretVersionsToStages).map(([versionId, stages]) => ({ versionId, stages })),
    deletedAt: DeletedDate?.getTime(),
  };
}

/** Makes calls that fail in a command's own words. */
export function inOurWords(region: string | undefined, signal: AbortSignal) {
  return async <Answer>(
    operation: string,
    send: (options: { readonly abortSignal: AbortSignal }) => Promise<Answer>,
  ): Promise<Answer> => {
    try {
      return await send({ abortSignal: signal });
    } catch (error) {
      throw conflict(error, operation) ?? awsFailure(error, { action: `secretsmanager:${operation}`, region });
    }
  };
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
