import { createSecretKey, type KeyObject } from 'node:crypto';
import type { GetSecretValueCommandOutput } from '@aws-sdk/client-secrets-manager';
import { isWithin, LruCache } from '../../broker/lru-cache.ts';
import { sealingKeyName } from '../../contract.ts';
import { isDefinitive } from '../calls.ts';
import { getSecretValue, isAbout, type SecretDependencies } from '../secrets-manager.ts';

/** A version of the environment's sealing key. Its material exists only in here and cannot be printed. */
export interface SealingKey {
  readonly version: string;
  readonly material: KeyObject;
}

/**
 * The versions of one environment's sealing key. Never throws: a key that cannot be read by the deadline (epoch
 * milliseconds) is `undefined`. While Secrets Manager does not answer, a known key still serves.
 */
export interface SealingKeys {
  /** The version that is current; kept for an hour. Asked for again 10 s after a refusal. */
  current(deadline?: number): Promise<SealingKey | undefined>;
  /** The version that a record names, unless it is retired; kept for an hour. Asked for again 60 s after a refusal. */
  named(version: string, deadline?: number): Promise<SealingKey | undefined>;
}

/** Reads each version of the key once an hour, so that within it a new one is used and a retired one opens nothing. */
export function createSealingKeys(dependencies: SecretDependencies): SealingKeys {
  const { environment, now } = dependencies;
  const known = new LruCache<{ readonly key: SealingKey | undefined; readonly at: number }>(MAX_VERSIONS);

  return {
    current: (deadline) => find(CURRENT, { VersionStage: CURRENT }, 10_000, deadline),
    named: (version, deadline) => find(version, { VersionId: version }, 60_000, deadline),
  };

  async function find(id: string, which: object, retryMs: number, deadline = Infinity) {
    const last = known.get(id);
    if (isWithin(last?.key === undefined ? retryMs : KEEP_MS, last?.at, now())) return last?.key;
    const asked = { SecretId: sealingKeyName(environment), ...which };
    try {
      const answer = await getSecretValue(dependencies, asked, deadline);
      const key = isAbout(answer, asked) ? keyOf(answer) : undefined;
      for (const name of [id, key?.version ?? id]) known.set(name, { key, at: now() });
      return key;
    } catch (error) {
      if (isDefinitive(error)) known.set(id, { key: undefined, at: now() });
      else if (last?.key !== undefined) known.set(id, { key: last.key, at: now() - KEEP_MS + retryMs });
      return known.get(id)?.key;
    }
  }
}

/** The key of a version, unless it is retired: the secret's own way to say so is that the version has no stage. */
function keyOf({ VersionId: version, VersionStages: stages = [], SecretString: text }: GetSecretValueCommandOutput) {
  if (typeof version !== 'string' || typeof text !== 'string' || text.length < MIN_LENGTH) return undefined;
  return stages.length > 0 ? { version, material: createSecretKey(text, 'utf8') } : undefined;
}

const KEEP_MS = 3_600_000;
const CURRENT = 'AWSCURRENT';
const MAX_VERSIONS = 100;

/** What Secrets Manager generates is this long at least; anything shorter was put there by mistake. */
const MIN_LENGTH = 32;
