import type { SecretListEntry } from '@aws-sdk/client-secrets-manager';
import { NAME_PATTERN, type SecretStage } from '../../functions/contract.ts';
import { isJsonObject } from '../json.ts';

/** What Secrets Manager tells of a client's secret without its values. Times are epoch milliseconds. */
export interface ClientSecret {
  readonly client: string;
  /** The tag `services` as it stands; absent when the client is on every service. */
  readonly servicesTag: string | undefined;
  /** The versions that carry a stage. */
  readonly versions: readonly StagedVersion[];
  /** Marked for deletion, and when it will be gone. */
  readonly deletedAt: number | undefined;
}

interface StagedVersion {
  readonly versionId: string;
  readonly stages: readonly string[];
}

/** Reads what ListSecrets tells of a secret; `undefined` when it is not one of a client below the prefix. */
export function readSecret(entry: SecretListEntry, prefix: string): ClientSecret | undefined {
  const { Name = '', Tags = [], SecretVersionsToStages = {}, DeletedDate } = entry;
  // The filter of ListSecrets is a prefix match, and a name could go on: a client's has no slash.
  const client = Name.slice(prefix.length);
  if (!Name.startsWith(prefix) || !NAME_PATTERN.test(client)) return undefined;
  return {
    client,
    servicesTag: Tags.find(({ Key }) => Key === 'services')?.Value,
    versions: Object.entries(SecretVersionsToStages).map(([versionId, stages]) => ({ versionId, stages })),
    deletedAt: DeletedDate?.getTime(),
  };
}

/** The services that the JSON of a version names, which is an object by name or a list; `undefined` when it has none. */
export function namedServices({ services }: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  if (Array.isArray(services)) return services.map(String);
  return isJsonObject(services) ? Object.keys(services) : undefined;
}

/** The id of the version that has the stage. */
export function versionWith(stage: SecretStage, secret: ClientSecret | undefined): string | undefined {
  return secret?.versions.find(({ stages }) => stages.includes(stage))?.versionId;
}
