import type { ReadSecret, SecretReading } from '../../../functions/broker/credential/secret.ts';
import type { PairRecord } from '../../../functions/broker/pair/record.ts';
import type { PairStore } from '../../../functions/broker/pair/store.ts';
import type { Pair, ServiceName } from '../../../functions/broker/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import type { Service } from '../../../functions/broker/service.ts';
import type { RequestToken, TokenExchange } from '../../../functions/broker/token-request/token-request.ts';
import type { SecretStage } from '../../../functions/vocabulary.ts';
import { exchange, found, SECRETS_DOWN } from '../broker-world.ts';
import { createReferencePairStore } from '../pair/reference-pair-store.ts';
import type { VirtualClock } from '../virtual-clock.ts';

/**
 * A fault of one call to the shared store. `busy`: the call is throttled. `unavailable`: an error at once, without effect.
 * `refused`: the role lacks the right. `hanging`: no answer within the time limit, without effect. `late`: the same, and the
 * effect comes two seconds later. `answer-lost`: it takes effect, and an error comes back. `repeated`: it takes effect twice.
 * `no-key`: the instance has no sealing key. `delay`: more than a lease passes before the effect. `freeze`: more than a lease
 * passes after it. `crash`: the instance ends before the effect.
 */
export type StoreFault = SingleFault | 'answer-lost-then-busy' | `busy-then-${'hanging' | 'late' | 'answer-lost'}`;

type SingleFault =
  | ('busy' | 'unavailable' | 'refused' | 'hanging' | 'late' | 'answer-lost' | 'repeated' | 'no-key')
  | ('delay' | 'freeze' | 'crash');

/** The faults of the attempts of one call. */
export function faultsOf(fault: StoreFault | undefined) {
  return (fault?.split('-then-') ?? []) as readonly SingleFault[];
}

/** One instance on its way to the world outside. */
export interface Asker {
  readonly number: number;
  /** The sealed format of its release; instances with another one cannot open its tokens. */
  readonly state: { readonly format: number };
  readonly now: () => number;
  /** Ends with its instance. */
  readonly sleep: (ms: number) => Promise<void>;
}

export interface SentRequest {
  readonly at: number;
  /** The number of the instance that sent it. */
  readonly from: number;
  readonly pair: Pair;
  readonly version: string;
  /** How long the service takes for it. */
  readonly latencyMs: number;
}

/** An answer of a service, and the token in it. */
export interface ServiceAnswer extends TokenExchange {
  readonly token?: string;
  readonly lifetimeMs?: number;
}

/** The behaviour of the world outside the broker; tests change it while the fleet runs. */
export interface Surroundings {
  /** The secret's versions by stage; a missing one does not exist. */
  stages: Partial<Record<SecretStage, string>>;
  /** The versions that the service accepts. */
  accepted: Set<string>;
  serviceLatencyMs: number | ((pair: Pair) => number);
  /** Told of every token request when it is sent. */
  onRequest?: (request: SentRequest) => void;
  /** Told of every answer that arrives before its request is given up. */
  onHeard?: (request: SentRequest, answer: ServiceAnswer) => void;
  storeLatencyMs: number | (() => number);
  secretsLatencyMs: number | (() => number);
  /** The table is shared; `false`: each instance has one in its own memory. */
  isShared: boolean;
  /** Told of every write that reaches the shared table; `isWritten`: no other write came first. */
  onWrite?: (write: Write) => void;
  /** Called for each call of the store that failed, a throttled call too. */
  onStoreFailure?: (from: number) => void;
  /** The size of an item with a token, which decides what its calls cost. */
  tokenKb: number;
  lifetimeSeconds: number;
  /** Replaces the normal answer to the n-th request (from 1): a whole answer, or why there is none. */
  answer?: ((n: number, request: SentRequest) => ServiceAnswer | Problem | undefined) | undefined;
  /** Whether this operation of the store goes wrong, for the instance with this number. */
  storeFault?: ((operation: keyof PairStore, from: number) => StoreFault | undefined) | undefined;
  /** Replaces Secrets Manager's answer for one client's secret. */
  secret?: ((client: string, stage: SecretStage) => SecretReading | undefined) | undefined;
}

