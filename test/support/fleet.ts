import { newTrace, type Trace } from '../../functions/broker/audit.ts';
import { createAuthorize } from '../../functions/broker/authorize.ts';
import { createCredentials } from '../../functions/broker/credentials.ts';
import type { IssueRequest } from '../../functions/broker/issue-request.ts';
import type { Pair } from '../../functions/broker/pair.ts';
import type { PairStore } from '../../functions/broker/pair-store.ts';
import { StoreUnavailable } from '../../functions/broker/pair-store.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import { createTokenRenewer } from '../../functions/broker/renewal.ts';
import type { SecretReading, SecretStage } from '../../functions/broker/secret.ts';
import type { Service } from '../../functions/broker/service.ts';
import { createTokenBroker, type Issue, type TokenBroker } from '../../functions/broker/token-broker.ts';
import type { RequestToken, TokenExchange } from '../../functions/broker/token-request.ts';
import { exchange, ISSUE_REQUEST } from './broker-world.ts';
import { BILLING, exampleRule, exampleService, START } from './example.ts';
import { createReferencePairStore } from './reference-pair-store.ts';
import { VirtualClock } from './virtual-clock.ts';

/** One token request as its service saw it. */
export interface SeenRequest {
  readonly at: number;
  readonly pair: Pair;
  readonly version: string;
  readonly outcome: 'token' | 'rejected' | 'failed';
}

/** What every part of the world outside the broker does; tests change it while the fleet runs. */
export interface Surroundings {
  /** The secret's versions by stage; a missing one does not exist. */
  stages: Partial<Record<SecretStage, string>>;
  /** The versions that the service accepts. */
  accepted: Set<string>;
  serviceLatencyMs: number;
  storeLatencyMs: number;
  secretsLatencyMs: number;
  lifetimeSeconds: number;
  /** Replaces the normal answer to the n-th request (from 1): a whole answer, or a problem that is thrown. */
  answer: ((n: number) => TokenExchange | Problem | undefined) | undefined;
  /** Whether this operation of the store fails, and whether it has its effect all the same. */
  storeFault: ((operation: keyof PairStore) => 'unavailable' | 'answer-lost' | undefined) | undefined;
  secretsFault: SecretReading | undefined;
  /** The same for a single stage. */
  secretFaults: Partial<Record<SecretStage, SecretReading>>;
}

export interface Environment {
  readonly broker: TokenBroker;
  readonly now: () => number;
  issue(request?: Partial<IssueRequest>, deadlineMs?: number): Promise<Issue>;
  readonly traces: Trace[];
  /** Never answers anything any more: every port that it waits for stays silent. */
  kill(): void;
}

