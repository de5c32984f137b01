import { createSecretKey, type KeyObject } from 'node:crypto';
import { LruCache } from '../../broker/lru-cache.ts';
import { isOver, isWithin } from '../../broker/time.ts';
import { sealingKeyName } from '../../vocabulary.ts';
import { isDefinitive } from '../calls.ts';
import { readSecretVersion, type SecretDependencies } from '../secrets-manager.ts';

/** A version of the environment's sealing key. Its material exists only in this object and cannot be printed. */
export interface SealingKey {
  readonly version: string;
  readonly material: KeyObject;
}

export type SealingKeys = ReturnType<typeof createSealingKeys>;

/**
 * Reads each version of the environment's key once an hour: a new or a retired version takes effect within that time.
 * Never throws: a key that cannot be read by the deadline (epoch milliseconds) is `undefined`. While Secrets Manager
 * does not answer, a known key is used. A refused read is repeated after 10 s, for a named version after 60 s, a read
 * without an answer after 1 s.
 */
export function createSealingKeys(dependencies: SecretDependencies) {
  const { environment, now } = dependencies;
  const known = new LruCache<{ readonly key: SealingKey | undefined; readonly at: number }>(MAX_VERSIONS);

  return {
    current: (deadline = Infinity) => find(CURRENT, { VersionStage: CURRENT }, 10_000, deadline),
    /** Returns the version that a record names, unless it is retired. */
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
      const key = last?.key;
      if (key !== undefined) known.set(id, { key, at: now() - KEEP_MS + retryMs });
      // A read that the deadline cut off says nothing about the next read.
      else if (!isOver(deadline, now())) known.set(id, { key, at: now() - retryMs + SILENT_RETRY_MS });
      return key;
    }
  }

  function learn(id: string, key: SealingKey | undefined): SealingKey | undefined {
    const current = known.get(CURRENT)?.key;
    for (const name of [id, key?.version ?? id]) known.set(name, { key, at: now() });
    if (id === CURRENT || current === undefined || current.version === key?.version) return key;
    // A retired version seals nothing more. An unknown version shows a rotation, so the current key is read again.
    if (current.version === id) known.delete(CURRENT);
    else known.set(CURRENT, { key: current, at: -Infinity });
    return key;
  }
}

const KEEP_MS = 3_600_000;
const SILENT_RETRY_MS = 1_000;
const CURRENT = 'AWSCURRENT';
const MAX_VERSIONS = 100;
/** The shortest key that Secrets Manager generates. A shorter text was stored by mistake. */
const MIN_LENGTH = 32;
