import type { SecretReading } from '../../functions/broker/credential/secret.ts';
import type { ClientName } from '../../functions/broker/pair.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import type { SecretStage } from '../../functions/contract.ts';
import type { Reachable } from './event-clock.ts';
import type { World } from './world.ts';

export type SecretStore = ReturnType<typeof createSecretStore>;

/** Secrets Manager with every client's secret in it. */
export function createSecretStore({ tally, random, scale }: World) {
  const { chance, logNormal } = random('secret store');
  const secrets = new Map<ClientName, StagedVersions>();
  const faultShare = scale.calm ? 0 : FAULT_SHARE;
  const stagedVersions = (client: ClientName) => secrets.get(client) ?? FIRST_VERSION;

  return {
    promote(client: ClientName, version: string) {
      secrets.set(client, { AWSCURRENT: version, AWSPREVIOUS: stagedVersions(client).AWSCURRENT });
    },

    read(reader: Reachable, client: ClientName, stage: SecretStage): Promise<SecretReading> {
      tally.secretReads += 1;
      const isFault = chance(faultShare);
      const latencyMs = isFault ? TIMEOUT_MS : logNormal(LATENCY_MS, LATENCY_SPREAD);
      return new Promise((resolve) => {
        reader.after(latencyMs, () =>
          resolve(isFault ? DOWN : readingOf(client, stagedVersions(client)[stage], stage)),
        );
      });
    },
  };
}

type StagedVersions = { readonly AWSCURRENT: string } & { readonly [Stage in SecretStage]?: string };

const FIRST_VERSION: StagedVersions = { AWSCURRENT: 'v1' };

/** The secret names its version, so that the service can tell which one it was sent. */
function readingOf(client: ClientName, versionId: string | undefined, stage: SecretStage): SecretReading {
  if (versionId === undefined) return { outcome: 'missing' };
  const text = new Redacted(JSON.stringify({ client_id: client, secret: versionId, services: 'all' }));
  return { outcome: 'found', secret: { versionId, stage, text } };
}

const DOWN: SecretReading = { outcome: 'unavailable', cause: 'TimeoutError' };

const LATENCY_MS = 15;
const LATENCY_SPREAD = 0.5;
const FAULT_SHARE = 1e-4;
/** How long the adapter waits. */
const TIMEOUT_MS = 1_000;
