import { randomInt } from 'node:crypto';
import { AwsError } from './error.ts';
import { SecretVersions } from './secret-versions.ts';

/** A secret as the stand-in for Secrets Manager keeps it. Times are epoch milliseconds. */
export interface StoredSecret {
  readonly name: string;
  readonly arn: string;
  readonly versions: SecretVersions;
  readonly tags: Map<string, string>;
  readonly createdAt: number;
  changedAt: number;
  description?: string | undefined;
  kmsKeyId?: string | undefined;
  /** The resource policy, as it was put. */
  policy?: string | undefined;
  accessedAt?: number;
  /** When it was marked for deletion, and when it will be gone. */
  deletion?: { readonly markedAt: number; readonly goneAt: number } | undefined;
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
  readonly Description?: string | undefined;
  readonly KmsKeyId?: string | undefined;
  readonly Tags?: readonly { readonly Key: string; readonly Value: string }[];
}

interface Dependencies {
  readonly now: () => number;
  readonly onLabelUpdated: (update: LabelUpdate) => void;
}

/** Which secrets there are, found by name, ARN or partial ARN as in AWS. */
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
    for (const { name, deletion } of this.#secrets.values()) {
      if (deletion !== undefined && deletion.goneAt <= this.#now()) this.#secrets.delete(name);
    }
    return [...this.#secrets.values()];
  }

  create(name: string, { Description, KmsKeyId, Tags = [] }: SecretDetails = {}): StoredSecret {
    assertName(name);
    const arn = newArn(name);
    const createdAt = this.#now();
    const onStageMoved = (label: string, versionId: string) => this.#onLabelUpdated({ name, arn, versionId, label });
    const versions = new SecretVersions({ now: this.#now, onStageMoved });
    const secret: StoredSecret = {
      name,
      arn,
      versions,
      createdAt,
      changedAt: createdAt,
      description: Description,
      kmsKeyId: KmsKeyId,
      tags: new Map(Tags.map(({ Key, Value }) => [Key, Value])),
    };
    this.#secrets.set(name, secret);
    return secret;
  }

  /** Also finds secrets that are marked for deletion. */
  find(secretId: string): StoredSecret | undefined {
    if (secretId.startsWith('arn:')) {
      return this.all().find(({ name, arn }) => arn === secretId || name === nameInPartialArn(secretId));
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

  /** Finds a secret in order to change it. @throws AwsError as `getActive` */
  change(secretId: string): StoredSecret {
    const secret = this.getActive(secretId);
    secret.changedAt = this.#now();
    return secret;
  }

  remove(secret: StoredSecret): void {
    this.#secrets.delete(secret.name);
  }
}

const ARN_PREFIX = 'arn:aws:secretsmanager:us-east-1:111111111111:secret:';
const SUFFIX_CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** An ARN that no other secret of this name has had. */
export function newArn(name: string): string {
  const suffix = Array.from({ length: 6 }, () => SUFFIX_CHARACTERS.charAt(randomInt(SUFFIX_CHARACTERS.length)));
  return `${ARN_PREFIX}${name}-${suffix.join('')}`;
}

/** A name that itself ends like an ARN is taken for a complete ARN, and so is not found; AWS does the same. */
function nameInPartialArn(secretId: string): string | undefined {
  if (!secretId.startsWith(ARN_PREFIX) || /-[A-Za-z0-9]{6}$/.test(secretId)) return undefined;
  return secretId.slice(ARN_PREFIX.length);
}

function assertName(name: string): void {
  if (/^[A-Za-z0-9/_+=.@!-]{1,512}$/.test(name)) return;
  throw new AwsError(
    'ValidationException',
    'Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!',
  );
}
