import { z } from 'zod';
import { isRecord, parseJson } from '../../functions/broker/json.ts';
import { AwsError } from './aws-error.ts';
import {
  createSecretStore,
  type LabelUpdate,
  type SecretStore,
  type StoredSecret,
  type StoredVersion,
} from './secret-store.ts';
import { type AwsKey, jsonApi, operation } from './server.ts';

/**
 * Stands in for AWS Secrets Manager, with the operations that the broker, its commands and the docs use.
 * Account 111111111111, region us-east-1, everything in memory. Calls `onLabelUpdated` where AWS sends an event.
 */
export function createSecrets(onLabelUpdated: (update: LabelUpdate) => void = () => undefined) {
  const store = createSecretStore(onLabelUpdated);
  const operations = { ...valueOperations(store), ...inventoryOperations(store), ...policyOperations(store) };
  return { ...jsonApi('secretsmanager', 'secretsmanager', operations), store };
}

/** The name or the ARN of a secret. */
const SecretId = z.string().regex(/^[\w/+=.@!:-]{1,2048}$/);
const VersionId = z.string().min(32).max(64);
const Stage = z.string().min(1);
const Tags = z.array(z.object({ Key: z.string(), Value: z.string() })).default([]);
/** The token becomes the version's id. SDKs create a missing token. */
const VALUE = { SecretString: z.string().min(1).max(65_536).optional(), ClientRequestToken: VersionId };

/** Writes and reads the values of secrets and moves their stages. */
function valueOperations(store: SecretStore) {
  return {
    CreateSecret: operation(
      z.object({ Name: SecretId, KmsKeyId: z.string().optional(), Tags, ...VALUE }),
      ({ Name, SecretString, ClientRequestToken: versionId, ...details }) => {
        const known = store.find(Name);
        if (known?.deletion !== undefined) {
          throw new AwsError('InvalidRequestException', 'A secret with this name is already scheduled for deletion.');
        }
        if (known !== undefined && known.versions.get(versionId) === undefined) {
          throw new AwsError('ResourceExistsException', 'A secret with this name already exists.');
        }
        const secret = known ?? store.create(Name, details);
        if (SecretString === undefined) return identity(secret);
        return { ...identity(secret), VersionId: secret.versions.add(versionId, { SecretString }).versionId };
      },
    ),

    PutSecretValue: operation(
      z.object({ SecretId, VersionStages: z.array(Stage).optional(), ...VALUE, SecretString: z.string().min(1) }),
      ({ SecretId: id, SecretString, ClientRequestToken: versionId, VersionStages }) => {
        const secret = store.getActive(id);
        const { stages } = secret.versions.add(versionId, { SecretString }, VersionStages);
        return { ...identity(secret), VersionId: versionId, VersionStages: [...stages] };
      },
    ),

    UpdateSecretVersionStage: operation(
      z.object({
        SecretId,
        VersionStage: Stage,
        RemoveFromVersionId: VersionId.optional(),
        MoveToVersionId: VersionId.optional(),
      }),
      (input) => {
        const secret = store.getActive(input.SecretId);
        secret.versions.move(input.VersionStage, input.RemoveFromVersionId, input.MoveToVersionId);
        return identity(secret);
      },
    ),

    GetSecretValue: operation(
      z.object({ SecretId, VersionId: VersionId.optional(), VersionStage: Stage.optional() }),
      ({ SecretId: id, VersionId: versionId, VersionStage: stage }, key) => {
        const secret = store.getActive(id);
        assertMayRead(secret, key);
        const version =
          versionId === undefined ? secret.versions.withStage(stage ?? 'AWSCURRENT') : secret.versions.get(versionId);
        if (version === undefined) {
          throw new AwsError('ResourceNotFoundException', "Secrets Manager can't find the specified secret value.");
        }
        if (stage !== undefined && !version.stages.has(stage)) {
          throw new AwsError('InvalidRequestException', 'The VersionStage is not associated to the VersionId.');
        }
        return { ...identity(secret), ...versionMembers(version), ...version.value };
      },
    ),
  };
}

