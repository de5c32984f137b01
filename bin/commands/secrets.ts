import {
  CreateSecretCommand,
  DeleteResourcePolicyCommand,
  DescribeSecretCommand,
  GetResourcePolicyCommand,
  GetSecretValueCommand,
  ListSecretsCommand,
  ListSecretVersionIdsCommand,
  PutResourcePolicyCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  TagResourceCommand,
  UntagResourceCommand,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { createSecretsManagerClient } from '../../functions/aws/clients.ts';
import type { Redacted } from '../../functions/broker/redacted.ts';
import { type SecretStage, secretName } from '../../functions/contract.ts';
import { isJsonObject, parseJson } from '../json.ts';
import { type AwsOptions, awsRegion } from './environment.ts';
import { CommandFailure } from './failure.ts';
import { inOurWords } from './secrets-call.ts';
import { type ClientSecret, namedServices, readSecret } from './stored-secret.ts';

/** A version about to be stored; its id is chosen before, so that it is known whatever happens on the way. */
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
  /** Moves a stage away `from` the version that has it, and `to` another one; fails when somebody else was faster. */
  moveStage(client: string, stage: SecretStage, move: StageMove): Promise<void>;
  /** The ARN of the client's secret and its resource policy, if it has one; `undefined` when there is no secret. */
  readPolicy(client: string): Promise<{ readonly arn: string; readonly policy: string | undefined } | undefined>;
  /** Puts the resource policy, or deletes it. */
  writePolicy(client: string, policy: string | undefined): Promise<void>;
  /** The services that the current version names, or `all`; `unknown` when it cannot be read with these AWS credentials. */
  readServices(client: string): Promise<readonly string[] | 'all' | 'unknown'>;
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

    async readServices(name) {
      const input = { SecretId: secretName(environment, name), VersionStage: 'AWSCURRENT' };
      try {
        const { SecretString = '' } = await call('GetSecretValue', (send) =>
          client.send(new GetSecretValueCommand(input), send),
        );
        const json = parseJson(SecretString);
        return isJsonObject(json) ? (namedServices(json) ?? 'all') : 'unknown';
      } catch (error) {
        if (!(error instanceof CommandFailure) || error.type === 'aborted') throw error;
        return 'unknown';
      }
    },
  };
}

function ifThereIsOne(error: unknown): undefined {
  if (!(error instanceof ResourceNotFoundException)) throw error;
}

/** A person waits longer than a caller of the broker, but not for ever. */
const PATIENT = {
  maxAttempts: 4,
  requestHandler: { connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
};

const SERVICES_TAG = 'services';

function servicesTag(services: readonly string[]) {
  return { Key: SERVICES_TAG, Value: services.join(' ') };
}
