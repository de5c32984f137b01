import { AwsError } from './error.ts';

/** One version of a secret; its value is text or base64, never both. */
export interface StoredVersion {
  readonly versionId: string;
  readonly value: SecretValue;
  readonly createdAt: number;
  readonly stages: Set<string>;
  accessedAt?: number;
}

export type SecretValue = { readonly SecretString: string } | { readonly SecretBinary: string };

interface Dependencies {
  readonly now: () => number;
  /** A stage other than AWSPENDING and AWSPREVIOUS went from one version to another. */
  readonly onStageMoved: (stage: string, versionId: string) => void;
}

/**
 * The versions of one secret and the stages they carry, moved as AWS moves them: a stage is on at most one version,
 * and whoever loses AWSCURRENT gets AWSPREVIOUS. A version without a stage is deprecated.
 */
export class SecretVersions {
  readonly #versions = new Map<string, StoredVersion>();
  readonly #now: () => number;
  readonly #onStageMoved: Dependencies['onStageMoved'];

  constructor({ now, onStageMoved }: Dependencies) {
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
