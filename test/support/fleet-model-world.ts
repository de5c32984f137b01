import type { SecretReading } from '../../functions/broker/credential/secret.ts';
import { type Pair, pairKey } from '../../functions/broker/pair/pair.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import type { TokenExchange } from '../../functions/broker/token-request/token-request.ts';
import type { SecretStage } from '../../functions/contract.ts';
import { exchange } from './broker-world.ts';
import type { VirtualClock } from './virtual-clock.ts';

export const CLIENTS = ['acme', 'globex'] as const;
export const SERVICES = ['customer-insights', 'merchant-payment-cleansing'] as const;
export const PAIRS: readonly Pair[] = CLIENTS.flatMap((client) => SERVICES.map((service) => ({ client, service })));

export type ServiceFault =
  | 'connection refused'
  | '503'
  | '429 for seconds'
  | '429 until a date'
  | '429 for an hour'
  | 'silence'
  | 'odd body'
  | 'redirect'
  | 'not found'
  | 'error in a 200';

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
  readonly stages: Partial<Record<SecretStage, string | undefined>>;
  readonly versions: number;
  readonly deletedAt: number | undefined;
}

interface Reply {
  readonly answer: TokenExchange | Problem;
  readonly handOut?: HandOut;
  readonly toldMs: number;
}

/** A token as its service handed it out. */
export interface HandOut {
  readonly text: string;
  readonly pair: Pair;
  readonly version: string;
  /** By the true time. */
  readonly endsAt: number;
}

export const CALM: ServiceMood = { fault: undefined, latencyMs: 100, lifetimeSeconds: 3_600, repeats: false };

