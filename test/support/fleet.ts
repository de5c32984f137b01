import { newTrace, type Trace } from '../../functions/broker/audit.ts';
import { createAuthorize } from '../../functions/broker/authorize.ts';
import type { CheckRequest } from '../../functions/broker/check-request.ts';
import type { CheckResult } from '../../functions/broker/checker.ts';
import { createCredentials } from '../../functions/broker/credentials.ts';
import type { IssueRequest } from '../../functions/broker/issue-request.ts';
import type { Pair, ServiceName } from '../../functions/broker/pair.ts';
import type { PairStore } from '../../functions/broker/pair-store.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import { createTokenRenewer } from '../../functions/broker/renewal.ts';
import type { SecretReading, SecretStage } from '../../functions/broker/secret.ts';
import type { Service } from '../../functions/broker/service.ts';
import { createTokenBroker, type Issue, type TokenBroker } from '../../functions/broker/token-broker.ts';
import type { RequestToken, TokenExchange } from '../../functions/broker/token-request.ts';
import { exchange, ISSUE_REQUEST } from './broker-world.ts';
import { BILLING, exampleRule, exampleService, START } from './example.ts';
import { createStoreAccess, type StoreFault } from './fleet-store.ts';
import { createReferencePairStore } from './reference-pair-store.ts';
import { VirtualClock } from './virtual-clock.ts';

/** One token request as its service saw it. */
export interface SeenRequest {
  readonly at: number;
  /** The number of the environment that sent it. */
  readonly from: number;
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
  serviceLatencyMs: number | ((pair: Pair) => number);
  /** Told of every answer that arrives before its request is given up. */
  onHeard: ((request: Omit<SeenRequest, 'outcome'>, answer: TokenExchange) => void) | undefined;
  storeLatencyMs: number;
  secretsLatencyMs: number;
  lifetimeSeconds: number;
  /** Replaces the normal answer to the n-th request (from 1): a whole answer, or a problem that is thrown. */
  answer: ((n: number, request: Omit<SeenRequest, 'outcome'>) => TokenExchange | Problem | undefined) | undefined;
  /** Whether this operation of the store goes wrong, for the environment with this number. */
  storeFault: ((operation: keyof PairStore, from: number) => StoreFault | undefined) | undefined;
  /** Replaces what Secrets Manager says of one client's secret. */
  secret: ((client: string, stage: SecretStage) => SecretReading | undefined) | undefined;
  secretsFault: SecretReading | undefined;
  /** The same for a single stage. */
  secretFaults: Partial<Record<SecretStage, SecretReading>>;
}

export interface Environment {
  /** From 0, in the order of creation. */
  readonly number: number;
  readonly broker: TokenBroker;
  readonly now: () => number;
  issue(request?: Partial<IssueRequest>, deadlineMs?: number): Promise<Issue>;
  check(request?: Partial<CheckRequest>, deadlineMs?: number): Promise<CheckResult>;
  readonly traces: Trace[];
  /** Sets its clock this far from the true time. */
  setClock(skewMs: number): void;
  /** Never answers anything any more: every port that it waits for stays silent. */
  kill(): void;
}

interface FixedChanges {
  /** Of everything random. */
  readonly seed?: number;
  readonly service?: Partial<Service>;
  /** What one of them has of its own. */
  readonly services?: Readonly<Record<ServiceName, Partial<Service>>>;
}