/** Lists, describes, tags and deletes secrets. */
function inventoryOperations(store: SecretStore) {
  return {
    DescribeSecret: operation(z.object({ SecretId }), (input) => {
      const secret = store.get(input.SecretId);
      return { ...description(secret), VersionIdsToStages: versionsToStages(secret) };
    }),

    ListSecrets: operation(
      z.object({
        Filters: z.array(z.object({ Key: z.literal('name'), Values: z.array(z.string()) })).default([]),
        IncludePlannedDeletion: z.boolean().default(false),
        MaxResults: z.int().min(1).max(100).default(100),
        NextToken: z.string().regex(/^\d+$/).default('0'),
      }),
      ({ Filters, IncludePlannedDeletion, MaxResults, NextToken }) => {
        const listed = store
          .all()
          .filter(({ deletion }) => IncludePlannedDeletion || deletion === undefined)
          .filter(({ name }) => Filters.every(({ Values }) => Values.some((value) => name.startsWith(value))));
        const end = Number(NextToken) + MaxResults;
        const SecretList = listed
          .slice(Number(NextToken), end)
          .map((secret) => ({ ...description(secret), SecretVersionsToStages: versionsToStages(secret) }));
        return { SecretList, NextToken: end < listed.length ? `${end}` : undefined };
      },
    ),

    ListSecretVersionIds: operation(z.object({ SecretId, IncludeDeprecated: z.boolean().default(false) }), (input) => {
      const secret = store.get(input.SecretId);
      const versions = input.IncludeDeprecated ? secret.versions.all() : secret.versions.staged();
      return { ...identity(secret), Versions: versions.map(versionMembers) };
    }),

    TagResource: operation(z.object({ SecretId, Tags }), (input) => {
      const { tags } = store.getActive(input.SecretId);
      for (const { Key, Value } of input.Tags) tags.set(Key, Value);
      return {};
    }),

    UntagResource: operation(z.object({ SecretId, TagKeys: z.array(z.string()) }), (input) => {
      const { tags } = store.getActive(input.SecretId);
      for (const key of input.TagKeys) tags.delete(key);
      return {};
    }),

    DeleteSecret: operation(
      z.object({ SecretId, RecoveryWindowInDays: z.int().min(7).max(30).default(30) }),
      (input) => {
        const secret = store.getActive(input.SecretId);
        secret.deletion = { goneAt: Date.now() + input.RecoveryWindowInDays * DAY_MS };
        return { ...identity(secret), DeletionDate: secret.deletion.goneAt / 1_000 };
      },
    ),

    RestoreSecret: operation(z.object({ SecretId }), (input) => {
      const secret = store.get(input.SecretId);
      secret.deletion = undefined;
      return identity(secret);
    }),
  };
}

/** Reads and changes the resource policy of a secret. */
function policyOperations(store: SecretStore) {
  const change = (id: string, policy: string | undefined) => {
    const secret = store.getActive(id);
    secret.policy = policy;
    return identity(secret);
  };
  return {
    GetResourcePolicy: operation(z.object({ SecretId }), (input) => {
      const secret = store.get(input.SecretId);
      return { ...identity(secret), ResourcePolicy: secret.policy };
    }),
    PutResourcePolicy: operation(z.object({ SecretId, ResourcePolicy: z.string() }), (input) => {
      if (statementsOf(input.ResourcePolicy).length > 0) return change(input.SecretId, input.ResourcePolicy);
      throw new AwsError('MalformedPolicyDocumentException', 'This resource policy contains invalid Json');
    }),
    DeleteResourcePolicy: operation(z.object({ SecretId }), (input) => change(input.SecretId, undefined)),
  };
}

/** Refuses a value to a role that may not read secrets, or that the secret's policy denies, with AWS's own messages. */
function assertMayRead(secret: StoredSecret, { role, mayReadSecrets }: AwsKey): void {
  if (mayReadSecrets && !isDenied(secret, role)) return;
  const action = 'secretsmanager:GetSecretValue';
  const reason = mayReadSecrets
    ? 'with an explicit deny in a resource-based policy'
    : `because no identity-based policy allows the ${action} action`;
  const message = `User: ${role} is not authorized to perform: ${action} on resource: ${secret.arn} ${reason}`;
  throw new AwsError('AccessDeniedException', message);
}

/** Returns true if the secret's policy denies its value to this role. Only this form of IAM's language is supported. */
export function isDenied({ policy = '' }: StoredSecret, role: string): boolean {
  return statementsOf(policy).some(
    ({ Effect, Principal, Action, Condition }) =>
      Effect === 'Deny' &&
      Principal === '*' &&
      Action === 'secretsmanager:GetSecretValue' &&
      isRecord(Condition) &&
      isRecord(Condition.ArnEquals) &&
      Condition.ArnEquals['aws:PrincipalArn'] === role,
  );
}

function statementsOf(policy: string): readonly Readonly<Record<string, unknown>>[] {
  const document = parseJson(policy);
  return isRecord(document) ? [document.Statement].flat().filter(isRecord) : [];
}

/** The first members of almost every answer about a secret. */
function identity({ arn, name }: StoredSecret) {
  return { ARN: arn, Name: name };
}

/** The members common to DescribeSecret and ListSecrets. AWS writes dates as epoch seconds. */
function description(secret: StoredSecret) {
  return {
    ...identity(secret),
    KmsKeyId: secret.kmsKeyId,
    DeletedDate: secret.deletion && secret.deletion.goneAt / 1_000,
    Tags: secret.tags.size > 0 ? [...secret.tags].map(([Key, Value]) => ({ Key, Value })) : undefined,
  };
}

function versionMembers({ versionId, stages, createdAt }: StoredVersion) {
  return { VersionId: versionId, VersionStages: [...stages], CreatedDate: createdAt / 1_000 };
}

function versionsToStages({ versions }: StoredSecret) {
  const staged = versions.staged().map(({ versionId, stages }) => [versionId, [...stages]]);
  return staged.length === 0 ? undefined : Object.fromEntries(staged);
}

const DAY_MS = 24 * 60 * 60_000;
