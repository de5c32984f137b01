import { newTrace, type Trace } from '../../functions/broker/audit.ts';
import type { CheckResult } from '../../functions/broker/check-credential.ts';
import type { ReadSecret } from '../../functions/broker/credential/secret.ts';
import type { CheckRequest, IssueRequest } from '../../functions/broker/http/request.ts';
import type { Issue } from '../../functions/broker/pair/decision.ts';
import type { ServiceName } from '../../functions/broker/pair/pair.ts';
import type { PairStore } from '../../functions/broker/pair/store.ts';
import type { Service } from '../../functions/broker/service.ts';
import type { TokenBroker } from '../../functions/broker/token-broker.ts';
import { ISSUE_REQUEST, SETTINGS_DIGEST, wireBroker } from './broker-world.ts';
import { BILLING, exampleService, START } from './example.ts';
import { createStoreAccess } from './fleet-store.ts';
import { createOutside, createSurroundings, type SeenRequest, type Surroundings } from './fleet-surroundings.ts';
import { createReferencePairStore } from './reference-pair-store.ts';
import { seededRandom } from './seeded-random.ts';
import { VirtualClock } from './virtual-clock.ts';

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

/** What one environment runs. */
interface Release {
  /** How far its clock is from the true time. */
  readonly skewMs?: number;
  /** Of what it seals. */
  readonly format?: number;
  readonly settingsDigest?: string;
}

/** Environments of the real rules around one shared store, one Secrets Manager and one service, on a virtual clock. */
export function createFleet(changes: Partial<Surroundings> & FixedChanges = {}) {
  const { seed = 1, service: serviceChanges, services: ownChanges = {}, ...rest } = changes;
  const service = exampleService(serviceChanges);
  const services = Object.fromEntries(SERVICE_NAMES.map((name) => [name, { ...service, ...ownChanges[name] }]));
  const surroundings = createSurroundings(rest);
  const clock = new VirtualClock(START);
  const shared = createReferencePairStore();
  const requests: SeenRequest[] = [];
  const counts = { secretReads: 0, storeCalls: {} as Record<string, number> };
  const random = seededRandom(seed);
  const outside = createOutside({ surroundings, services, clock, requests });
  const accessStore = createStoreAccess({ shared, clock, latencyMs: () => surroundings.storeLatencyMs });
  /** By the name with which a call signs its leases: the number of its environment. */
  const owners = new Map<string, number>();
  let environments = 0;
  let idle = { at: START, looks: 0 };

  function createEnvironment({ skewMs = 0, format = 1, settingsDigest = SETTINGS_DIGEST }: Release = {}): Environment {
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
    const readSecret: ReadSecret = (client, stage, deadline) => {
      counts.secretReads += 1;
      return outside.readSecret(client, stage, deadline, { number, now, sleep });
    };
    const traces: Trace[] = [];
    const broker = wireBroker({
      services,
      store: accessStore({ format, now, sleep, faultOf }),
      readSecret,
      requestToken: outside.requestToken({ number, now, sleep }),
      uniqueId: () => {
        const owner = `call-${owners.size + 1}`;
        owners.set(owner, number);
        return owner;
      },
      now,
      sleep,
      random,
      settingsDigest: () => settingsDigest,
    });
    return {
      number,
      broker,
      now,
      traces,
      async issue(request = {}, deadlineMs = 14_500) {
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

  /** A loop that never waits would stop the clock, and the test, for good. */
  function noteProgress(): void {
    idle = clock.now() === idle.at ? { at: idle.at, looks: idle.looks + 1 } : { at: clock.now(), looks: 0 };
    if (idle.looks > MAX_LOOKS) throw new Error('the rules go round in circles');
  }

  return { surroundings, clock, shared, requests, counts, service, services, owners, createEnvironment };
}

/** Far more often than 200 environments ask what time it is at one moment. */
const MAX_LOOKS = 100_000;

const SERVICE_NAMES = ['customer-insights', 'merchant-payment-cleansing'] as const;
