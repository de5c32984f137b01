import { AwsError } from './error.ts';
import { passes } from './secret-filter.ts';
import { assertMayRead } from './secret-policy-operations.ts';
import type { SecretStore } from './secret-store.ts';
import type { SecretValue } from './secret-versions.ts';
import { INPUTS, operation } from './secrets-manager-input.ts';
import { identity, page, seconds, stagesOf } from './secrets-manager-output.ts';
import type { Operation } from './server.ts';

interface Dependencies {
  readonly store: SecretStore;
  readonly now: () => number;
  /** The ARN of a role by its access key. */
  readonly roles: Readonly<Record<string, string>>;
}

/** The operations of Secrets Manager that write and read the values of secrets and move their stages. */
export function secretValueOperations({ store, now, roles }: Dependencies): Readonly<Record<string, Operation>> {
  return {
    CreateSecret: operation(INPUTS.CreateSecret, (input) => {
      const versionId = requiredToken(input.ClientRequestToken);
      const value = givenValue(input);
      const known = store.find(input.Name);
      if (known?.deletion !== undefined) {
        throw new AwsError('InvalidRequestException', 'A secret with this name is already scheduled for deletion.');
      }
      if (known !== undefined && known.versions.get(versionId) === undefined) {
        throw new AwsError('ResourceExistsException', 'A secret with this name already exists.');
      }
      const secret = known ?? store.create(input.Name, input);
      const version = value && secret.versions.add(versionId, value);
      return { ...identity(secret), VersionId: version?.versionId };
    }),

    PutSecretValue: operation(INPUTS.PutSecretValue, (input) => {
      const versionId = requiredToken(input.ClientRequestToken);
      const value = givenValue(input);
      if (value === undefined) {
        throw new AwsError('InvalidRequestException', 'You must provide either SecretString or SecretBinary.');
      }
      const secret = store.change(input.SecretId);
      const version = secret.versions.add(versionId, value, input.VersionStages);
      return { ...identity(secret), VersionId: versionId, VersionStages: stagesOf(version) };
    }),

    UpdateSecret: operation(INPUTS.UpdateSecret, (input) => {
      const versionId = requiredToken(input.ClientRequestToken);
      const value = givenValue(input);
      const secret = store.change(input.SecretId);
      const version = value && secret.versions.add(versionId, value);
      secret.description = input.Description ?? secret.description;
      secret.kmsKeyId = input.KmsKeyId ?? secret.kmsKeyId;
      return { ...identity(secret), VersionId: version?.versionId };
    }),

    UpdateSecretVersionStage: operation(INPUTS.UpdateSecretVersionStage, (input) => {
      const secret = store.change(input.SecretId);
      secret.versions.move(input.VersionStage, input.RemoveFromVersionId, input.MoveToVersionId);
      return identity(secret);
    }),

    GetSecretValue: operation(INPUTS.GetSecretValue, (input, accessKeyId) => readValue(input, accessKeyId)),

    BatchGetSecretValue: operation(INPUTS.BatchGetSecretValue, (input, accessKeyId) => {
      if ((input.SecretIdList === undefined) === (input.Filters === undefined)) {
        throw new AwsError('InvalidParameterException', 'Either SecretIdList or Filters must be given, but not both.');
      }
      if (input.MaxResults !== undefined && input.Filters === undefined) {
        throw new AwsError('InvalidParameterException', 'MaxResults can only be used with Filters.');
      }
      const { Filters = [], SecretIdList = namesThatPass(Filters), MaxResults = 20 } = input;
      const { items, NextToken } = page(SecretIdList, MaxResults, input.NextToken);
      const answers = items.map((secretId) => {
        try {
          return { value: readValue({ SecretId: secretId }, accessKeyId) };
        } catch (error) {
          if (!(error instanceof AwsError)) throw error;
          return { error: { SecretId: secretId, ErrorCode: error.type, Message: error.message } };
        }
      });
      return {
        SecretValues: answers.flatMap(({ value }) => value ?? []),
        Errors: answers.flatMap(({ error }) => error ?? []),
        NextToken,
      };
    }),
  };

  function readValue({ SecretId, VersionId: versionId, VersionStage: stage }: ValueRequest, accessKeyId: string) {
    const secret = store.getActive(SecretId);
    assertMayRead(secret, roles[accessKeyId]);
    const version =
      versionId === undefined ? secret.versions.withStage(stage ?? 'AWSCURRENT') : secret.versions.get(versionId);
    if (version === undefined) {
      const which = versionId === undefined ? `staging label: ${stage ?? 'AWSCURRENT'}` : `VersionId: ${versionId}`;
      throw new AwsError(
        'ResourceNotFoundException',
        `Secrets Manager can't find the specified secret value for ${which}`,
      );
    }
    if (stage !== undefined && !version.stages.has(stage)) {
      throw new AwsError(
        'InvalidRequestException',
        'You provided a VersionStage that is not associated to the provided VersionId.',
      );
    }
    version.accessedAt = now();
    secret.accessedAt = now();
    return {
      ...identity(secret),
      VersionId: version.versionId,
      VersionStages: stagesOf(version),
      CreatedDate: seconds(version.createdAt),
      ...version.value,
    };
  }

  function namesThatPass(filters: Parameters<typeof passes>[1]): readonly string[] {
    const found = store.all().filter((secret) => secret.deletion === undefined && passes(secret, filters));
    return found.map(({ name }) => name);
  }
}

interface ValueRequest {
  readonly SecretId: string;
  readonly VersionId?: string | undefined;
  readonly VersionStage?: string | undefined;
}

/** The token becomes the version's id. SDKs make one of their own, so only a hand-made request can lack it. */
function requiredToken(token: string | undefined): string {
  if (token === undefined) {
    throw new AwsError('InvalidRequestException', 'You must provide a ClientRequestToken value.');
  }
  if (token.length < 32 || token.length > 64) {
    throw new AwsError('InvalidParameterException', 'ClientRequestToken must be 32-64 characters long.');
  }
  return token;
}

function givenValue(input: {
  readonly SecretString?: string | undefined;
  readonly SecretBinary?: string | undefined;
}): SecretValue | undefined {
  const { SecretString, SecretBinary } = input;
  if (SecretString !== undefined && SecretBinary !== undefined) {
    throw new AwsError('InvalidParameterException', 'A secret value is either a string or binary, not both.');
  }
  if (SecretString !== undefined) return { SecretString };
  return SecretBinary === undefined ? undefined : { SecretBinary };
}
