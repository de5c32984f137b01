import { createSecretKey, type KeyObject } from 'node:crypto';
import {
  GetSecretValueCommand,
  type GetSecretValueCommandOutput,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { LruCache } from '../../broker/lru-cache.ts';
import { sealingKeyName } from '../../contract.ts';
import { isDefinitive } from '../errors.ts';
import { withRetry, withTimeLimit } from '../time-limit.ts';

/** A version of the environment's sealing key. Its material exists only in here and cannot be printed. */
export interface SealingKey {
  readonly version: string;
  readonly material: KeyObject;
}

/**
 * The versions of one environment's sealing key. Never throws: a key that cannot be read, or not by the
 * deadline (epoch milliseconds), is `undefined`. When Secrets Manager does not answer, the next call that needs the key
 * asks again.
 */
export interface SealingKeys {
  /** The version that was current when it was first asked for; kept. Asked for again 10 s after a refusal. */
  current(deadline?: number): Promise<SealingKey | undefined>;
  /** The version that a record names; kept. Asked for again 60 s after a refusal. */
  named(version: string, deadline?: number): Promise<SealingKey | undefined>;
}

interface Dependencies {
  readonly secretsManager: SecretsManagerClient;
  readonly environment: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly timeoutMs?: number;
}

/** Reads each version of the key once, in at most `timeoutMs`. */
export function createSealingKeys({
  secretsManager,
  environment,
  now,
  timeoutMs = TIMEOUT_MS,
}: Dependencies): SealingKeys {
  const known = new LruCache<Asked>(MAX_VERSIONS);

  return {
    current: (deadline = Infinity) => find(CURRENT, { VersionStage: CURRENT }, CURRENT_RETRY_MS, deadline),
    named: (version, deadline = Infinity) => find(version, { VersionId: version }, NAMED_RETRY_MS, deadline),
  };

  async function find(id: string, asked: Which, retryMs: number, deadline: number): Promise<SealingKey | undefined> {
    const last = known.get(id);
    if (last?.key !== undefined || isRecent(last, retryMs)) return last?.key;
    const { key, isFinal } = await read(asked, deadline);
    if (isFinal) known.set(id, { key, at: now() });
    if (key !== undefined) known.set(key.version, { key, at: now() });
    return key;
  }

  /** A clock that was set back must not make the wait longer. */
  function isRecent(last: Asked | undefined, retryMs: number): boolean {
    return last !== undefined && now() >= last.at && now() < last.at + retryMs;
  }

  async function read(asked: Which, deadline: number): Promise<Found> {
    const name = sealingKeyName(environment);
    const command = new GetSecretValueCommand({ SecretId: name, ...asked });
    try {
      const answer = await withTimeLimit(
        timeoutMs,
        (abortSignal) => withRetry(abortSignal, () => secretsManager.send(command, { abortSignal })),
        deadline - now(),
      );
      return { key: isAbout(answer, name, asked) ? keyOf(answer) : undefined, isFinal: true };
    } catch (error) {
      return { key: undefined, isFinal: isDefinitive(error) };
    }
  }
}

/** Whether the answer is about the version that was asked for. */
function isAbout({ Name, VersionId, VersionStages }: GetSecretValueCommandOutput, name: string, asked: Which): boolean {
  if (Name !== name) return false;
  return 'VersionId' in asked ? VersionId === asked.VersionId : VersionStages?.includes(asked.VersionStage) === true;
}

function keyOf({ VersionId: version, SecretString: text }: GetSecretValueCommandOutput): SealingKey | undefined {
  if (typeof version !== 'string' || typeof text !== 'string' || text.length < MIN_LENGTH) return undefined;
  return { version, material: createSecretKey(text, 'utf8') };
}

interface Found {
  readonly key: SealingKey | undefined;
  /** Secrets Manager has answered. */
  readonly isFinal: boolean;
}

interface Asked {
  readonly key: SealingKey | undefined;
  readonly at: number;
}

type Which = { readonly VersionStage: string } | { readonly VersionId: string };

const CURRENT = 'AWSCURRENT';
const TIMEOUT_MS = 1_000;
const CURRENT_RETRY_MS = 10_000;
const NAMED_RETRY_MS = 60_000;
const MAX_VERSIONS = 100;

/** What Secrets Manager generates is this long at least; anything shorter was put there by mistake. */
const MIN_LENGTH = 32;
