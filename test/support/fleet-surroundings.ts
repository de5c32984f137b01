import type { SecretReading } from '../../functions/broker/credential/secret.ts';
import type { Pair, ServiceName } from '../../functions/broker/pair/pair.ts';
import type { PairStore } from '../../functions/broker/pair/store.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import type { Service } from '../../functions/broker/service.ts';
import type { RequestToken, TokenExchange } from '../../functions/broker/token-request/token-request.ts';
import type { SecretStage } from '../../functions/contract.ts';
import { exchange } from './broker-world.ts';
import type { StoreFault } from './fleet-store.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** One token request as its service saw it. */
export interface SeenRequest extends SentRequest {
  readonly outcome: 'token' | 'rejected' | 'failed';
}

export interface SentRequest {
  readonly at: number;
  /** The number of the environment that sent it. */
  readonly from: number;
  readonly pair: Pair;
  readonly version: string;
}

/** What every part of the world outside the broker does; tests change it while the fleet runs. */
export interface Surroundings {
  /** The secret's versions by stage; a missing one does not exist. */
  stages: Partial<Record<SecretStage, string>>;
  /** The versions that the service accepts. */
  accepted: Set<string>;
  serviceLatencyMs: number | ((pair: Pair) => number);
  /** Told of every answer that arrives before its request is given up. */
  onHeard: ((request: SentRequest, answer: TokenExchange) => void) | undefined;
  storeLatencyMs: number;
  secretsLatencyMs: number;
  lifetimeSeconds: number;
  /** Replaces the normal answer to the n-th request (from 1): a whole answer, or a problem that is thrown. */
  answer: ((n: number, request: SentRequest) => TokenExchange | Problem | undefined) | undefined;
  /** Whether this operation of the store goes wrong, for the environment with this number. */
  storeFault: ((operation: keyof PairStore, from: number) => StoreFault | undefined) | undefined;
  /** Replaces what Secrets Manager says of one client's secret. */
  secret: ((client: string, stage: SecretStage) => SecretReading | undefined) | undefined;
  secretsFault: SecretReading | undefined;
  /** The same for a single stage. */
  secretFaults: Partial<Record<SecretStage, SecretReading>>;
}

export function createSurroundings(changes: Partial<Surroundings>): Surroundings {
  return {
    stages: { AWSCURRENT: 'v1' },
    accepted: new Set(['v1', 'v2', 'v3']),
    serviceLatencyMs: 100,
    storeLatencyMs: 5,
    secretsLatencyMs: 20,
    lifetimeSeconds: 3_600,
    answer: undefined,
    onHeard: undefined,
    storeFault: undefined,
    secret: undefined,
    secretsFault: undefined,
    secretFaults: {},
    ...changes,
  };
}

interface Dependencies {
  readonly surroundings: Surroundings;
  readonly services: Readonly<Record<ServiceName, Service>>;
  readonly clock: VirtualClock;
  /** Every token request ends up here. */
  readonly requests: SeenRequest[];
}

/** One environment on its way to the world outside. */
interface Asker {
  readonly number: number;
  readonly now: () => number;
  /** Ends with its environment. */
  readonly sleep: (ms: number) => Promise<void>;
}

/** Secrets Manager and the services as one environment reaches them. */
export function createOutside({ surroundings, services, clock, requests }: Dependencies) {
  return {
    async readSecret(
      client: string,
      stage: SecretStage,
      deadline: number | undefined,
      { now, sleep }: Asker,
    ): Promise<SecretReading> {
      const { secretsLatencyMs } = surroundings;
      const leftMs = deadline === undefined ? Infinity : Math.max(0, deadline - now());
      await sleep(Math.min(secretsLatencyMs, leftMs));
      if (secretsLatencyMs > leftMs) return { outcome: 'unavailable', cause: 'TimeoutError' };
      const { secret, secretFaults, secretsFault, stages } = surroundings;
      const told = secret?.(client, stage) ?? secretFaults[stage] ?? secretsFault;
      if (told !== undefined) return told;
      const versionId = stages[stage];
      if (versionId === undefined) return { outcome: 'missing' };
      // The secret names its version, so that the service can tell which one it was sent.
      const text = new Redacted(JSON.stringify({ client_id: client, secret: versionId }));
      return { outcome: 'found', secret: { versionId, stage, text } };
    },

    requestToken({ number: from, now, sleep }: Asker): RequestToken {
      return async (asked, credential, deadline) => {
        const version = credential.secret.reveal().replace(/^secret of /, '');
        const pair = { client: credential.clientId.reveal(), service: nameOf(asked) };
        const requestStartedAt = now();
        const end = Math.min(deadline, requestStartedAt + asked.requestTimeoutMs);
        const n = requests.length + 1;
        const request = { at: clock.now(), from, pair, version };
        const answer = surroundings.answer?.(n, request) ?? normalAnswer(version, n);
        const isRejected = !(answer instanceof Problem) && answer.response.status === 401;
        const outcome = answer instanceof Problem ? 'failed' : isRejected ? 'rejected' : 'token';
        requests.push({ ...request, outcome });

        const { serviceLatencyMs } = surroundings;
        const latencyMs = typeof serviceLatencyMs === 'number' ? serviceLatencyMs : serviceLatencyMs(pair);
        await sleep(Math.min(latencyMs, Math.max(0, end - now())));
        if (now() >= end) throw new Problem('token-endpoint-timeout', 'no answer in time');
        if (answer instanceof Problem) throw answer;
        surroundings.onHeard?.(request, answer);
        return { ...answer, requestStartedAt, receivedAt: now() };
      };
    },
  };

  function nameOf(service: Service): ServiceName {
    return Object.keys(services).find((name) => services[name] === service) ?? 'unknown';
  }

  function normalAnswer(version: string, n: number): TokenExchange {
    if (!surroundings.accepted.has(version)) return exchange(401, { error: 'invalid_client' });
    return exchange(200, { access_token: `token-${n}`, expires_in: surroundings.lifetimeSeconds });
  }
}