/** Environments of the real rules around one shared store, one Secrets Manager and one service, on a virtual clock. */
export function createFleet(changes: Partial<Surroundings> & { readonly service?: Partial<Service> } = {}) {
  const { service: serviceChanges, ...rest } = changes;
  const service = exampleService(serviceChanges);
  const surroundings: Surroundings = {
    stages: { AWSCURRENT: 'v1' },
    accepted: new Set(['v1', 'v2', 'v3']),
    serviceLatencyMs: 100,
    storeLatencyMs: 5,
    secretsLatencyMs: 20,
    lifetimeSeconds: 3_600,
    answer: undefined,
    storeFault: undefined,
    secretsFault: undefined,
    secretFaults: {},
    ...rest,
  };
  const clock = new VirtualClock(START);
  const shared = createReferencePairStore();
  const requests: SeenRequest[] = [];
  const counts = { secretReads: 0, storeCalls: {} as Record<string, number> };
  const random = seededRandom(1);
  let calls = 0;

  function createEnvironment({ skewMs = 0 }: { readonly skewMs?: number } = {}): Environment {
    const state = { isDead: false };
    const now = () => clock.now() + skewMs;
    const alive = async <Result>(result: Result): Promise<Result> => (state.isDead ? new Promise(() => {}) : result);
    const sleep = async (ms: number) => {
      await clock.sleep(ms);
      await alive(undefined);
    };
    const traces: Trace[] = [];
    const broker = createTokenBroker({
      environment: 'test',
      services: { 'customer-insights': service, 'merchant-payment-cleansing': service },
      authorize: createAuthorize(
        [exampleRule({ clients: 'all', services: 'all' })],
        new Set(['customer-insights', 'merchant-payment-cleansing']),
      ),
      store: remoteStore(sleep),
      credentials: createCredentials({ now, readSecret: (client, stage) => readSecret(client, stage, sleep) }),
      renewToken: createTokenRenewer({
        requestToken: serviceRequest(now, sleep),
        fingerprint: (token) => token.padEnd(16, '0').slice(0, 16),
        random,
        now,
      }),
      uniqueId: () => `call-${++calls}`,
      now,
      sleep,
      random,
    });
    return {
      broker,
      now,
      traces,
      issue(request = {}, deadlineMs = 14_500) {
        const trace = newTrace();
        traces.push(trace);
        return broker.issue(BILLING, { ...ISSUE_REQUEST, ...request }, now() + deadlineMs, trace);
      },
      kill() {
        state.isDead = true;
      },
    };
  }

  function remoteStore(sleep: (ms: number) => Promise<void>): PairStore {
    const remote =
      <Arguments extends unknown[], Result>(name: keyof PairStore, call: (...args: Arguments) => Promise<Result>) =>
      async (...args: Arguments): Promise<Result> => {
        counts.storeCalls[name] = (counts.storeCalls[name] ?? 0) + 1;
        const fault = surroundings.storeFault?.(name);
        await sleep(surroundings.storeLatencyMs / 2);
        if (fault === 'unavailable') throw new StoreUnavailable('down');
        const result = await call(...args);
        await sleep(surroundings.storeLatencyMs / 2);
        if (fault === 'answer-lost') throw new StoreUnavailable('answer lost');
        return result;
      };
    return {
      read: remote('read', shared.read),
      acquire: remote('acquire', shared.acquire),
      publish: remote('publish', shared.publish),
      pause: remote('pause', shared.pause),
      reject: remote('reject', shared.reject),
      release: remote('release', shared.release),
    };
  }

  async function readSecret(client: string, stage: SecretStage, sleep: (ms: number) => Promise<void>) {
    counts.secretReads += 1;
    await sleep(surroundings.secretsLatencyMs);
    const fault = surroundings.secretFaults[stage] ?? surroundings.secretsFault;
    if (fault !== undefined) return fault;
    const versionId = surroundings.stages[stage];
    if (versionId === undefined) return { outcome: 'missing' } satisfies SecretReading;
    // The secret names its version, so that the service can tell which one it was sent.
    const text = new Redacted(JSON.stringify({ client_id: client, secret: versionId }));
    return { outcome: 'found', secret: { versionId, stage, text } } satisfies SecretReading;
  }

  function serviceRequest(now: () => number, sleep: (ms: number) => Promise<void>): RequestToken {
    return async (_service, credential, deadline) => {
      const version = credential.secret.reveal();
      const pair = { client: credential.clientId.reveal(), service: 'customer-insights' };
      const requestStartedAt = now();
      const n = requests.length + 1;
      const answer = surroundings.answer?.(n) ?? normalAnswer(version, n);
      const isRejected = !(answer instanceof Problem) && answer.response.status === 401;
      const outcome = answer instanceof Problem ? 'failed' : isRejected ? 'rejected' : 'token';
      requests.push({ at: clock.now(), pair, version, outcome });

      await sleep(Math.min(surroundings.serviceLatencyMs, Math.max(0, deadline - now())));
      if (now() >= deadline) throw new Problem('token-endpoint-timeout', 'no answer in time');
      if (answer instanceof Problem) throw answer;
      return { ...answer, requestStartedAt, receivedAt: now() };
    };
  }

  function normalAnswer(version: string, n: number): TokenExchange {
    if (!surroundings.accepted.has(version)) return exchange(401, { error: 'invalid_client' });
    return exchange(200, { access_token: `token-${n}`, expires_in: surroundings.lifetimeSeconds });
  }

  return { surroundings, clock, shared, requests, counts, service, createEnvironment };
}

/** A small linear congruential generator: the same numbers in every run. From 0 to below 1. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
