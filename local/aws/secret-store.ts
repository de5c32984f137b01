import { randomInt, randomUUID } from 'node:crypto';
import { AwsError } from './aws-error.ts';

/** A secret as the stand-in for Secrets Manager stores it. Times are epoch milliseconds. */
export interface StoredSecret {
  readonly name: string;
  readonly arn: string;
  readonly versions: ReturnType<typeof createVersions>;
  readonly tags: Map<string, string>;
  readonly kmsKeyId: string | undefined;
  /** The text of the resource policy, unchanged. */
  policy?: string | undefined;
  /** Present when the secret is marked for deletion. */
  deletion?: { readonly goneAt: number } | undefined;
}

/** The event that a stage other than AWSPENDING and AWSPREVIOUS has moved to another version. */
export interface LabelUpdate {
  readonly name: string;
  readonly arn: string;
  readonly versionId: string;
  readonly label: string;
}

/** The members of CreateSecret other than the name and the value. */
interface SecretDetails {
  readonly KmsKeyId?: string | undefined;
  readonly Tags?: readonly { readonly Key: string; readonly Value: string }[] | undefined;
}

/** Stores the secrets and finds them by name or ARN. */
export function createSecretStore(onLabelUpdated: (update: LabelUpdate) => void) {
  const secrets = new Map<string, StoredSecret>();
  const store = {
    /** Returns every secret, oldest first, including secrets marked for deletion. */
    all: (): readonly StoredSecret[] => [...secrets.values()],

    create(name: string, { KmsKeyId, Tags = [] }: SecretDetails = {}): StoredSecret {
      const suffix = Array.from({ length: 6 }, () => randomInt(36).toString(36)).join('');
      const arn = `arn:aws:secretsmanager:us-east-1:111111111111:secret:${name}-${suffix}`;
      const versions = createVersions((label, versionId) => onLabelUpdated({ name, arn, versionId, label }));
      const tags = new Map(Tags.map(({ Key, Value }) => [Key, Value]));
      const secret: StoredSecret = { name, arn, versions, tags, kmsKeyId: KmsKeyId };
      secrets.set(name, secret);
      return secret;
    },

    /** Creates a secret with this text. */
    put(name: string, SecretString: string, details?: SecretDetails): void {
      store.create(name, details).versions.add(randomUUID(), { SecretString });
    },

    /** Finds a secret by name or ARN, even a secret marked for deletion. */
    find(secretId: string): StoredSecret | undefined {
      return store.all().find(({ name, arn }) => name === secretId || arn === secretId);
    },

    /** @throws AwsError ResourceNotFoundException */
    get(secretId: string): StoredSecret {
      const secret = store.find(secretId);
      if (secret !== undefined) return secret;
      throw new AwsError('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    },

    /** @throws AwsError ResourceNotFoundException, or InvalidRequestException when the secret is marked for deletion */
    getActive(secretId: string): StoredSecret {
      const secret = store.get(secretId);
      if (secret.deletion === undefined) return secret;
      throw new AwsError('InvalidRequestException', 'The secret was marked for deletion.');
    },
  };
  return store;
}

export type SecretStore = ReturnType<typeof createSecretStore>;

/** A version of a secret. Its value is either text or base64. */
export interface StoredVersion {
  readonly versionId: string;
  readonly value: { readonly SecretString: string } | { readonly SecretBinary: string };
  readonly createdAt: number;
  readonly stages: Set<string>;
}

/**
 * The versions of a secret and their stages. As in AWS, no two versions have the same stage.
 * The version that loses AWSCURRENT gets AWSPREVIOUS. A version without a stage is deprecated.
 */
function createVersions(onStageMoved: (stage: string, versionId: string) => void) {
  const known = new Map<string, StoredVersion>();
  const versions = {
    /** Returns every version, also deprecated ones. */
    all: (): readonly StoredVersion[] => [...known.values()],

    /** Returns the versions that have a stage. Deprecated versions are left out. */
    staged: (): readonly StoredVersion[] => versions.all().filter(({ stages }) => stages.size > 0),

    get: (versionId: string): StoredVersion | undefined => known.get(versionId),

    withStage(stage: string): StoredVersion | undefined {
      return versions.all().find(({ stages }) => stages.has(stage));
    },

    /** Adds a version. Idempotent for the same value. Refuses another value, because a version never changes. */
    add(id: string, value: StoredVersion['value'], stages: readonly string[] = ['AWSCURRENT']): StoredVersion {
      const before = known.get(id);
      if (before !== undefined) {
        if (JSON.stringify(before.value) === JSON.stringify(value)) return before;
        throw new AwsError('ResourceExistsException', `ClientRequestToken ${id} is already in use for a version`);
      }
      const version: StoredVersion = { versionId: id, value, createdAt: Date.now(), stages: new Set() };
      const isFirst = known.size === 0;
      known.set(id, version);
      for (const stage of isFirst ? [...stages, 'AWSCURRENT'] : stages) attach(stage, version);
      return version;
    },

    /** Moves a stage. As in AWS, `from` must name the version with the stage, and AWSCURRENT cannot be removed. */
    move(stage: string, from: string | undefined, to: string | undefined): void {
      const holder = versions.withStage(stage);
      const target = to === undefined ? undefined : known.get(to);
      if (to !== undefined && target === undefined) {
        throw new AwsError('InvalidParameterException', `Not a valid version: ${to}`);
      }
      if (from === undefined && holder === target && holder !== undefined) return;
      if (from !== holder?.versionId || (from === undefined && to === undefined)) {
        throw new AwsError('InvalidParameterException', `RemoveFromVersionId must be the version that has ${stage}`);
      }
      if (target === undefined && stage === 'AWSCURRENT') {
        throw new AwsError('InvalidParameterException', 'AWSCURRENT can only be moved to another version, not removed');
      }
      if (target === undefined) holder?.stages.delete(stage);
      else attach(stage, target);
    },
  };
  return versions;

  function attach(stage: string, version: StoredVersion): void {
    const holder = versions.withStage(stage);
    if (holder === version) return;
    version.stages.add(stage);
    if (holder === undefined) return;
    holder.stages.delete(stage);
    if (stage === 'AWSCURRENT') attach('AWSPREVIOUS', holder);
    if (stage !== 'AWSPENDING' && stage !== 'AWSPREVIOUS') onStageMoved(stage, version.versionId);
  }
}
