import type { SecretStage } from '../../contract.ts';
import { LruCache } from '../lru-cache.ts';
import type { ClientName } from '../pair/pair.ts';
import type { ReadSecret, SecretReading } from './secret.ts';

interface Dependencies {
  readonly readSecret: ReadSecret;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The secrets of the clients, as this environment read them. */
export interface SecretCache {
  /**
   * The version with this stage: trusted for 300 s when there is one, for 5 s when there is none. While Secrets Manager is
   * down, the last version that it gave serves for 24 h; never when it says missing, deleted or denied. A reading from
   * before `readSince` does not count; one that `deadline` cut off says nothing of Secrets Manager and is not kept.
   */
  read(client: ClientName, stage: SecretStage, bounds: { readSince: number; deadline: number }): Promise<SecretReading>;
}

export function createSecretCache({ readSecret, now }: Dependencies): SecretCache {
  const entries = new LruCache<Entry>(MAX_SECRETS, MAX_BYTES, bytesOf);

  return {
    async read(client, stage, { readSince, deadline }) {
      const key = secretKey(client, stage);
      const before = entries.get(key);
      if (before !== undefined && before.readAt >= readSince && isWithin(before.readAt, before.trustMs, now())) {
        return before.reading;
      }
      const readAt = now();
      const reading = await readSecret(client, stage, deadline);
      const entry = successor(before, reading, readAt);
      if (entry === undefined) return reading;
      const isCutOff = reading.outcome === 'unavailable' && now() >= deadline - TIMER_SLACK_MS;
      const isOvertaken = (entries.get(key)?.readAt ?? readAt) > readAt;
      if (!isCutOff && !isOvertaken) entries.set(key, entry);
      return entry.reading;
    },
  };
}

interface Entry {
  readonly reading: SecretReading;
  readonly readAt: number;
  /** How long the reading is not asked for again. */
  readonly trustMs: number;
  /** When Secrets Manager last said what there is. */
  readonly toldAt: number;
}

function successor(before: Entry | undefined, reading: SecretReading, readAt: number): Entry | undefined {
  if (reading.outcome !== 'unavailable') {
    const trustMs = reading.outcome === 'found' ? FOUND_TRUST_MS : NEGATIVE_TRUST_MS;
    return { reading, readAt, trustMs, toldAt: readAt };
  }
  if (before?.reading.outcome !== 'found' || !isWithin(before.toldAt, KEPT_WHILE_DOWN_MS, readAt)) return undefined;
  return { reading: { ...before.reading, isStale: true }, readAt, trustMs: STALE_TRUST_MS, toldAt: before.toldAt };
}

/** Two for each character, because Secrets Manager bounds a secret, at 64 kB, by bytes. */
function bytesOf({ reading }: Entry): number {
  return reading.outcome === 'found' ? 2 * reading.secret.text.reveal().length : 0;
}

/** A clock that was set back makes an age negative: the real age of the reading is unknown. */
function isWithin(start: number, lengthMs: number, now: number): boolean {
  return now >= start && now - start < lengthMs;
}

function secretKey(client: ClientName, stage: SecretStage): string {
  return `${client}/${stage}`;
}

/** Timers can be a little early. */
const TIMER_SLACK_MS = 5;

const MAX_SECRETS = 1_000;
/** A sixteenth of what the function has; 1 000 secrets of 1 kB take 2 MB. */
const MAX_BYTES = 32 * 1_024 * 1_024;
const FOUND_TRUST_MS = 300_000;
/** Long enough to shield Secrets Manager from a caller in a hurry, short enough for an operator who mends it. */
const NEGATIVE_TRUST_MS = 5_000;
/** While Secrets Manager is down not every call waits for it. */
const STALE_TRUST_MS = 10_000;
const KEPT_WHILE_DOWN_MS = 24 * 60 * 60_000;
