import { sloCounts } from '../functions/aws/log/audit-log.ts';
import type { Pair } from '../functions/broker/pair.ts';
import { Problem } from '../functions/broker/problem.ts';
import { environments } from '../lib/environments.ts';
import { exchange } from '../test/support/broker-world.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../test/support/example.ts';
import type { Instance } from '../test/support/fleet/fleet.ts';
import { createFleetModel } from '../test/support/fleet/model.ts';
import { CALM, CLIENTS, SERVICES } from '../test/support/fleet/model-world.ts';
import { drawn } from '../test/support/fleet/surroundings.ts';
import { seededRandom } from '../test/support/seeded-random.ts';

/** How callers get their tokens: with the broker, with the memories of its instances only, or without any broker. */
export const WAYS = ['broker', 'memory-only', 'no-broker'] as const;
export type Way = (typeof WAYS)[number];

/** How large a day is, and which of its possible courses it takes. An instance answers one request at a time. */
export type Scale = Readonly<Record<'instances' | 'pairs' | 'hours' | 'seed', number>>;

type Day = ReturnType<typeof createDay>;

/** The counts of a day. */
export type Simulated = Awaited<ReturnType<typeof simulateDay>>;

/**
 * Lets a day pass in which callers get their tokens this way.
 * @throws Error the promises of docs/pair.md that the broker broke
 */
export async function simulateDay(way: Way, scale: Scale) {
  const day = createDay(way, scale);
  const { model, clock, tally } = day;
  const askBroker = throughBroker(day);
  startCallers(day, () => (way === 'no-broker' ? direct(day) : askBroker));
  startOutages(day);
  for (let minute = 0; minute < scale.hours * 60; minute += 1) {
    await clock.advance(MINUTE_MS);
    model.verify();
    model.requests.length = 0;
  }
  const { read: reads = 0, replace: writes = 0 } = model.counts.storeCalls;
  return { way, scale, ...tally, reads, writes, secretReads: tally.secretReads + model.counts.secretReads };
}

/**
 * The most token requests that a fleet with a shared table may make on a whole day: one for each soft window, and 1 % above
 * that. First tokens and repeats have to fit in.
 */
export function goalOf({ scale, published, untilRefreshMs }: Simulated): number {
  return Math.floor((1.01 * scale.pairs * scale.hours * HOUR_MS * published) / untilRefreshMs);
}

/** Prepares a day: the fleet and its surroundings, and the counters. */
function createDay(way: Way, scale: Scale) {
  const random = (purpose: string) => seededRandom(scale.seed, purpose);
  const uniform = random('surroundings');
  /** Log-normal, by Box and Muller’s method: half of them below the median, a few far above. */
  const around = (medianMs: number) =>
    medianMs * Math.exp(SIGMA * Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()));
  const model = createFleetModel({
    seed: scale.seed,
    clients: Array.from({ length: Math.ceil(scale.pairs / 2) }, (_, n) => CLIENTS[n] ?? `client-${n + 1}`),
    isShared: way === 'broker',
    singleActiveToken: false,
    normal: (service) => ({ ...CALM, latencyMs: 150, lifetimeSeconds: service === SERVICES[0] ? 3_600 : 7_200 }),
    storeLatencyMs: () => around(5),
    secretsLatencyMs: () => around(15),
    serviceLatencyMs: ({ service }) => around(model.world.moodOf(service).latencyMs),
  });
  const { world, surroundings } = model;
  const tally = {
    tokensIssued: 0,
    problemsWithoutToken: 0,
    slo: { calls: 0, missed: 0 },
    waitsMs: [] as number[],
    tokenRequests: 0,
    secretReads: 0,
    invocations: 0,
    billedMs: 0,
    /** Tokens in the shared table, and the sum of their times from the issue to the soft window. */
    published: 0,
    untilRefreshMs: 0,
  };

  const { answer } = world;
  world.answer = (...request) => {
    tally.tokenRequests += 1;
    return uniform() < SERVICE_FAULT_SHARE ? exchange(503, {}) : answer(...request);
  };
  const { onWrite } = surroundings;
  surroundings.onWrite = (write) => {
    onWrite?.(write);
    const { token } = write.next;
    if (!write.isWritten || !token?.accessToken || token === write.before.token) return;
    tally.published += 1;
    tally.untilRefreshMs += token.refreshAt - token.issuedAt;
  };
  return { scale, model, clock: model.clock, random, around, tally, pairs: model.pairs.slice(0, scale.pairs) };
}

/** How a process of an internal service comes to a token of its pair. */
type Obtain = (pair: Pair) => Promise<{ readonly endsAt: number } | { readonly retryAfterMs: number }>;

