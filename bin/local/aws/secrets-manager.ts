import { z } from 'zod';
import { assertMayRead, policyOperations } from './secret-policy.ts';
import {
  identity,
  type LabelUpdate,
  SecretId,
  SecretStore,
  type SecretValue,
  type StoredSecret,
  type StoredVersion,
} from './secret-store.ts';
import { AwsError, type AwsServer, operation, type StandInOptions, serveAws } from './server.ts';

export interface SecretsManagerStandIn extends AwsServer {
  readonly store: SecretStore;
}

interface Options extends StandInOptions {
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Called where AWS sends the event `Secret Label Updated`. */
  readonly onLabelUpdated?: (update: LabelUpdate) => void;
}

/**
 * Stands in for AWS Secrets Manager on 127.0.0.1, with the operations that the broker, its commands and the docs use:
 * account 111111111111, region us-east-1, everything in memory.
 */
export async function startSecretsManager(options: Options): Promise<SecretsManagerStandIn> {
  const { now = Date.now, onLabelUpdated = () => undefined, ...signatures } = options;
  const store = new SecretStore({ now, onLabelUpdated });
  const operations = { ...valueOperations(store), ...inventoryOperations(store, now), ...policyOperations(store) };
  return { ...(await serveAws({ service: 'secretsmanager', protocol: 'json', operations, ...signatures })), store };
}

/** Writes and reads the values of secrets and moves their stages. */
function valueOperations(store: SecretStore) {
  return {
    CreateSecret: operation(z.object({ Name, KmsKeyId, Tags: Tags.default([]), ...VALUE }), (input) => {
      const versionId = input.ClientRequestToken;
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

    PutSecretValue: operation(z.object({ SecretId, VersionStages, ...VALUE }), (input) => {
      const versionId = input.ClientRequestToken;
      const value = givenValue(input);
      if (value === undefined) {
        throw new AwsError('InvalidRequestException', 'You must provide either SecretString or SecretBinary.');
      }
      const secret = store.getActive(input.SecretId);
      const version = secret.versions.add(versionId, value, input.VersionStages);
      return { ...identity(secret), VersionId: versionId, VersionStages: stagesOf(version) };
    }),

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
        return { ...identity(secret), ...versionMembers(version), ...version.value };
      },
    ),
  };
}

/** Tells which secrets there are, tags and deletes them. */
function inventoryOperations(store: SecretStore, now: () => number) {
  return {
    DescribeSecret: operation(z.object({ SecretId }), (input) => {
      const secret = store.get(input.SecretId);
      return { ...description(secret), VersionIdsToStages: versionsToStages(secret) };
    }),

    ListSecrets: operation(
      z.object({
        Filters: z.array(z.object({ Key: z.literal('name'), Values: z.array(z.string()).min(1).max(10) })).default([]),
        IncludePlannedDeletion: z.boolean().default(false),
        ...PAGE,
      }),
      (input) => {
        const listed = store
          .all()
          .filter(({ deletion }) => input.IncludePlannedDeletion || deletion === undefined)
          .filter(({ name }) => input.Filters.every(({ Values }) => Values.some((value) => name.startsWith(value))));
        const { items, NextToken } = page(listed, input);
        const list = items.map((secret) => ({
          ...description(secret),
          SecretVersionsToStages: versionsToStages(secret),
        }));
        return { SecretList: list, NextToken };
      },
    ),

    ListSecretVersionIds: operation(z.object({ SecretId, ...PAGE }), (input) => {
      const secret = store.get(input.SecretId);
      const { items, NextToken } = page(stagedVersions(secret), input);
      return { ...identity(secret), Versions: items.map(versionMembers), NextToken };
    }),

    TagResource: operation(z.object({ SecretId, Tags }), (input) => {
      const { tags } = store.getActive(input.SecretId);
      for (const { Key, Value } of input.Tags) tags.set(Key, Value);
      return undefined;
    }),

    UntagResource: operation(z.object({ SecretId, TagKeys: z.array(tagText.min(1).max(128)) }), (input) => {
      const { tags } = store.getActive(input.SecretId);
      for (const key of input.TagKeys) tags.delete(key);
      return undefined;
    }),

    DeleteSecret: operation(z.object({ SecretId, RecoveryWindowInDays }), (input) => {
      const secret = store.getActive(input.SecretId);
      secret.deletion = { goneAt: now() + input.RecoveryWindowInDays * DAY_MS };
      return { ...identity(secret), DeletionDate: seconds(secret.deletion.goneAt) };
    }),

    RestoreSecret: operation(z.object({ SecretId }), (input) => {
      const secret = store.get(input.SecretId);
      secret.deletion = undefined;
      return identity(secret);
    }),
  };
}

