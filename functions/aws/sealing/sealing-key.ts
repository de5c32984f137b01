import { createSecretKey, type KeyObject } from 'node:crypto';
import { LruCache } from '../../broker/lru-cache.ts';
import { isWithin } from '../../broker/time.ts';
import { sealingKeyName } from '../../vocabulary.ts';
import { isDefinitive } from '../calls.ts';
import { readSecretVersion, type SecretDependencies } from '../secrets-manager.ts';

/** A version of the environment's sealing key. Its material exists only in here and cannot be printed. */
export interface SealingKey {
  readonly version: string;
  readonly material: KeyObject;
}

export type SealingKeys = ReturnType<typeof createSealingKeys>;

/**
 * Reads each version of the environment's key once an hour, so that within it a new one is used and a retired one opens
 * nothing. Never throws: a key that cannot be read by the deadline (epoch milliseconds) is `undefined`. While Secrets Manager
 * does not answer, a known key still serves; after a refusal it is asked again 10 s later, for a named version 60 s.
 */
export function createSealingKeys(dependencies: SecretDependencies) {
  const { environment, now } = dependencies;
  const known = new LruCache<{ readonly key: SealingKey | undefined; readonly at: number }>(MAX_VERSIONS);

  return {
    current: (deadline = Infinity) => find(CURRENT, { VersionStage: CURRENT }, 10_000, deadline),
    /** The version that a record names, unless it is retired. */
    named: (version: string, deadline = Infinity) => find(version, { VersionId: version }, 60_000, deadline),
  };

  async function find(id: string, which: object, retryMs: number, deadline: number): Promise<SealingKey | undefined> {
    const last = known.get(id);
    if (isWithin(last?.key === undefined ? retryMs : KEEP_MS, last?.at, now())) return last?.key;
    const asked = { SecretId: sealingKeyName(environment), ...which };
    try {
      const { versionId, stages, text = '' } = await readSecretVersion(dependencies, asked, deadline);
      const isUsable = stages.length > 0 && text.length >= MIN_LENGTH;
      return learn(id, isUsable ? { version: versionId, material: createSecretKey(text, 'utf8') } : undefined);
    } catch (error) {
      if (isDefinitive(error)) return learn(id, undefined);
      if (last?.key !== undefined) known.set(id, { key: last.key, at: now() - KEEP_MS + retryMs });
      return last?.key;
    }
  }

  function learn(id: string, key: SealingKey | undefined): SealingKey | undefined {
    const current = known.get(CURRENT)?.key;
    for (const name of [id, key?.version ?? id]) known.set(name, { key, at: now() });
    if (id === CURRENT || current === undefined || current.version === key?.version) return key;
    // A retired version seals nothing more. One that is new here says that the current one may be another by now.
    if (current.version === id) known.delete(CURRENT);
    else known.set(CURRENT, { key: current, at: -Infinity });
    return key;
  }
}

const KEEP_MS = 3_600_000;
const CURRENT = 'AWSCURRENT';
const MAX_VERSIONS = 100;
/** What Secrets Manager generates is this long at least; anything shorter was put there by mistake. */
const MIN_LENGTH = 32;