/** Environments of the real rules around one shared store, one Secrets Manager and one service, on a virtual clock. */
export function createFleet(changes: Partial<Surroundings> & FixedChanges = {}) {
  const { seed = 1, service: serviceChanges, services: ownChanges = {}, ...rest } = changes;
  const service = exampleService(serviceChanges);
  const services = Object.fromEntries(SERVICE_NAMES.map((name) => [name, { ...service, ...ownChanges[name] }]));
  const surroundings: Surroundings = {
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
    ...rest,
  };
  const clock = new VirtualClock(START);
  const shared = createReferencePairStore();
  const requests: SeenRequest[] = [];
  const counts = { secretReads: 0, storeCalls: {} as Record<string, number> };
  const random = seededRandom(seed);
  const accessStore = createStoreAccess({ shared, clock, latencyMs: () => surroundings.storeLatencyMs });
  /** By the name with which a call signs its leases: the number of its environment. */
  const owners = new Map<string, number>();
  let environments = 0;
  let idle = { at: START, looks: 0 };

  function createEnvironment({ skewMs = 0 }: { readonly skewMs?: number } = {}): Environment {
    const number = environments++;
    const state = { isDead: false, skewMs };
    const now = () => {
      noteProgress();
      return clock.now() + state.skewMs;
    };
    const alive = async <Result>(result: Result): Promise<Result> => (state.isDead ? new Promise(() => {}) : result);
    const sleep = async (ms: number) => {
      await clock.sleep(ms);
      await alive(undefined);
    };
    const faultOf = (operation: keyof PairStore) => {
      counts.storeCalls[operation] = (counts.storeCalls[operation] ?? 0) + 1;
      return surroundings.storeFault?.(operation, number);
    };
    const traces: Trace[] = [];
    const broker = createTokenBroker({
      environment: 'test',
      services,
      authorize: createAuthorize(
        [exampleRule({ clients: 'all', services: 'all', operations: ['token', 'check'] })],
        new Set(SERVICE_NAMES),
      ),
      store: accessStore({ sleep, faultOf }),
      credentials: createCredentials({ now, readSecret: (client, stage) => readSecret(client, stage, sleep) }),
      renewToken: createTokenRenewer({
        requestToken: serviceRequest(number, now, sleep),
        fingerprint: (token) => token.padEnd(16, '0').slice(0, 16),
        random,
        now,
      }),
      uniqueId: () => {
        const owner = `call-${owners.size + 1}`;
        owners.set(owner, number);
        return owner;
      },
      now,
      sleep,
      random,
      provenForMs: 3_600_000,
    });
    return {
      number,
      broker,
      now,
      traces,
      issue(request = {}, deadlineMs = 14_500) {
        const trace = newTrace();
        traces.push(trace);
        return broker.issue(BILLING, { ...ISSUE_REQUEST, ...request }, now() + deadlineMs, trace);
      },
      check(request = {}, deadlineMs = 14_500) {
        const trace = newTrace();
        traces.push(trace);
        const { pair } = ISSUE_REQUEST;
        return broker.check(BILLING, { pair, stage: 'AWSCURRENT', ...request }, now() + deadlineMs, trace);
      },
      setClock(skewMs) {
        state.skewMs = skewMs;
      },
      kill() {
        state.isDead = true;
      },
    };
  }

  async function readSecret(client: string, stage: SecretStage, sleep: (ms: number) => Promise<void>) {
    counts.secretReads += 1;
    await sleep(surroundings.secretsLatencyMs);
    const fault = surroundings.secret?.(client, stage) ?? surroundings.secretFaults[stage] ?? surroundings.secretsFault;
    if (fault !== undefined) return fault;
    const versionId = surroundings.stages[stage];
    if (versionId === undefined) return { outcome: 'missing' } satisfies SecretReading;
    // The secret names its version, so that the service can tell which one it was sent.
    const text = new Redacted(JSON.stringify({ client_id: client, secret: versionId }));
    return { outcome: 'found', secret: { versionId, stage, text } } satisfies SecretReading;
  }

  /** A loop that never waits would stop the clock, and the test, for good. */
  function noteProgress(): void {
    idle = clock.now() === idle.at ? { at: idle.at, looks: idle.looks + 1 } : { at: clock.now(), looks: 0 };
    if (idle.looks > MAX_LOOKS) throw new Error('the rules go round in circles');
  }

  function serviceRequest(from: number, now: () => number, sleep: (ms: number) => Promise<void>): RequestToken {
    return async (asked, credential, deadline) => {
      const version = credential.secret.reveal();
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
  }

  function nameOf(service: Service): ServiceName {
    return SERVICE_NAMES.find((name) => services[name] === service) ?? 'unknown';
  }

  function normalAnswer(version: string, n: number): TokenExchange {
    if (!surroundings.accepted.has(version)) return exchange(401, { error: 'invalid_client' });
    return exchange(200, { access_token: `token-${n}`, expires_in: surroundings.lifetimeSeconds });
  }

  return { surroundings, clock, shared, requests, counts, service, services, owners, createEnvironment };
}

/** Far more often than 200 environments ask what time it is at one moment. */
const MAX_LOOKS = 100_000;

const SERVICE_NAMES = ['customer-insights', 'merchant-payment-cleansing'] as const;

/** A small linear congruential generator: the same numbers in every run. From 0 to below 1. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