function givenValue({ SecretString, SecretBinary }: z.output<z.ZodObject<typeof VALUE>>): SecretValue | undefined {
  if (SecretString !== undefined && SecretBinary !== undefined) {
    throw new AwsError('InvalidParameterException', 'A secret value is either a string or binary, not both.');
  }
  if (SecretString !== undefined) return { SecretString };
  return SecretBinary === undefined ? undefined : { SecretBinary };
}

/** What DescribeSecret and ListSecrets both tell; members without a value are left out. */
function description(secret: StoredSecret) {
  return {
    ...identity(secret),
    KmsKeyId: secret.kmsKeyId,
    DeletedDate: secret.deletion && seconds(secret.deletion.goneAt),
    Tags: secret.tags.size > 0 ? [...secret.tags].map(([Key, Value]) => ({ Key, Value })) : undefined,
  };
}

function versionMembers(version: StoredVersion) {
  const { versionId, createdAt } = version;
  return { VersionId: versionId, VersionStages: stagesOf(version), CreatedDate: seconds(createdAt) };
}

function versionsToStages(secret: StoredSecret) {
  const staged = stagedVersions(secret);
  if (staged.length === 0) return undefined;
  return Object.fromEntries(staged.map((version) => [version.versionId, stagesOf(version)]));
}

/** The versions that carry a stage; the deprecated ones are not told. */
function stagedVersions({ versions }: StoredSecret): readonly StoredVersion[] {
  return versions.all().filter(({ stages }) => stages.size > 0);
}

function stagesOf({ stages }: StoredVersion): readonly string[] {
  return [...stages].sort();
}

/** AWS writes dates as epoch seconds. */
function seconds(epochMs: number): number {
  return epochMs / 1_000;
}

const DAY_MS = 24 * 60 * 60_000;

/** One page of a list, and the token of the next page if there is one. */
function page<Item>(items: readonly Item[], { MaxResults, NextToken: token }: z.output<z.ZodObject<typeof PAGE>>) {
  const start = token === undefined ? 0 : Number(/^page-at-(\d{1,9})$/.exec(token)?.[1]);
  if (Number.isNaN(start)) throw new AwsError('InvalidNextTokenException', 'The NextToken is not valid.');
  const end = start + MaxResults;
  return { items: items.slice(start, end), NextToken: end < items.length ? `page-at-${end}` : undefined };
}

const Name = z.string().min(1).max(512);
const KmsKeyId = z.string().max(2048).optional();
const VersionId = z.string().min(32).max(64);
const RecoveryWindowInDays = z.int().min(7).max(30).default(30);
const Stage = z.string().min(1).max(256);
const VersionStages = z.array(Stage).min(1).max(20).optional();
const tagText = z.string().regex(/^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u);
const Tags = z.array(z.object({ Key: tagText.min(1).max(128), Value: tagText.max(256).default('') })).max(50);
const PAGE = {
  MaxResults: z.int().min(1).max(100).default(100),
  NextToken: z.string().min(1).max(4096).optional(),
};
const MAX_SECRET_BYTES = 65_536;
const VALUE = {
  SecretString: z
    .string()
    .min(1)
    .refine((text) => Buffer.byteLength(text) <= MAX_SECRET_BYTES)
    .optional(),
  SecretBinary: z
    .base64()
    .min(1)
    .refine((text) => Buffer.byteLength(text, 'base64') <= MAX_SECRET_BYTES)
    .optional(),
  /** Becomes the version's id; SDKs make one of their own. */
  ClientRequestToken: VersionId,
};
