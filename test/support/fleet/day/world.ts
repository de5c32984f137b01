import { pairKey } from '../../../../functions/broker/pair.ts';
import { Problem } from '../../../../functions/broker/problem.ts';
import type { TokenExchange } from '../../../../functions/broker/token-request/token-request.ts';
import { exchange, SECRETS_DOWN } from '../../broker-world.ts';
import { MINUTE_MS } from '../../example.ts';
import { createFleetModel } from '../model.ts';
import { CALM, CLIENTS, SERVICES } from '../model-world.ts';
import { createRandom, type Random } from './random.ts';

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
  /** Nothing ever fails, and no operator stores a wrong secret. */
  readonly calm: boolean;
  /** Every few minutes something goes wrong, or an operator does something, as in the stories of the tests. */
  readonly faults: boolean;
}

export type Tally = ReturnType<typeof newTally>;

/** What happened in a day so far. */
export interface Course {
  readonly tally: Tally;
  readonly elapsedMs: number;
}

export type Day = ReturnType<typeof createDay>;

/** All who live through one day. */
export function createDay(way: Way, scale: Scale) {
  const { seed, calm } = scale;
  const random = (purpose: string): Random => createRandom(seed, purpose);
  const { chance, logNormal } = random('surroundings');
  const isFault = (share: number) => !calm && chance(share);
  const clientNames = Array.from({ length: Math.ceil(scale.pairs / 2) }, (_, n) => CLIENTS[n] ?? `client-${n + 1}`);
  const model = createFleetModel({
    seed,
    clients: clientNames,
    isShared: way === 'broker',
    normal: (service) => ({ ...CALM, latencyMs: 150, lifetimeSeconds: service === SERVICES[0] ? 3_600 : 7_200 }),
    storeLatencyMs: () => logNormal(5, 0.4),
    secretsLatencyMs: () => logNormal(15, 0.5),
    serviceLatencyMs: ({ service }) => {
      const medianMs = model.world.moodOf(service).latencyMs;
      return isFault(SERVICE_FAULT_SHARE / 2) ? SILENCE_MS : logNormal(medianMs, 0.5);
    },
  });
  const { clock, world, surroundings, shared } = model;
  const tally = newTally();
  const checking = new Set<number>();
  const underWayUntil = new Map<string, number>();

  const { answer } = world;
  world.answer = (pair, version) =>
    isFault(SERVICE_FAULT_SHARE / 2) ? { answer: exchange(503, {}), toldMs: 0 } : answer(pair, version);
  if (!calm) {
    model.troubleStore({ fault: 'hanging', share: AWS_FAULT_SHARE, seed });
    surroundings.secret = (client, stage) => (isFault(AWS_FAULT_SHARE) ? SECRETS_DOWN : world.read(client, stage));
  }

  const { answer: answerOf } = surroundings;
  surroundings.answer = (n, request) => {
    const { pair, version, from, latencyMs } = request;
    const { token } = shared.peek(pair);
    const isFresh = token?.credentialVersion === version && clock.now() < token.refreshAt;
    const isAsked = (underWayUntil.get(pairKey(pair)) ?? 0) > clock.now();
    tally.tokenRequests += 1;
    if (checking.has(from)) tally.tokenRequestsOfChecks += 1;
    else if (way === 'broker' && (isFresh || isAsked)) tally.needlessTokenRequests += 1;
    underWayUntil.set(pairKey(pair), clock.now() + Math.min(latencyMs, REQUEST_TIMEOUT_MS));
    const told = answerOf?.(n, request);
    note(told, latencyMs);
    return told;
  };
  const { replace } = shared;
  shared.replace = async (pair, seen, next, deadline) => {
    const written = await replace(pair, seen, next, deadline);
    if (written !== undefined && next.token?.accessToken && next.token !== seen.record.token) {
      tally.published += 1;
      tally.untilRefreshMs += next.token.refreshAt - next.token.issuedAt;
    }
    return written;
  };
  return { way, scale, model, clock, random, tally, checking, note, pairs: model.pairs.slice(0, scale.pairs) };

  function note(told: TokenExchange | Problem | undefined, latencyMs: number): void {
    const status = told === undefined || told instanceof Problem ? 503 : told.response.status;
    if (latencyMs >= REQUEST_TIMEOUT_MS || status >= 402) tally.failedAttempts += 1;
    else if (status >= 400) tally.rejectedTokenRequests += 1;
  }
}

/** The counters of a running day. */
function newTally() {
  return {
    ...{ issued: 0, problems: 0, stranded: 0, memoryHits: 0, waitsMs: [] as number[] },
    ...{ tokenRequests: 0, tokenRequestsOfChecks: 0, failedAttempts: 0, rejectedTokenRequests: 0 },
    /** Not of a check, and sent although the pair had a fresh token of its current secret or a request on its way. */
    needlessTokenRequests: 0,
    /** Tokens in the shared table, and the sum of their times from the issue to the soft window. */
    ...{ published: 0, untilRefreshMs: 0 },
    ...{ reads: 0, writes: 0, secretReads: 0 },
    ...{ checks: 0, invocations: 0, coldStarts: 0, throttled: 0, crashes: 0, billedMs: 0 },
  };
}

/** A service that, while it is up, fails one request in a thousand. */
const SERVICE_FAULT_SHARE = 0.001;
/** DynamoDB promises 99.99 % (https://aws.amazon.com/dynamodb/sla, read on 2026-11-21). */
const AWS_FAULT_SHARE = 1e-4;
export const SILENCE_MS = MINUTE_MS;
export const REQUEST_TIMEOUT_MS = 4_000;
