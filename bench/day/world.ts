import { exchange } from '../../test/support/broker-world.ts';
import { HOUR_MS } from '../../test/support/example.ts';
import type { Instance } from '../../test/support/fleet/fleet.ts';
import { createFleetModel } from '../../test/support/fleet/model.ts';
import { CALM, CLIENTS, SERVICES } from '../../test/support/fleet/model-world.ts';
import { seededRandom } from '../../test/support/seeded-random.ts';

/** How callers get their tokens: with the broker, with the memories of its instances only, or without any broker. */
export const WAYS = ['broker', 'memory-only', 'no-broker'] as const;
export type Way = (typeof WAYS)[number];

/** How large a day is, and which of its possible courses it takes. An instance answers one request at a time. */
export type Scale = Readonly<Record<'instances' | 'pairs' | 'hours' | 'seed', number>>;

export type Day = ReturnType<typeof createDay>;

/** Prepares a day: the fleet and its surroundings, and the counters. */
export function createDay(way: Way, scale: Scale) {
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

/**
 * Returns how to run a call in an instance, which takes one call at a time, is frozen in between, and is replaced after a while
 * by a cold one. Any idle one may get the next call, the worst that routing can do to memories; calls wait for one.
 */
export function createInvoke({ scale, model, clock, tally, random, around }: Day) {
  const uniform = random('function');
  const idle = Array.from({ length: scale.instances }, (): Place => ({ endsAt: 0 }));
  const queue: ((place: Place) => void)[] = [];

  return async <Answer>(work: (host: Instance) => Promise<Answer>): Promise<Answer> => {
    const [idlePlace] = idle.splice(Math.floor(uniform() * idle.length), 1);
    const place = idlePlace ?? (await new Promise<Place>((take) => queue.push(take)));
    const startedAt = clock.now();
    const host = await hostIn(place);
    host.setFrozen(false);
    const answer = await work(host);
    host.setFrozen(true);
    tally.invocations += 1;
    tally.billedMs += Math.ceil(clock.now() - startedAt + CODE_MS);
    const next = queue.shift();
    if (next === undefined) idle.push(place);
    else next(place);
    return answer;
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
interface Place {
  host?: Instance;
  endsAt: number;
}

/** A service that, while it is up, fails one request in a thousand. */
const SERVICE_FAULT_SHARE = 0.001;
/** The standard deviation of a latency's logarithm. */
const SIGMA = 0.4;
/** Lambda replaces instances after some hours, however busy they are. */
const MEAN_LIFE_MS = 2 * HOUR_MS;
const INIT_MS = 250;
/** Computing time of an answer, at the 0.29 vCPU of 512 MB. */
const CODE_MS = 3;
