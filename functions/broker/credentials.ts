import { MemoryCache } from './memory-cache.ts';
import type { ClientName } from './pair.ts';
import {
  type ReadSecret,
  type SecretReading,
  type SecretStage,
  type SecretVersion,
  secretName,
  secretProblem,
} from './secret.ts';
import { SingleFlight } from './single-flight.ts';

interface Dependencies {
  /** Whose secrets: part of their names. */
  readonly environment: string;
  readonly readSecret: ReadSecret;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Gives the secret version that carries a stage, at most 300 s old and not read before `readSince` (epoch ms).
 * While Secrets Manager is down, a known version serves for 24 h; not when it says missing, deleted or denied.
 *
 * @throws Problem `credential-missing`, `credential-malformed` (binary), `secrets-unavailable`
 */
export type ReadCredentialVersion = (
  client: ClientName,
  stage: SecretStage,
  readSince: number,
) => Promise<SecretVersion>;

export function createCredentials({ environment, readSecret, now }: Dependencies): ReadCredentialVersion {
  const known = new MemoryCache<{ readonly secret: SecretVersion; readonly readAt: number }>(MAX_SECRETS);
  const flights = new SingleFlight<{ readonly reading: SecretReading; readonly readAt: number }>();

  return async (client, stage, readSince) => {
    const key = `${client}/${stage}`;
    const held = known.get(key);
    if (held !== undefined && held.readAt >= readSince && now() - held.readAt < TRUST_MS) return held.secret;

    const { reading, readAt } = await readAfter(readSince, client, stage, key);
    if (reading.outcome === 'found') {
      known.set(key, { secret: reading.secret, readAt });
      return reading.secret;
    }
    if (reading.outcome === 'unavailable' && held !== undefined && now() - held.readAt < KEPT_WHILE_DOWN_MS) {
      return held.secret;
    }
    if (reading.outcome !== 'unavailable') known.delete(key);
    throw secretProblem(reading, secretName(environment, client), stage);
  };

  /** Shares a read that is under way, unless it began too early to count. */
  async function readAfter(readSince: number, client: ClientName, stage: SecretStage, key: string) {
    const read = async () => {
      const readAt = now();
      return { reading: await readSecret(client, stage), readAt };
    };
    const shared = await flights.run(key, read);
    return shared.readAt >= readSince ? shared : flights.run(key, read);
  }
}

const MAX_SECRETS = 1_000;
const TRUST_MS = 300_000;
const KEPT_WHILE_DOWN_MS = 24 * 60 * 60_000;
