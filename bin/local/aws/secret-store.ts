import { randomInt } from 'node:crypto';
import { z } from 'zod';
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

/** What EventBridge is told when a stage other than AWSPENDING and AWSPREVIOUS goes to another version. */
export interface LabelUpdate {
  readonly name: string;
  readonly arn: string;
  readonly versionId: string;
  readonly label: string;
}

/** What a secret is created with besides its value, as CreateSecret names it. */
export interface SecretDetails {
  readonly KmsKeyId?: string | undefined;
  readonly Tags?: readonly { readonly Key: string; readonly Value: string }[];
}

interface Dependencies {
  readonly now: () => number;
  readonly onLabelUpdated: (update: LabelUpdate) => void;
}

/** Which secrets there are, found by name or ARN. */
export class SecretStore {
  readonly #secrets = new Map<string, StoredSecret>();
  readonly #now: () => number;
  readonly #onLabelUpdated: Dependencies['onLabelUpdated'];

  constructor({ now, onLabelUpdated }: Dependencies) {
    this.#now = now;
    this.#onLabelUpdated = onLabelUpdated;
  }

  /** Every secret, also those marked for deletion, oldest first. */
  all(): readonly StoredSecret[] {
    return [...this.#secrets.values()];
  }

  create(name: string, { KmsKeyId, Tags = [] }: SecretDetails = {}): StoredSecret {
    assertName(name);
    const arn = newArn(name);
    const onStageMoved = (label: string, versionId: string) => this.#onLabelUpdated({ name, arn, versionId, label });
    const versions = new SecretVersions(this.#now, onStageMoved);
    const secret: StoredSecret = {
      name,
      arn,
      versions,
      kmsKeyId: KmsKeyId,
      tags: new Map(Tags.map(({ Key, Value }) => [Key, Value])),
    };
    this.#secrets.set(name, secret);
    return secret;
  }

  /** Also finds secrets that are marked for deletion. */
  find(secretId: string): StoredSecret | undefined {
    if (secretId.startsWith('arn:')) {
      return this.all().find(({ arn }) => arn === secretId);
    }
    assertName(secretId);
    return this.all().find(({ name }) => name === secretId);
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
    throw new AwsError(
      'InvalidRequestException',
      "You can't perform this operation on the secret because it was marked for deletion.",
    );
  }

  remove({ name }: StoredSecret): void {
    this.#secrets.delete(name);
  }
}

const ARN_PREFIX = 'arn:aws:secretsmanager:us-east-1:111111111111:secret:';
const SUFFIX_CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** An ARN that no other secret of this name has had. */
function newArn(name: string): string {
  const suffix = Array.from({ length: 6 }, () => SUFFIX_CHARACTERS.charAt(randomInt(SUFFIX_CHARACTERS.length)));
  return `${ARN_PREFIX}${name}-${suffix.join('')}`;
}

function assertName(name: string): void {
  if (/^[A-Za-z0-9/_+=.@!-]{1,512}$/.test(name)) return;
  throw new AwsError(
    'ValidationException',
    'Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!',
  );
}

/** How a request names a secret: by its name or its ARN. */
export const SecretId = z.string().min(1).max(2048);

/** The members that almost every answer about a secret begins with. */
export function identity({ arn, name }: StoredSecret) {
  return { ARN: arn, Name: name };
}

/** One version of a secret; its value is text or base64, never both. */
export interface StoredVersion {
  readonly versionId: string;
  readonly value: SecretValue;
  readonly createdAt: number;
  readonly stages: Set<string>;
}

export type SecretValue = { readonly SecretString: string } | { readonly SecretBinary: string };

/** A stage other than AWSPENDING and AWSPREVIOUS went to another version. */
type OnStageMoved = (stage: string, versionId: string) => void;

/**
 * The versions of one secret and the stages they carry, moved as AWS moves them: a stage is on at most one version,
 * and the version that loses AWSCURRENT gets AWSPREVIOUS. A version without a stage is deprecated.
 */
class SecretVersions {
  readonly #versions = new Map<string, StoredVersion>();
  readonly #now: () => number;
  readonly #onStageMoved: OnStageMoved;

  constructor(now: () => number, onStageMoved: OnStageMoved) {
    this.#now = now;
    this.#onStageMoved = onStageMoved;
  }

  all(): readonly StoredVersion[] {
    return [...this.#versions.values()];
  }

  get(versionId: string): StoredVersion | undefined {
    return this.#versions.get(versionId);
  }

  withStage(stage: string): StoredVersion | undefined {
    return this.all().find(({ stages }) => stages.has(stage));
  }

  /** Adds a version, unless it is there already with the same value; a version never changes its value. */
  add(versionId: string, value: SecretValue, stages: readonly string[] = ['AWSCURRENT']): StoredVersion {
    const known = this.#versions.get(versionId);
    if (known !== undefined) {
      if (sameValue(known.value, value)) return known;
      throw new AwsError('ResourceExistsException', `ClientRequestToken ${versionId} is already in use for a version`);
    }
    const current = this.withStage('AWSCURRENT');
    const version: StoredVersion = { versionId, value, createdAt: this.#now(), stages: new Set() };
    const isFirst = this.#versions.size === 0;
    this.#versions.set(versionId, version);
    for (const stage of isFirst ? [...stages, 'AWSCURRENT'] : stages) this.#attach(stage, version);
    // AWS ends a rotation whose version was current and still pending when a put replaces it.
    if (current !== undefined && !current.stages.has('AWSCURRENT')) current.stages.delete('AWSPENDING');
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

function sameValue(one: SecretValue, other: SecretValue): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