/** Starts the services that need tokens, each in some processes. A process keeps its token for most of the life left. */
function startCallers({ clock, tally, random, pairs }: Day, obtainOfProcess: () => Obtain): void {
  const uniform = random('callers');
  for (const pair of pairs.flatMap((pair) => Array<Pair>(PROCESSES_PER_PAIR).fill(pair))) {
    const obtain = obtainOfProcess();
    let tokenEndsAt = 0;
    const ask = async (since = clock.now()): Promise<void> => {
      const obtained = await obtain(pair);
      const now = clock.now();
      if ('endsAt' in obtained) {
        tally.tokensIssued += 1;
        tally.waitsMs.push(now - since);
        tokenEndsAt = obtained.endsAt;
        clock.after((tokenEndsAt - now) * (1 - RENEWAL_SHARE * uniform()), () => void ask());
        return;
      }
      const hasToken = now < tokenEndsAt;
      if (!hasToken) tally.problemsWithoutToken += 1;
      clock.after(obtained.retryAfterMs, () => void ask(hasToken ? undefined : since));
    };
    clock.after(uniform() * START_WITHIN_MS, () => void ask());
  }
}

/**
 * Callers that ask the broker. An instance takes one call at a time, is frozen in between, and is replaced after a while by
 * a cold one. Any idle one may get the next call, the worst that routing can do to memories. Calls wait for one.
 */
function throughBroker({ scale, model, clock, tally, random, around }: Day): Obtain {
  const uniform = random('function');
  const idle = Array.from({ length: scale.instances }, (): Place => ({ endsAt: 0 }));
  const queue: ((place: Place) => void)[] = [];

  return async (pair) => {
    const [idlePlace] = idle.splice(Math.floor(uniform() * idle.length), 1);
    const place = idlePlace ?? (await new Promise<Place>((take) => queue.push(take)));
    const startedAt = clock.now();
    const host = await hostIn(place);
    const askedAt = clock.now();
    host.setFrozen(false);
    const answer = await model.ask(host, { pair });
    host.setFrozen(true);
    const outcome = answer instanceof Problem ? answer.type : 'issued';
    const call = { operation: 'token', outcome, milliseconds: clock.now() - askedAt } as const;
    const { SloCalls = 0, SloMissed = 0 } = sloCounts(call, environments.prod?.slo?.withinMs) ?? {};
    tally.slo.calls += SloCalls;
    tally.slo.missed += SloMissed;
    tally.invocations += 1;
    tally.billedMs += Math.ceil(clock.now() - startedAt + CODE_MS);
    const next = queue.shift();
    if (next === undefined) idle.push(place);
    else next(place);
    if (answer instanceof Problem) return { retryAfterMs: (answer.retryAfterSeconds ?? 60) * SECOND_MS };
    return { endsAt: answer.token.expiresAt };
  };

  async function hostIn(place: Place): Promise<Instance> {
    if (place.host !== undefined && clock.now() < place.endsAt) return place.host;
    if (place.host !== undefined) model.retire(place.host);
    await clock.sleep(around(INIT_MS));
    place.host = model.start(0);
    place.endsAt = clock.now() + 2 * uniform() * MEAN_LIFE_MS;
    return place.host;
  }
}

/** Where one instance can be. */
type Place = { host?: Instance; endsAt: number };

/** A process that reads the secret, once and after a failure, asks the service itself, and keeps its token to itself. */
function direct({ model: { world, surroundings }, clock, tally }: Day): Obtain {
  let version: string | undefined;
  return async (pair) => {
    if (version === undefined) {
      tally.secretReads += 1;
      await clock.sleep(drawn(surroundings.secretsLatencyMs));
      version = `${world.versionWith(pair.client, 'AWSCURRENT')}`;
    }
    const askedAt = clock.now();
    const latencyMs = drawn(surroundings.serviceLatencyMs, pair);
    const answer = world.answer(pair, version);
    await clock.sleep(Math.min(latencyMs, REQUEST_TIMEOUT_MS));
    if ('lifetimeMs' in answer && latencyMs < REQUEST_TIMEOUT_MS) return { endsAt: askedAt + answer.lifetimeMs };
    version = undefined;
    return { retryAfterMs: DIRECT_RETRY_MS };
  };
}

/** Each service is down once: the first one is silent, the second one refuses connections. */
function startOutages({ clock, scale, model }: Day): void {
  const outages = [{ latencyMs: MINUTE_MS }, { fault: 'connection refused', latencyMs: 5 }] as const;
  for (const [n, service] of SERVICES.entries()) {
    clock.after(0.35 * (n + 1) * scale.hours * HOUR_MS, () => {
      model.world.setMood(service, { ...model.world.moodOf(service), ...outages[n] });
      clock.after(OUTAGE_MS, () => model.world.setMood(service, undefined));
    });
  }
}

const PROCESSES_PER_PAIR = 5;
/** The worst beginning: no process has a token, and all want one. */
const START_WITHIN_MS = 2 * SECOND_MS;
/** A process renews its token somewhere in this last part of its life. */
const RENEWAL_SHARE = 0.2;
const REQUEST_TIMEOUT_MS = 4_000;
/** Callers without a broker are not told how long to wait. */
const DIRECT_RETRY_MS = 5 * SECOND_MS;
const OUTAGE_MS = 5 * MINUTE_MS;
/** A service that, while it is up, fails one request in a thousand. */
const SERVICE_FAULT_SHARE = 0.001;
/** The standard deviation of a latency's logarithm. */
const SIGMA = 0.4;
/** Lambda replaces instances after some hours, however busy they are. */
const MEAN_LIFE_MS = 2 * HOUR_MS;
const INIT_MS = 250;
/** Computing time of an answer, at the 0.29 vCPU of 512 MB. */
const CODE_MS = 3;
