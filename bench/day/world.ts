import { pairKey } from '../../functions/broker/pair.ts';
import { Problem } from '../../functions/broker/problem.ts';
import type { TokenExchange } from '../../functions/broker/token-request/token-request.ts';
import { exchange } from '../../test/support/broker-world.ts';
import { createFleetModel } from '../../test/support/fleet/model.ts';
import { CALM, CLIENTS, SERVICES } from '../../test/support/fleet/model-world.ts';
import { seededRandom } from '../../test/support/seeded-random.ts';

/** How callers come to their tokens. */
export type Way = (typeof WAYS)[number];
export const WAYS = ['broker', 'memory-only', 'no-broker'] as const;

/** How large a day is, and which of its possible courses it takes. */
export interface Scale {
  /** Of the token function; each can answer one request at a time. */
  readonly instances: number;
  readonly pairs: number;
  readonly hours: number;
  readonly seed: number;
  /** No service ever fails. */
  readonly calm: boolean;
  /** Every few minutes something goes wrong, or an operator does something, as in the stories of the tests. */
  readonly faults: boolean;
}

export type Day = ReturnType<typeof createDay>;

/** All who live through one day. */
export function createDay(way: Way, scale: Scale) {
  const { seed, calm, faults } = scale;
  const random = (purpose: string) => seededRandom(seed, purpose);
  const uniform = random('surroundings');
  /** Log-normal, by Box and Muller’s method: half of them below the median, a few far above. */
  const around = (medianMs: number) =>
    medianMs * Math.exp(SIGMA * Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()));
  const model = createFleetModel({
    seed,
    clients: Array.from({ length: Math.ceil(scale.pairs / 2) }, (_, n) => CLIENTS[n] ?? `client-${n + 1}`),
    isShared: way === 'broker',
    singleActiveToken: faults,
    normal: (service) => ({ ...CALM, latencyMs: 150, lifetimeSeconds: service === SERVICES[0] ? 3_600 : 7_200 }),
    storeLatencyMs: () => around(5),
    secretsLatencyMs: () => around(15),
    serviceLatencyMs: ({ service }) => around(model.world.moodOf(service).latencyMs),
  });
  const { clock, world, surroundings, shared } = model;
  const tally = newTally();
  const { tokenRequests } = tally;
  /** The instances that serve a check. */
  const checking = new Set<number>();
  const underWayUntil = new Map<string, number>();

  const { answer } = world;
  world.answer = (...request) => (!calm && uniform() < SERVICE_FAULT_SHARE ? exchange(503, {}) : answer(...request));

  const { answer: answerOf, onWrite } = surroundings;
  surroundings.answer = (n, request) => {
    const { pair, version, from, latencyMs } = request;
    const { token } = shared.peek(pair);
    const isFresh = token?.credentialVersion === version && clock.now() < token.refreshAt;
    const isAsked = (underWayUntil.get(pairKey(pair)) ?? 0) > clock.now();
    if (checking.has(from)) tokenRequests.ofChecks += 1;
    else if (way === 'broker' && (isFresh || isAsked)) tokenRequests.needless += 1;
    underWayUntil.set(pairKey(pair), clock.now() + Math.min(latencyMs, REQUEST_TIMEOUT_MS));
    const told = answerOf?.(n, request);
    note(told, latencyMs);
    return told;
  };
  surroundings.onWrite = (write) => {
    onWrite?.(write);
    const { token } = write.next;
    if (!write.isWritten || !token?.accessToken || token === write.before.token) return;
    tally.published += 1;
    tally.untilRefreshMs += token.refreshAt - token.issuedAt;
  };
  const pairs = model.pairs.slice(0, scale.pairs);
  return { way, scale, model, clock, random, around, tally, checking, note, pairs };

  /** Counts a token request. */
  function note(told: TokenExchange | Problem | undefined, latencyMs: number): void {
    const status = told === undefined || told instanceof Problem ? 503 : told.response.status;
    tokenRequests.all += 1;
    if (latencyMs >= REQUEST_TIMEOUT_MS || status >= 402) tokenRequests.failedAttempts += 1;
    else if (status >= 400) tokenRequests.rejected += 1;
  }
}

/** The counters of a running day. `needless`: sent although the pair had a fresh token of its current secret or a request on its way. */
function newTally() {
  return {
    tokensIssued: 0,
    answersFrom: { memory: 0, shared: 0, none: 0 },
    problems: { all: 0, toCallersWithoutToken: 0 },
    slo: { calls: 0, missed: 0 },
    waitsMs: [] as number[],
    tokenRequests: { all: 0, ofChecks: 0, failedAttempts: 0, rejected: 0, needless: 0 },
    dynamodb: { reads: 0, writes: 0 },
    secretsManagerReads: 0,
    function: { invocations: 0, checks: 0, coldStarts: 0 },
    billedMs: 0,
    /** Tokens in the shared table, and the sum of their times from the issue to the soft window. */
    published: 0,
    untilRefreshMs: 0,
  };
}

/** A service that, while it is up, fails one request in a thousand. */
const SERVICE_FAULT_SHARE = 0.001;
/** The standard deviation of a latency's logarithm. */
const SIGMA = 0.4;
export const REQUEST_TIMEOUT_MS = 4_000;
