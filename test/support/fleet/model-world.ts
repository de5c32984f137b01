import type { SecretReading } from '../../../functions/broker/credential/secret.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import type { TokenExchange } from '../../../functions/broker/token-request/token-request.ts';
import type { SecretStage } from '../../../functions/vocabulary.ts';
import { exchange } from '../broker-world.ts';
import type { VirtualClock } from '../virtual-clock.ts';
import { readingOf, type ServiceAnswer } from './surroundings.ts';

export const CLIENTS = ['acme', 'globex'] as const;
export const SERVICES = ['customer-insights', 'merchant-payment-cleansing'] as const;

/** The ways in which a token request fails: one for each outcome, and two lengths of a pause. */
const FAULTS = {
  'connection refused': new Problem('token-endpoint-unavailable', 'connection refused'),
  '429 for seconds': exchange(429, {}, { 'retry-after': '20' }),
  '429 for an hour': exchange(429, {}, { 'retry-after': '3600' }),
  'odd body': exchange(200, { greeting: 'hello' }),
} satisfies Record<string, TokenExchange | Problem>;
type ServiceFault = keyof typeof FAULTS;
export const SERVICE_FAULTS = Object.keys(FAULTS) as ServiceFault[];

/** How a service behaves at the moment. */
export interface ServiceMood {
  readonly fault: ServiceFault | undefined;
  readonly latencyMs: number;
  readonly lifetimeSeconds: number;
}

/** The secret of a client, whose versions have a stage each or none. */
interface ClientSecret {
  stages: Partial<Record<SecretStage, string | undefined>>;
  deletedAt: number | undefined;
}

export const CALM: ServiceMood = { fault: undefined, latencyMs: 100, lifetimeSeconds: 3_600 };

/** The clients' secrets and the two services, as they truly are. */
export function createModelWorld(clock: VirtualClock, normal: (service: string) => ServiceMood = () => CALM) {
  const secrets = new Map<string, ClientSecret>();
  const moods = new Map<string, ServiceMood>();
  /** The versions that a service does not accept, with their pairs. */
  const unwelcome = new Set<string>();
  let versions = 1;
  let tokens = 0;

  const secretOf = (client: string): ClientSecret => {
    const secret = secrets.get(client) ?? { stages: { AWSCURRENT: `${client}-1` }, deletedAt: undefined };
    secrets.set(client, secret);
    return secret;
  };

  const world = {
    moodOf: (service: string): ServiceMood => moods.get(service) ?? normal(service),
    versionWith: (client: string, stage: SecretStage) => secretOf(client).stages[stage],

    /** Since when there is no credential of the client. */
    deletedAt: (client: string) => secretOf(client).deletedAt,

    /** `undefined`: all is well again. */
    setMood(service: string, mood: ServiceMood | undefined) {
      if (mood === undefined) moods.delete(service);
      else moods.set(service, mood);
    },

    /** Whether the service takes this version from now on. */
    setAccepted(pair: Pair, version: string | undefined, accepts: boolean) {
      if (accepts) unwelcome.delete(`${pairKey(pair)} ${version}`);
      else unwelcome.add(`${pairKey(pair)} ${version}`);
    },

    /** Stores a new version; services know it unless the operator has mistyped it. */
    stage(client: string, stage: 'AWSCURRENT' | 'AWSPENDING', isGood: boolean) {
      const secret = secretOf(client);
      const version = `${client}-${++versions}`;
      const previous = stage === 'AWSCURRENT' ? { AWSPREVIOUS: secret.stages.AWSCURRENT } : {};
      secret.stages = { ...secret.stages, ...previous, [stage]: version };
      for (const service of SERVICES) world.setAccepted({ client, service }, version, isGood);
    },

    promotePending(client: string) {
      const secret = secretOf(client);
      const { AWSPENDING, AWSCURRENT } = secret.stages;
      if (AWSPENDING !== undefined) secret.stages = { AWSCURRENT: AWSPENDING, AWSPREVIOUS: AWSCURRENT };
    },

    rollBack(client: string) {
      const secret = secretOf(client);
      const { AWSCURRENT, AWSPREVIOUS, ...rest } = secret.stages;
      if (AWSPREVIOUS !== undefined) secret.stages = { ...rest, AWSCURRENT: AWSPREVIOUS, AWSPREVIOUS: AWSCURRENT };
    },

    setDeleted(client: string, isDeleted: boolean) {
      const secret = secretOf(client);
      secret.deletedAt = isDeleted ? (secret.deletedAt ?? clock.now()) : undefined;
    },

    /** The answer of Secrets Manager while it is up. */
    read(client: string, stage: SecretStage): SecretReading {
      const { stages, deletedAt } = secretOf(client);
      if (deletedAt !== undefined) return { outcome: 'deleted' };
      return readingOf(client, stage, stages[stage]);
    },

    /** The service's answer to a token request. */
    answer(pair: Pair, version: string): ServiceAnswer | Problem {
      const { fault, lifetimeSeconds } = world.moodOf(pair.service);
      if (fault !== undefined) return FAULTS[fault];
      if (unwelcome.has(`${pairKey(pair)} ${version}`)) {
        // Both ways of saying it.
        return version.endsWith('2') ? exchange(400, { error: 'invalid_client' }) : exchange(401, {});
      }
      tokens += 1;
      // As long as its fingerprint. Neither it nor its type looks encoded: the search for an echoed credential is short.
      const token = `${[...String(tokens).padStart(8, '0')].join('.')}.`;
      const members = { access_token: token, token_type: 'MAC', expires_in: lifetimeSeconds };
      return { ...exchange(200, members), token, lifetimeMs: lifetimeSeconds * 1_000 };
    },
  };
  return world;
}
