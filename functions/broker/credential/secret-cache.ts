import type { SecretStage } from '../../contract.ts';
import { MemoryCache } from '../lru-cache.ts';
import type { ClientName } from '../pair/pair.ts';
import { SingleFlight } from '../single-flight.ts';
import type { ReadSecret, SecretReading, SecretVersion } from './secret.ts';

interface Dependencies {
  readonly readSecret: ReadSecret;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The secrets of the clients, as this environment read them. */
export interface Credentials {
  /** What was read of this stage as long as it is trusted; asks nobody. */
  known(client: ClientName, stage: SecretStage): CredentialReading | undefined;
  /**
   * The version with this stage: trusted for 300 s when there is one, for 5 s when there is none. While Secrets Manager is
   * down, the last version that it gave serves for 24 h; never when it says missing, deleted or denied.
   */
  read(client: ClientName, stage: SecretStage, bounds: ReadBounds): Promise<CredentialReading>;
}

/** Epoch milliseconds. */
interface ReadBounds {
  /** A reading that is older does not count. */
  readonly readSince: number;
  /** Nobody waits longer. A reading that this cut off says nothing of Secrets Manager, so it is not kept. */
  readonly deadline: number;
}

/** `stale`: Secrets Manager is down, and this is the last version that it gave. */
export type CredentialReading = SecretReading | { readonly outcome: 'stale'; readonly secret: SecretVersion };

export function createCredentials({ readSecret, now }: Dependencies): Credentials {
  const held = new MemoryCache<Held>(MAX_SECRETS);
  const flights = new SingleFlight<{
    readonly reading: SecretReading;
    readonly readAt: number;
    readonly deadline: number;
  }>();

  const trusted = (key: string, readSince: number) => {
    const entry = held.get(key);
    const isTrusted = entry !== undefined && entry.readAt >= readSince && isWithin(entry.readAt, entry.trustMs, now());
    return isTrusted ? entry.reading : undefined;
  };

  return {
    known: (client, stage) => trusted(secretKey(client, stage), -Infinity),

    async read(client, stage, bounds) {
      const key = secretKey(client, stage);
      const known = trusted(key, bounds.readSince);
      if (known !== undefined) return known;

      const { reading, readAt } = await readAfter(bounds, client, stage, key);
      const entry = successor(held.get(key), reading, readAt);
      if (entry === undefined) return reading;
      if (!isCutOff(reading, bounds.deadline)) held.set(key, entry);
      return entry.reading;
    },
  };

  /** Shares a read that is under way, unless it began too early to count, or somebody in a hurry has given it up. */
  async function readAfter(bounds: ReadBounds, client: ClientName, stage: SecretStage, key: string) {
    const { readSince, deadline } = bounds;
    const read = async () => {
      const readAt = now();
      return { reading: await readSecret(client, stage, deadline), readAt, deadline };
    };
    const shared = await flights.run(key, read);
    const isGivenUp = isCutOff(shared.reading, shared.deadline) && shared.deadline < deadline;
    return shared.readAt >= readSince && !isGivenUp ? shared : flights.run(key, read);
  }

  /** There is no reading because the time was over, not because Secrets Manager had failed before. */
  function isCutOff({ outcome }: SecretReading, deadline: number): boolean {
    return outcome === 'unavailable' && now() >= deadline - TIMER_SLACK_MS;
  }
}

interface Held {
  readonly reading: CredentialReading;
  readonly readAt: number;
  /** How long the reading is not asked for again. */
  readonly trustMs: number;
  /** When Secrets Manager last said what there is. */
  readonly toldAt: number;
}

function successor(before: Held | undefined, reading: SecretReading, readAt: number): Held | undefined {
  if (reading.outcome !== 'unavailable') {
    const trustMs = reading.outcome === 'found' ? FOUND_TRUST_MS : NEGATIVE_TRUST_MS;
    return { reading, readAt, trustMs, toldAt: readAt };
  }
  if (before === undefined || !('secret' in before.reading)) return undefined;
  if (!isWithin(before.toldAt, KEPT_WHILE_DOWN_MS, readAt)) return undefined;
  const { secret } = before.reading;
  return { reading: { outcome: 'stale', secret }, readAt, trustMs: STALE_TRUST_MS, toldAt: before.toldAt };
}

/** A clock that was set back makes an age negative: nobody can tell how old the reading is. */
function isWithin(start: number, lengthMs: number, now: number): boolean {
  return now >= start && now - start < lengthMs;
}

function secretKey(client: ClientName, stage: SecretStage): string {
  return `${client}/${stage}`;
}

/** Timers can be a little early. */
const TIMER_SLACK_MS = 5;

const MAX_SECRETS = 1_000;
const FOUND_TRUST_MS = 300_000;
/** Long enough to shield Secrets Manager from a caller in a hurry, short enough for an operator who mends it. */
const NEGATIVE_TRUST_MS = 5_000;
/** While Secrets Manager is down not every call waits for it. */
const STALE_TRUST_MS = 10_000;
const KEPT_WHILE_DOWN_MS = 24 * 60 * 60_000;
