import { AwsError } from './error.ts';
import { passes } from './secret-filter.ts';
import { newArn, type SecretStore, type StoredSecret } from './secret-store.ts';
import { INPUTS, operation } from './secrets-manager-input.ts';
import {
  DAY_MS,
  day,
  description,
  identity,
  page,
  seconds,
  stagesOf,
  versionsToStages,
} from './secrets-manager-output.ts';
import type { Operation } from './server.ts';

interface Dependencies {
  readonly store: SecretStore;
  readonly now: () => number;
  /** For how long ListSecrets does not show that a secret was created or marked for deletion. */
  readonly listLagMs: number;
}

/** The operations of Secrets Manager that tell which secrets there are, tag them and delete them. */
export function secretInventoryOperations(dependencies: Dependencies): Readonly<Record<string, Operation>> {
  const { store, now, listLagMs } = dependencies;
  return {
    DescribeSecret: operation(INPUTS.DescribeSecret, (input) => {
      const secret = store.get(input.SecretId);
      return { ...description(secret), VersionIdsToStages: versionsToStages(secret) };
    }),

    ListSecrets: operation(INPUTS.ListSecrets, (input) => {
      const secrets = store.all().filter((secret) => isListed(secret, input.IncludePlannedDeletion));
      const found = secrets.filter((secret) => passes(secret, input.Filters)).sort(ORDERS[input.SortBy]);
      const { items, NextToken } = page(
        input.SortOrder === 'desc' ? found.reverse() : found,
        input.MaxResults,
        input.NextToken,
      );
      const list = items.map((secret) => ({
        ...description(secret),
        SecretVersionsToStages: versionsToStages(secret),
      }));
      return { SecretList: list, NextToken };
    }),

    ListSecretVersionIds: operation(INPUTS.ListSecretVersionIds, (input) => {
      const secret = store.get(input.SecretId);
      const versions = secret.versions.all().filter(({ stages }) => input.IncludeDeprecated || stages.size > 0);
      const { items, NextToken } = page(versions, input.MaxResults, input.NextToken);
      const list = items.map((version) => ({
        VersionId: version.versionId,
        VersionStages: version.stages.size > 0 ? stagesOf(version) : undefined,
        CreatedDate: seconds(version.createdAt),
        LastAccessedDate: version.accessedAt && day(version.accessedAt),
        KmsKeyIds: [secret.kmsKeyId ?? 'DefaultEncryptionKey'],
      }));
      return { ...identity(secret), Versions: list, NextToken };
    }),

    TagResource: operation(INPUTS.TagResource, (input) => {
      const { tags } = store.change(input.SecretId);
      for (const { Key, Value } of input.Tags) tags.set(Key, Value);
      return undefined;
    }),

    UntagResource: operation(INPUTS.UntagResource, (input) => {
      const { tags } = store.change(input.SecretId);
      for (const key of input.TagKeys) tags.delete(key);
      return undefined;
    }),

    DeleteSecret: operation(INPUTS.DeleteSecret, (input) => {
      const { RecoveryWindowInDays: days, ForceDeleteWithoutRecovery: force } = input;
      if (days !== undefined && (force || days < 7 || days > 30)) {
        throw new AwsError(
          'InvalidParameterException',
          'RecoveryWindowInDays must be from 7 to 30, and without ForceDeleteWithoutRecovery.',
        );
      }
      if (force) {
        const secret = store.find(input.SecretId);
        if (secret !== undefined) store.remove(secret);
        // AWS answers alike when there was no such secret.
        const { name, arn } = secret ?? { name: input.SecretId, arn: newArn(input.SecretId) };
        return { Name: name, ARN: arn, DeletionDate: seconds(now()) };
      }
      const secret = store.change(input.SecretId);
      secret.deletion = { markedAt: now(), goneAt: now() + (days ?? 30) * DAY_MS };
      return { ...identity(secret), DeletionDate: seconds(secret.deletion.goneAt) };
    }),

    RestoreSecret: operation(INPUTS.RestoreSecret, (input) => {
      const secret = store.get(input.SecretId);
      secret.deletion = undefined;
      return identity(secret);
    }),
  };

  function isListed({ createdAt, deletion }: StoredSecret, includeDeleted: boolean): boolean {
    const shownUntil = now() - listLagMs;
    if (createdAt > shownUntil) return false;
    return includeDeleted || deletion === undefined || deletion.markedAt > shownUntil;
  }
}

const ORDERS = {
  name: (a: StoredSecret, b: StoredSecret) => (a.name < b.name ? -1 : 1),
  'created-date': (a: StoredSecret, b: StoredSecret) => a.createdAt - b.createdAt,
  'last-changed-date': (a: StoredSecret, b: StoredSecret) => a.changedAt - b.changedAt,
  'last-accessed-date': (a: StoredSecret, b: StoredSecret) => (a.accessedAt ?? 0) - (b.accessedAt ?? 0),
};