export const NORMAL: Surroundings = {
  stages: { AWSCURRENT: 'v1' },
  accepted: new Set(['v1', 'v2', 'v3']),
  serviceLatencyMs: 100,
  storeLatencyMs: 5,
  secretsLatencyMs: 20,
  isShared: true,
  tokenKb: 2,
  lifetimeSeconds: 3_600,
};

export interface Write {
  readonly from: number;
  readonly pair: Pair;
  readonly before: PairRecord;
  readonly next: PairRecord;
  readonly isWritten: boolean;
}

/** The shared store, Secrets Manager and the services as each instance reaches them. */
export function createOutside(surroundings: Surroundings, services: Record<ServiceName, Service>, clock: VirtualClock) {
  const shared = createReferencePairStore();
  const requests: (SentRequest & { readonly outcome: 'token' | 'rejected' | 'failed' })[] = [];
  const counts = { secretReads: 0, storeCalls: {} as Record<string, number> };

  return {
    shared,
    /** Every token request ends up here. */
    requests,
    counts,

    readSecretFor({ now, sleep }: Asker): ReadSecret {
      return async (client, stage, deadline = Infinity) => {
        counts.secretReads += 1;
        const latencyMs = drawn(surroundings.secretsLatencyMs);
        const leftMs = Math.max(0, deadline - now());
        if (latencyMs > 0) await sleep(Math.min(latencyMs, leftMs));
        if (latencyMs > leftMs) return SECRETS_DOWN;
        return surroundings.secret?.(client, stage) ?? readingOf(client, stage, surroundings.stages[stage]);
      };
    },

    requestTokenFor({ number: from, now, sleep }: Asker): RequestToken {
      return async (asked, credential, deadline) => {
        const version = credential.secret.reveal();
        const service = Object.keys(services).find((name) => services[name] === asked) ?? 'unknown';
        const pair = { client: credential.clientId.reveal(), service };
        const requestStartedAt = now();
        const end = Math.min(deadline, requestStartedAt + asked.requestTimeoutMs);
        const n = requests.length + 1;
        const latencyMs = drawn(surroundings.serviceLatencyMs, pair);
        const request = { at: clock.now(), from, pair, version, latencyMs };
        surroundings.onRequest?.(request);
        const answer = surroundings.answer?.(n, request) ?? normalAnswer(version, n);
        const isRejected = !(answer instanceof Problem) && answer.response.status === 401;
        requests.push({
          ...request,
          outcome: answer instanceof Problem ? 'failed' : isRejected ? 'rejected' : 'token',
        });

        await sleep(Math.min(latencyMs, Math.max(0, end - now())));
        if (now() >= end) {
          return { problem: new Problem('token-endpoint-timeout', 'no answer in time'), isUnheard: true };
        }
        if (answer instanceof Problem) return { problem: answer, isUnheard: false };
        surroundings.onHeard?.(request, answer);
        return { ...answer, requestStartedAt, receivedAt: now() };
      };
    },
  };

  function normalAnswer(version: string, n: number): TokenExchange {
    if (!surroundings.accepted.has(version)) return exchange(401, { error: 'invalid_client' });
    return exchange(200, { access_token: `token-${n}`, expires_in: surroundings.lifetimeSeconds });
  }
}

/** The secret names its version, so that the service can tell which one it was sent. */
export function readingOf(client: string, stage: SecretStage, versionId: string | undefined): SecretReading {
  if (versionId === undefined) return { outcome: 'missing' };
  return found(versionId, { client_id: client, secret: versionId }, stage);
}

/** A latency: fixed, or drawn for each call. */
export function drawn<Facts extends unknown[]>(ms: number | ((...facts: Facts) => number), ...facts: Facts): number {
  return typeof ms === 'number' ? ms : ms(...facts);
}
