import type { Obtain } from './callers.ts';
import type { SecretStore } from './secret-store.ts';
import type { TokenServices } from './token-services.ts';
import { MINUTE_MS, SECOND_MS, type World } from './world.ts';

interface Surroundings {
  readonly secretStore: SecretStore;
  readonly tokenServices: TokenServices;
}

/** Callers that read the secret when they start, ask the service themselves, and keep their token to themselves. */
export function createDirectWay({ clock, tally }: World, { secretStore, tokenServices }: Surroundings): Obtain {
  return async (process) => {
    const { pair } = process;
    if (process.version === undefined) {
      const reading = await secretStore.read(clock, pair.client, 'AWSCURRENT');
      if (reading.outcome !== 'found') return { kind: 'problem', retryAfterMs: RETRY_AFTER_MS };
      process.version = reading.secret.versionId;
    }

    const requestedAt = clock.now();
    tally.tokenRequests += 1;
    const answer = await tokenServices.ask(clock, { pair, version: process.version }, PATIENCE_MS);
    if (answer.kind === 'token') return { kind: 'token', endsAt: requestedAt + answer.lifetimeSeconds * SECOND_MS };
    if (answer.kind !== 'rejected') return { kind: 'problem', retryAfterMs: RETRY_AFTER_MS };
    process.version = undefined;
    return { kind: 'problem', retryAfterMs: MINUTE_MS };
  };
}

/** Patient callers: they are not told how long to wait. */
const RETRY_AFTER_MS = 5 * SECOND_MS;

/** As long as the broker's own. */
const PATIENCE_MS = 3_000;
