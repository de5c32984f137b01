import { createSecretKey, type KeyObject } from 'node:crypto';
import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { MemoryCache } from '../../broker/lru-cache.ts';
import { SingleFlight } from '../../broker/single-flight.ts';
import { sealingKeyName } from '../../contract.ts';
import { isRefusal } from '../definitive.ts';
import { withSecondTry } from '../retry.ts';
import { withTimeLimit } from '../time-limit.ts';

/** A version of the environment's sealing key. Its material exists only in here and cannot be printed. */
export interface SealingKey {
  readonly version: string;
  readonly material: KeyObject;
}

/**
 * The versions of one environment's sealing key. Never throws: a key that cannot be read, or not by the
 * deadline (epoch milliseconds), is `undefined`. When Secrets Manager does not answer, the next one who needs the key
 * asks again.
 */
export interface SealingKeys {
  /** The version that was current when it was first asked for; kept. Asked for again 10 s after a refusal. */
  current(deadline?: number): Promise<SealingKey | undefined>;
  /** The version that a record names; kept. Asked for again 60 s after a refusal. */
  named(version: string, deadline?: number): Promise<SealingKey | undefined>;
}

/** Reads each version of the key at most once, in at most `timeoutMs`. */
export function createSealingKeys({
  secretsManager,
  environment,
  now,
  timeoutMs = TIMEOUT_MS,
}: Dependencies): SealingKeys {
  const known = new MemoryCache<Asked>(MAX_VERSIONS);
  const flights = new SingleFlight<SealingKey | undefined>();

  return {
    current: (deadline) => find(CURRENT, { VersionStage: CURRENT }, CURRENT_RETRY_MS, deadline),
    named: (version, deadline) => find(version, { VersionId: version }, NAMED_RETRY_MS, deadline),
  };

  async function find(id: string, which: Which, retryMs: number, deadline?: number): Promise<SealingKey | undefined> {
    const asked = known.get(id);
    if (asked?.key !== undefined || isRecent(asked, retryMs)) return asked?.key;
    return flights.run(id, async () => {
      const { key, isFinal } = await read(which, deadline);
      if (isFinal) known.set(id, { key, at: now() });
      if (key !== undefined) known.set(key.version, { key, at: now() });
      return key;
    });
  }

  /** A clock that was set back must not make the wait longer. */
  function isRecent(asked: Asked | undefined, retryMs: number): boolean {
    return asked !== undefined && now() >= asked.at && now() < asked.at + retryMs;
  }

  async function read(which: Which, deadline = Infinity): Promise<Found> {
    const command = new GetSecretValueCommand({ SecretId: sealingKeyName(environment), ...which });
    try {
      const answer = await withTimeLimit(
        timeoutMs,
        (abortSignal, limits) => withSecondTry(limits, () => secretsManager.send(command, { abortSignal })),
        deadline - now(),
      );
      const { VersionId: version, SecretString: text } = answer;
      if (typeof version !== 'string' || typeof text !== 'string' || text.length < MIN_LENGTH) return NO_KEY;
      return { key: { version, material: createSecretKey(text, 'utf8') }, isFinal: true };
    } catch (error) {
      return { key: undefined, isFinal: isRefusal(error) };
    }
  }
}

interface Dependencies {
  readonly secretsManager: SecretsManagerClient;
  readonly environment: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly timeoutMs?: number;
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

const NO_KEY: Found = { key: undefined, isFinal: true };

const CURRENT = 'AWSCURRENT';
const TIMEOUT_MS = 1_000;
const CURRENT_RETRY_MS = 10_000;
const NAMED_RETRY_MS = 60_000;
const MAX_VERSIONS = 100;

/** What Secrets Manager generates is this long at least; anything shorter was put there by mistake. */
const MIN_LENGTH = 32;
