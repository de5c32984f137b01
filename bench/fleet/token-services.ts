import { type Pair, pairKey } from '../../functions/broker/pair.ts';
import type { Reachable } from './event-clock.ts';
import type { Random } from './random.ts';
import { HOUR_MS, LIFETIME_SECONDS, SERVICE_NAMES, type World } from './world.ts';

/** One token request, as far as it matters here. */
export interface TokenRequest {
  readonly pair: Pair;
  /** Of the client's secret. */
  readonly version: string;
}

export type ServiceAnswer =
  | { readonly kind: 'token'; readonly token: string; readonly lifetimeSeconds: number }
  | { readonly kind: 'rejected' }
  /** 503 and nothing else. */
  | { readonly kind: 'busy' }
  /** There is no connection. */
  | { readonly kind: 'refused' }
  /** Nothing came in the time that the sender had. */
  | { readonly kind: 'silent' };

export type TokenServices = ReturnType<typeof createTokenServices>;

/** A version with this ending is a wrong secret. */
export const WRONG = '-wrong';

/** The token endpoints of all services; each is down for a while every day. */
export function createTokenServices({ clock, tally, random, scale }: World) {
  const { chance, uniform, logNormal } = random('token services');
  const faultShare = scale.calm ? 0 : FAULT_SHARE;
  const outages = scale.calm ? [] : planOutages(clock.now(), scale.hours * HOUR_MS, { chance, uniform });
  const underWay = new Map<string, number>();
  let tokens = 0;

  return {
    /** Whether a token request of the pair is under way. */
    isAsked: (pair: Pair) => (underWay.get(pairKey(pair)) ?? 0) > 0,

    ask(sender: Reachable, request: TokenRequest, patienceMs: number): Promise<ServiceAnswer> {
      const { answer, latencyMs } = drawAnswer(request);
      const isLate = latencyMs >= patienceMs;
      const heard = isLate ? SILENT : answer;
      if (heard.kind === 'rejected') tally.rejectedTokenRequests += 1;
      else if (heard.kind !== 'token') tally.failedAttempts += 1;

      const waitMs = isLate ? patienceMs : latencyMs;
      const key = pairKey(request.pair);
      underWay.set(key, (underWay.get(key) ?? 0) + 1);
      clock.after(waitMs, () => underWay.set(key, (underWay.get(key) ?? 1) - 1));
      return new Promise((resolve) => sender.after(waitMs, () => resolve(heard)));
    },
  };

  function drawAnswer({ pair, version }: TokenRequest): { readonly answer: ServiceAnswer; readonly latencyMs: number } {
    const now = clock.now();
    const outage = outages.find(({ service, from, to }) => service === pair.service && now >= from && now < to);
    if (outage !== undefined) return outage.isSilent ? NEVER : REFUSED;
    const latencyMs = logNormal(LATENCY_MS, LATENCY_SPREAD);
    if (chance(faultShare)) return chance(0.5) ? NEVER : { answer: { kind: 'busy' }, latencyMs };
    if (version.endsWith(WRONG)) return { answer: { kind: 'rejected' }, latencyMs };
    tokens += 1;
    const token = `token-${String(tokens).padStart(16, '0')}`;
    return { answer: { kind: 'token', token, lifetimeSeconds: LIFETIME_SECONDS[pair.service] ?? 0 }, latencyMs };
  }
}

interface Outage {
  readonly service: string;
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  /** Connections are made and nothing comes; otherwise there are none. */
  readonly isSilent: boolean;
}

/** One outage of each service; a simulation is a day at most. */
function planOutages(begin: number, lengthMs: number, { uniform, chance }: Pick<Random, 'uniform' | 'chance'>) {
  return SERVICE_NAMES.map((service): Outage => {
    const outageMs = lengthMs * OUTAGE_SHARE;
    const from = begin + uniform() * (lengthMs - outageMs);
    return { service, from, to: from + outageMs, isSilent: chance(0.5) };
  });
}

/** A service that is up for 99.9 % of the time and, while it is, fails one request in a thousand. */
const OUTAGE_SHARE = 0.001;
const FAULT_SHARE = 0.001;

const LATENCY_MS = 150;
const LATENCY_SPREAD = 0.5;

const SILENT: ServiceAnswer = { kind: 'silent' };
const NEVER = { answer: SILENT, latencyMs: Infinity };
const REFUSED = { answer: { kind: 'refused' }, latencyMs: 5 } as const;
