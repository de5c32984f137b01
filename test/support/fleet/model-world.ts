import type { SecretReading } from '../../../functions/broker/credential/secret.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import type { TokenExchange } from '../../../functions/broker/token-request/token-request.ts';
import type { SecretStage } from '../../../functions/contract.ts';
import { exchange, found } from '../broker-world.ts';
import type { VirtualClock } from './clock.ts';
import type { HandOut, ServiceAnswer } from './surroundings.ts';

export const CLIENTS = ['acme', 'globex'] as const;
export const SERVICES = ['customer-insights', 'merchant-payment-cleansing'] as const;

/** The ways in which a token request fails. */
const FAULTS = {
  'connection refused': () => new Problem('token-endpoint-unavailable', 'connection refused'),
  silence: () => new Problem('token-endpoint-timeout', 'no answer in time'),
  '503': () => exchange(503, {}),
  '429 for seconds': () => exchange(429, {}, { 'retry-after': '20' }),
  '429 until a date': (now: number) => exchange(429, {}, { 'retry-after': new Date(now + 90_000).toUTCString() }),
  '429 for an hour': () => exchange(429, {}, { 'retry-after': '3600' }),
  'odd body': () => exchange(200, { greeting: 'hello' }),
  redirect: () => exchange(302, {}, { location: 'https://elsewhere.example.com' }),
  'not found': () => exchange(404, {}),
  'error in a 200': () => exchange(200, { error: 'invalid_client' }),
} satisfies Record<string, (now: number) => TokenExchange | Problem>;

type ServiceFault = keyof typeof FAULTS;
export const SERVICE_FAULTS = Object.keys(FAULTS).filter((name): name is ServiceFault => name in FAULTS);

/** How a service behaves at the moment. */
export interface ServiceMood {
  readonly fault: ServiceFault | undefined;
  readonly latencyMs: number;
  /** 0: its answers tell no life time. */
  readonly lifetimeSeconds: number;
  /** It hands out the same token with a shrinking life time as long as that lives. */
  readonly repeats: boolean;
}

/** The secret of a client: its versions count up, and each has a stage or none. */
interface ClientSecret {
  stages: Partial<Record<SecretStage, string | undefined>>;
  versions: number;
  deletedAt: number | undefined;
}

export const CALM: ServiceMood = { fault: undefined, latencyMs: 100, lifetimeSeconds: 3_600, repeats: false };

/** The clients' secrets and the two services, as they truly are. */
export function createModelWorld(clock: VirtualClock, normal: (service: string) => ServiceMood = () => CALM) {
  const secrets = new Map<string, ClientSecret>();
  const moods = new Map<string, ServiceMood>();
  /** The versions that a service does not accept, with their pairs. */
  const unwelcome = new Set<string>();
  /** Since when the secret of its client leaves the service of a pair out. */
  const unnamedAt = new Map<string, number>();
  const lastHandOuts = new Map<string, HandOut>();
  let tokens = 0;

  const secretOf = (client: string): ClientSecret => {
    const secret = secrets.get(client) ?? { stages: { AWSCURRENT: `${client}-1` }, versions: 1, deletedAt: undefined };
    secrets.set(client, secret);
    return secret;
  };
  const moodOf = (service: string): ServiceMood => moods.get(service) ?? normal(service);

  const world = {
    moodOf,
    versionWith: (client: string, stage: SecretStage) => secretOf(client).stages[stage],

    /** Since when there is no credential for the pair. */
    goneAt(pair: Pair): number | undefined {
      const at = Math.min(secretOf(pair.client).deletedAt ?? Infinity, unnamedAt.get(pairKey(pair)) ?? Infinity);
      return at === Infinity ? undefined : at;
    },

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
      secret.versions += 1;
      const version = `${client}-${secret.versions}`;
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

    setNamed(pair: Pair, isNamed: boolean) {
      if (isNamed) unnamedAt.delete(pairKey(pair));
      else if (!unnamedAt.has(pairKey(pair))) unnamedAt.set(pairKey(pair), clock.now());
    },

    /** The answer of Secrets Manager while it is up. */
    read(client: string, stage: SecretStage): SecretReading {
      const { stages, deletedAt } = secretOf(client);
      if (deletedAt !== undefined) return { outcome: 'deleted' };
      const versionId = stages[stage];
      if (versionId === undefined) return { outcome: 'missing' };
      const services = SERVICES.filter((service) => !unnamedAt.has(pairKey({ client, service })));
      const named = unnamedAt.size > 0 && { services };
      return found(versionId, { client_id: client, secret: `secret of ${versionId}`, ...named }, stage);
    },

    /** The service's answer to a token request. */
    answer(pair: Pair, version: string): ServiceAnswer | Problem {
      const { fault, repeats, lifetimeSeconds } = moodOf(pair.service);
      if (fault !== undefined) return FAULTS[fault](clock.now());
      if (unwelcome.has(`${pairKey(pair)} ${version}`)) {
        // Both ways of saying it.
        return version.endsWith('2') ? exchange(400, { error: 'invalid_client' }) : exchange(401, {});
      }
      const last = lastHandOuts.get(pairKey(pair));
      const isRepeated = repeats && last !== undefined && last.endsAt - clock.now() >= 1_000;
      const handOut = isRepeated ? last : newHandOut(pair, lifetimeSeconds || UNTOLD_SECONDS);
      lastHandOuts.set(pairKey(pair), handOut);
      const seconds = Math.floor((handOut.endsAt - clock.now()) / 1_000);
      const members = { access_token: handOut.text, ...(lifetimeSeconds > 0 && { expires_in: seconds }) };
      return { ...exchange(200, members), handOut, toldMs: (lifetimeSeconds > 0 ? seconds : UNTOLD_SECONDS) * 1_000 };
    },

    /** The seconds that a `retry-after` of these services asks to wait. */
    secondsOf(header: string | undefined, sentAt: number): number {
      if (header === undefined) return 0;
      return /^\d+$/.test(header) ? Number(header) : Math.floor((Date.parse(header) - sentAt) / 1_000);
    },
  };
  return world;

  function newHandOut(pair: Pair, lifetimeSeconds: number): HandOut {
    tokens += 1;
    // As long as its fingerprint. No part of it looks encoded: the search for an echoed credential is half as long.
    const text = `${[...String(tokens).padStart(8, '0')].join('.')}.`;
    return { text, pair, endsAt: clock.now() + lifetimeSeconds * 1_000, tellings: [] };
  }
}

/** How long tokens live whose answers do not tell it: as long as the settings assume. */
const UNTOLD_SECONDS = 300;
