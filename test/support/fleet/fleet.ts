import { newTrace, type Trace } from '../../../functions/broker/audit.ts';
import type { CheckRequest } from '../../../functions/broker/check-credential.ts';
import type { Issue, IssueRequest } from '../../../functions/broker/pair/decision.ts';
import type { PairRecord } from '../../../functions/broker/pair/record.ts';
import type { ServiceName } from '../../../functions/broker/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import type { Service } from '../../../functions/broker/service.ts';
import { ISSUE_REQUEST, wireBroker } from '../broker-world.ts';
import { BILLING, exampleService, START } from '../example.ts';
import { seededRandom } from '../seeded-random.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { createRemoteStore } from './remote-store.ts';
import { createOutside, NORMAL, type Surroundings } from './surroundings.ts';

export type Instance = ReturnType<ReturnType<typeof createFleet>['createInstance']>;

interface FixedChanges {
  /** Of everything random. */
  readonly seed?: number;
  /** In place of the seeded numbers. */
  readonly random?: () => number;
  /** What the table has of the pair `PAIR` at the start. */
  readonly record?: Partial<PairRecord>;
  /** Settings of a service that differ from the defaults. */
  readonly services?: Readonly<Record<ServiceName, Partial<Service>>>;
  readonly clock?: VirtualClock;
}

/** Instances of the real rules around one shared store, one Secrets Manager and one service, on a virtual clock. */
export function createFleet(changes: Partial<Surroundings> & FixedChanges = {}) {
  const { seed = 1, random = seededRandom(seed), record, services: ownChanges = {}, ...others } = changes;
  const { clock = new VirtualClock(START), ...rest } = others;
  const services = Object.fromEntries(SERVICE_NAMES.map((name) => [name, exampleService(ownChanges[name])]));
  const surroundings: Surroundings = { ...NORMAL, ...rest };
  const outside = createOutside(surroundings, services, clock);
  const storeFor = createRemoteStore({ ...outside, surroundings, clock });
  if (record) outside.shared.change(ISSUE_REQUEST.pair, (empty) => ({ ...empty, ...record }));
  /** By the name with which a call signs its leases: the number of its instance. */
  const owners = new Map<string, number>();
  let instances = 0;

  function createInstance({ skewMs = 0, format = 1 } = {}) {
    const number = instances++;
    const state = { isDead: false, isFrozen: false, skewMs, format };
    const waiting: (() => void)[] = [];
    const now = () => clock.now() + state.skewMs;
    const sleep = (ms: number) =>
      new Promise<void>((wake) =>
        clock.after(ms, () => {
          if (state.isFrozen) waiting.push(wake);
          else if (!state.isDead) wake();
        }),
      );
    const asker = { number, state, now, sleep };
    const traces: Trace[] = [];
    const traced = (patienceMs = PATIENCE_MS) => {
      const trace = newTrace();
      traces.push(trace);
      return [now() + patienceMs, trace] as const;
    };
    const broker = wireBroker({
      services,
      store: storeFor(asker),
      readSecret: outside.readSecretFor(asker),
      requestToken: outside.requestTokenFor(asker),
      uniqueId: () => {
        const owner = `call-${owners.size + 1}`;
        owners.set(owner, number);
        return owner;
      },
      now,
      sleep,
      random,
    });
    return {
      /** From 0, in the order of creation. */
      number,
      broker,
      now,
      traces,
      issue: async (request: Partial<IssueRequest> = {}, patienceMs?: number) =>
        broker.issue(BILLING, { ...ISSUE_REQUEST, ...request }, ...traced(patienceMs)),
      check: (request: Partial<CheckRequest> = {}) =>
        broker.check(BILLING, { pair: ISSUE_REQUEST.pair, stage: 'AWSCURRENT', ...request }, ...traced()),
      /** Tests change how far its clock is from the true time, and the sealed format that it writes, and opens alone. */
      state: state as Pick<typeof state, 'skewMs' | 'format'>,
      /** As Lambda does between calls: all that comes to it waits for the thaw. */
      setFrozen(isFrozen: boolean) {
        state.isFrozen = isFrozen;
        if (!isFrozen) for (const wake of waiting.splice(0)) wake();
      },
      /** Never answers anything any more: every port that it waits for stays silent. */
      kill() {
        state.isDead = true;
      },
    };
  }

  return { ...outside, surroundings, clock, services, owners, createInstance };
}

/** A fleet with this many instances, and the questions that its tests ask. */
export function fleetOf(count: number, changes: Parameters<typeof createFleet>[0] = {}) {
  const fleet = createFleet(changes);
  const { clock, counts } = fleet;
  const instances = Array.from({ length: count }, () => fleet.createInstance());
  return {
    ...fleet,
    instances,
    /** The shared record as it is. */
    recordNow: () => fleet.shared.peek(ISSUE_REQUEST.pair),
    /** Asks all instances at once. */
    askAll: (request?: Partial<IssueRequest>): Promise<Answer[]> =>
      clock.run(Promise.all(instances.map((instance) => ask(instance, request)))),
    /** Asks the first instance, as a caller with this much time. */
    askOne: (request?: Partial<IssueRequest>, patienceMs?: number) =>
      clock.run(ask(instances[0] ?? fleet.createInstance(), request, patienceMs)),
    /** The calls to the store and to Secrets Manager that some work costs. */
    async callsOf(work: () => Promise<unknown>) {
      Object.assign(counts, { storeCalls: {}, secretReads: 0 });
      await work();
      return counts.secretReads === 0 ? counts.storeCalls : { ...counts.storeCalls, secret: counts.secretReads };
    },
  };
}

/** The answer of one instance, the time by its own clock, and the wait. */
export interface Answer {
  readonly issue?: Issue;
  readonly problem?: Problem;
  readonly at: number;
  readonly waitMs: number;
}

/** Asks one instance and returns its answer, a problem too. */
export async function ask({ issue, now }: Instance, ...asked: Parameters<Instance['issue']>): Promise<Answer> {
  const startedAt = now();
  const given = await issue(...asked).catch((error: unknown) => {
    if (error instanceof Problem) return error;
    throw error;
  });
  const told = given instanceof Problem ? { problem: given } : { issue: given };
  return { ...told, at: now(), waitMs: now() - startedAt };
}

/** The problem of an answer, or the fingerprint of its token. */
export const nameOf = (answer: Answer | undefined) => answer?.problem?.type ?? answer?.issue?.token.fingerprint;

/** No call takes any time. */
export const AT_ONCE = { storeLatencyMs: 0, secretsLatencyMs: 0, serviceLatencyMs: 0 };

/** Of one call: a Lambda invocation may last 15 s, and its answer leaves half a second before. */
const PATIENCE_MS = 14_500;

const SERVICE_NAMES = ['customer-insights', 'merchant-payment-cleansing'] as const;
