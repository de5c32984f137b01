import { randomInt, randomUUID } from 'node:crypto';
import { AwsError } from './server.ts';

/** A secret as the stand-in for Secrets Manager keeps it. Times are epoch milliseconds. */
export interface StoredSecret {
  readonly name: string;
  readonly arn: string;
  readonly versions: SecretVersions;
  readonly tags: Map<string, string>;
  readonly kmsKeyId: string | undefined;
  /** The resource policy, as it was put. */
  policy?: string | undefined;
  /** When it will be gone, once it is marked for deletion. */
  deletion?: { readonly goneAt: number } | undefined;
}

/** The event when a stage other than AWSPENDING and AWSPREVIOUS goes to another version. */
export interface LabelUpdate {
  readonly name: string;
  readonly arn: string;
  readonly versionId: string;
  readonly label: string;
}

/** Further members of CreateSecret beside the name and the value. */
interface SecretDetails {
  readonly KmsKeyId?: string | undefined;
  readonly Tags?: readonly { readonly Key: string; readonly Value: string }[] | undefined;
}

/** The secrets, found by name or ARN. */
export class SecretStore {
  readonly #secrets = new Map<string, StoredSecret>();
  readonly #now: () => number;
  readonly #onLabelUpdated: (update: LabelUpdate) => void;

  constructor(now: () => number, onLabelUpdated: (update: LabelUpdate) => void) {
    this.#now = now;
    this.#onLabelUpdated = onLabelUpdated;
  }

  /** Every secret, also those marked for deletion, oldest first. */
  all(): readonly StoredSecret[] {
    return [...this.#secrets.values()];
  }

  create(name: string, { KmsKeyId, Tags = [] }: SecretDetails = {}): StoredSecret {
    const suffix = Array.from({ length: 6 }, () => randomInt(36).toString(36)).join('');
    const arn = `arn:aws:secretsmanager:us-east-1:111111111111:secret:${name}-${suffix}`;
    const onStageMoved = (label: string, versionId: string) => this.#onLabelUpdated({ name, arn, versionId, label });
    const versions = new SecretVersions(this.#now, onStageMoved);
    const tags = new Map(Tags.map(({ Key, Value }) => [Key, Value]));
    const secret: StoredSecret = { name, arn, versions, tags, kmsKeyId: KmsKeyId };
    this.#secrets.set(name, secret);
    return secret;
  }

  /** Makes a secret with this text. */
  put(name: string, SecretString: string, details?: SecretDetails): void {
    this.create(name, details).versions.add(randomUUID(), { SecretString });
  }

  /** Also finds secrets that are marked for deletion. */
  find(secretId: string): StoredSecret | undefined {
    return this.all().find(({ name, arn }) => name === secretId || arn === secretId);
  }

  /** @throws AwsError ResourceNotFoundException */
  get(secretId: string): StoredSecret {
    const secret = this.find(secretId);
    if (secret !== undefined) return secret;
    throw new AwsError('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
  }

  /** @throws AwsError ResourceNotFoundException, or InvalidRequestException when it is marked for deletion */
  getActive(secretId: string): StoredSecret {
    const secret = this.get(secretId);
    if (secret.deletion === undefined) return secret;
    throw new AwsError('InvalidRequestException', 'The secret was marked for deletion.');
  }

  remove({ name }: StoredSecret): void {
    this.#secrets.delete(name);
  }
}

/** One version of a secret; its value is text or base64, never both. */
export interface StoredVersion {
  readonly versionId: string;
  readonly value: { readonly SecretString: string } | { readonly SecretBinary: string };
  readonly createdAt: number;
  readonly stages: Set<string>;
}

/**
 * The versions of one secret and the stages they carry, moved as AWS moves them: a stage is on at most one version,
 * and the version that loses AWSCURRENT gets AWSPREVIOUS. A version without a stage is deprecated.
 */
class SecretVersions {
  readonly #versions = new Map<string, StoredVersion>();
  readonly #now: () => number;
  readonly #onStageMoved: (stage: string, versionId: string) => void;

  constructor(now: () => number, onStageMoved: (stage: string, versionId: string) => void) {
    this.#now = now;
    this.#onStageMoved = onStageMoved;
  }

  /** The versions that carry a stage; the deprecated ones are not told. */
  staged(): readonly StoredVersion[] {
    return [...this.#versions.values()].filter(({ stages }) => stages.size > 0);
  }

  get(versionId: string): StoredVersion | undefined {
    return this.#versions.get(versionId);
  }

  withStage(stage: string): StoredVersion | undefined {
    return this.staged().find(({ stages }) => stages.has(stage));
  }

  /** Adds a version, unless it is there already with the same value; a version never changes its value. */
  add(versionId: string, value: StoredVersion['value'], stages: readonly string[] = ['AWSCURRENT']): StoredVersion {
    const known = this.#versions.get(versionId);
    if (known !== undefined) {
      if (JSON.stringify(known.value) === JSON.stringify(value)) return known;
      throw new AwsError('ResourceExistsException', `ClientRequestToken ${versionId} is already in use for a version`);
    }
    const version: StoredVersion = { versionId, value, createdAt: this.#now(), stages: new Set() };
    const isFirst = this.#versions.size === 0;
    this.#versions.set(versionId, version);
    for (const stage of isFirst ? [...stages, 'AWSCURRENT'] : stages) this.#attach(stage, version);
    return version;
  }

  /** Moves a stage; AWS demands that the version which has it is named, and never lets AWSCURRENT vanish. */
  move(stage: string, from: string | undefined, to: string | undefined): void {
    const holder = this.withStage(stage);
    const target = to === undefined ? undefined : this.#versions.get(to);
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
    else this.#attach(stage, target);
  }

  #attach(stage: string, version: StoredVersion): void {
    const holder = this.withStage(stage);
    if (holder === version) return;
    version.stages.add(stage);
    if (holder === undefined) return;
    holder.stages.delete(stage);
    if (stage === 'AWSCURRENT') this.#attach('AWSPREVIOUS', holder);
    if (stage !== 'AWSPENDING' && stage !== 'AWSPREVIOUS') this.#onStageMoved(stage, version.versionId);
  }
}