/** The clients' secrets and the two services, as they truly are. */
export function createModelWorld(clock: VirtualClock) {
  const secrets = new Map<string, ClientSecret>();
  const moods = new Map<string, ServiceMood>();
  /** The versions that a service does not accept, by pair. */
  const unwelcome = new Map<string, Set<string>>();
  /** Since when the secret of its client leaves the service of a pair out. */
  const unnamedAt = new Map<string, number>();
  const lastHandOuts = new Map<string, HandOut>();
  let tokens = 0;

  for (const client of CLIENTS) {
    secrets.set(client, { stages: { AWSCURRENT: versionName(client, 1) }, versions: 1, deletedAt: undefined });
  }

  const secretOf = (client: string): ClientSecret =>
    secrets.get(client) ?? { stages: {}, versions: 0, deletedAt: undefined };
  const moodOf = (service: string): ServiceMood => moods.get(service) ?? CALM;
  const unwelcomeTo = (pair: Pair): Set<string> => {
    const versions = unwelcome.get(pairKey(pair)) ?? new Set();
    unwelcome.set(pairKey(pair), versions);
    return versions;
  };

  return {
    moodOf,
    versionWith: (client: string, stage: SecretStage) => secretOf(client).stages[stage],
    currentOf: (client: string): string => secretOf(client).stages.AWSCURRENT ?? '',

    /** Since when there is no credential for the pair. */
    goneAt(pair: Pair): number | undefined {
      const times = [secretOf(pair.client).deletedAt, unnamedAt.get(pairKey(pair))];
      const known = times.filter((at) => at !== undefined);
      return known.length === 0 ? undefined : Math.min(...known);
    },

    setMood(service: string, mood: ServiceMood) {
      moods.set(service, mood);
    },

    /** Whether the service takes this version from now on. */
    setAccepted(pair: Pair, version: string, accepts: boolean) {
      if (accepts) unwelcomeTo(pair).delete(version);
      else unwelcomeTo(pair).add(version);
    },

    /** Stores a new version; services know it unless the operator has mistyped it. */
    stage(client: string, stage: 'AWSCURRENT' | 'AWSPENDING', isGood: boolean): string {
      const { stages, versions, ...rest } = secretOf(client);
      const version = versionName(client, versions + 1);
      const previous = stage === 'AWSCURRENT' ? { AWSPREVIOUS: stages.AWSCURRENT } : {};
      secrets.set(client, { ...rest, versions: versions + 1, stages: { ...stages, ...previous, [stage]: version } });
      for (const service of SERVICES) this.setAccepted({ client, service }, version, isGood);
      return version;
    },

    promotePending(client: string) {
      const { stages, ...rest } = secretOf(client);
      const { AWSPENDING, AWSCURRENT } = stages;
      if (AWSPENDING === undefined) return;
      secrets.set(client, { ...rest, stages: { AWSCURRENT: AWSPENDING, AWSPREVIOUS: AWSCURRENT } });
    },

    rollBack(client: string) {
      const { stages, ...rest } = secretOf(client);
      const { AWSCURRENT, AWSPREVIOUS } = stages;
      if (AWSPREVIOUS === undefined) return;
      secrets.set(client, { ...rest, stages: { ...stages, AWSCURRENT: AWSPREVIOUS, AWSPREVIOUS: AWSCURRENT } });
    },

    setDeleted(client: string, isDeleted: boolean) {
      const { deletedAt, ...rest } = secretOf(client);
      secrets.set(client, { ...rest, deletedAt: isDeleted ? (deletedAt ?? clock.now()) : undefined });
    },

    setNamed(pair: Pair, isNamed: boolean) {
      if (isNamed) unnamedAt.delete(pairKey(pair));
      else if (!unnamedAt.has(pairKey(pair))) unnamedAt.set(pairKey(pair), clock.now());
    },

    /** What Secrets Manager says when it can be asked. */
    read(client: string, stage: SecretStage): SecretReading {
      const { stages, deletedAt } = secretOf(client);
      if (deletedAt !== undefined) return { outcome: 'deleted' };
      const versionId = stages[stage];
      if (versionId === undefined) return { outcome: 'missing' };
      const services = SERVICES.filter((service) => !unnamedAt.has(pairKey({ client, service })));
      const text = new Redacted(JSON.stringify({ client_id: client, secret: `secret of ${versionId}`, services }));
      return { outcome: 'found', secret: { versionId, stage, text } };
    },

    /** What the service answers to a token request, the token in it, and how long that is said to live. */
    answer(pair: Pair, version: string): Reply {
      const mood = moodOf(pair.service);
      if (mood.fault !== undefined) return { answer: faultyAnswer(mood.fault, clock.now()), toldMs: 0 };
      if (unwelcomeTo(pair).has(version)) return { answer: rejection(version), toldMs: 0 };

      const last = lastHandOuts.get(pairKey(pair));
      const isRepeated = mood.repeats && last !== undefined && last.endsAt - clock.now() >= 1_000;
      const handOut = isRepeated ? last : newHandOut(pair, version, mood.lifetimeSeconds || UNTOLD_SECONDS);
      lastHandOuts.set(pairKey(pair), handOut);
      const isTold = mood.lifetimeSeconds > 0;
      const seconds = isTold ? Math.floor((handOut.endsAt - clock.now()) / 1_000) : UNTOLD_SECONDS;
      const members = { access_token: handOut.text, ...(isTold && { expires_in: seconds }) };
      return { answer: exchange(200, members), handOut, toldMs: seconds * 1_000 };
    },

    /** The seconds that a `retry-after` of these services asks to wait. */
    secondsOf(header: string | undefined, sentAt: number): number {
      if (header === undefined) return 0;
      return /^\d+$/.test(header) ? Number(header) : Math.floor((Date.parse(header) - sentAt) / 1_000);
    },
  };

  function newHandOut(pair: Pair, version: string, lifetimeSeconds: number): HandOut {
    tokens += 1;
    // Its fingerprint is its beginning.
    const text = `${tokens.toString(36).padStart(4, '0')}.${pairKey(pair)}.${version}`;
    return { text, pair, version, endsAt: clock.now() + lifetimeSeconds * 1_000 };
  }
}

function versionName(client: string, n: number): string {
  return `${client}-${n}`;
}

/** Both ways of saying it. */
function rejection(version: string): TokenExchange {
  return version.endsWith('2') ? exchange(400, { error: 'invalid_client' }) : exchange(401, {});
}

function faultyAnswer(fault: ServiceFault, now: number): TokenExchange | Problem {
  switch (fault) {
    case 'connection refused':
      return new Problem('token-endpoint-unavailable', 'connection refused');
    case 'silence':
      return new Problem('token-endpoint-timeout', 'no answer in time');
    case '503':
      return exchange(503, {});
    case '429 for seconds':
      return exchange(429, {}, { 'retry-after': '20' });
    case '429 until a date':
      return exchange(429, {}, { 'retry-after': new Date(now + 90_000).toUTCString() });
    case '429 for an hour':
      return exchange(429, {}, { 'retry-after': '3600' });
    case 'odd body':
      return exchange(200, { greeting: 'hello' });
    case 'redirect':
      return exchange(302, {}, { location: 'https://elsewhere.example.com' });
    case 'not found':
      return exchange(404, {});
    case 'error in a 200':
      return exchange(200, { error: 'invalid_client' });
  }
}

/** How long tokens live whose answers do not tell it: as long as the settings assume. */
const UNTOLD_SECONDS = 300;
