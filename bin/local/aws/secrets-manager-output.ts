import { AwsError } from './error.ts';
import type { StoredSecret } from './secret-store.ts';
import type { StoredVersion } from './secret-versions.ts';

/** The members that almost every answer about a secret begins with. */
export function identity({ arn, name }: StoredSecret) {
  return { ARN: arn, Name: name };
}

/** What DescribeSecret and ListSecrets both tell; members without a value are left out. */
export function description(secret: StoredSecret) {
  return {
    ...identity(secret),
    Description: secret.description,
    KmsKeyId: secret.kmsKeyId,
    CreatedDate: seconds(secret.createdAt),
    LastChangedDate: seconds(secret.changedAt),
    LastAccessedDate: secret.accessedAt && day(secret.accessedAt),
    DeletedDate: secret.deletion && seconds(secret.deletion.goneAt),
    Tags: secret.tags.size > 0 ? [...secret.tags].map(([Key, Value]) => ({ Key, Value })) : undefined,
  };
}

/** The versions that carry a stage; the deprecated ones are not told. */
export function versionsToStages({ versions }: StoredSecret) {
  const staged = versions.all().filter(({ stages }) => stages.size > 0);
  if (staged.length === 0) return undefined;
  return Object.fromEntries(staged.map((version) => [version.versionId, stagesOf(version)]));
}

export function stagesOf({ stages }: StoredVersion): readonly string[] {
  return [...stages].sort();
}

/** AWS writes dates as epoch seconds. */
export function seconds(epochMs: number): number {
  return epochMs / 1_000;
}

/** The day of an access; AWS tells no more of it. */
export function day(epochMs: number): number {
  return seconds(epochMs - (epochMs % DAY_MS));
}

export const DAY_MS = 24 * 60 * 60_000;

/** One page of a list, and the token of the next page if there is one. */
export function page<Item>(items: readonly Item[], size: number, token: string | undefined) {
  const start = token === undefined ? 0 : Number(/^page-at-(\d{1,9})$/.exec(token)?.[1]);
  if (Number.isNaN(start)) throw new AwsError('InvalidNextTokenException', 'The NextToken is not valid.');
  const end = start + size;
  return { items: items.slice(start, end), NextToken: end < items.length ? `page-at-${end}` : undefined };
}
