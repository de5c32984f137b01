import { isIssuable } from '../../functions/broker/pair/freshness.ts';
import { type Pair, pairKey } from '../../functions/broker/pair/pair.ts';
import type { Service } from '../../functions/broker/service.ts';
import type { Lease } from './fleet-model-ledger.ts';
import { LONGEST_CALL_MS, MAX_SKEW_MS, type Witness } from './fleet-model-witness.ts';
import type { SentRequest } from './fleet-surroundings.ts';

/** Watches how often, and when, the fleet sends token requests; for as long as all clocks and the store are well. */
export function watchPace(witness: Witness, services: Readonly<Record<string, Service>>) {
  /** The last request of each pair, and when its answer comes. */
  const lastRequests = new Map<string, SentRequest & { readonly endsAt: number }>();
  /** Until when a service has asked each pair to wait, and by which request. */
  const askedToWait = new Map<string, { readonly until: number; readonly by: SentRequest }>();

  return {
    seeRequest(request: SentRequest, lease: Lease, latencyMs: number) {
      const { pair, from, at } = request;
      const key = pairKey(pair);
      const last = lastRequests.get(key);
      lastRequests.set(key, { ...request, endsAt: at + latencyMs });
      const who = `environment ${from} (${lease.owner})`;
      const isExcused = witness.hasAnyClockJumped() || witness.hasStoreFailed(from, at - LONGEST_CALL_MS);
      if (isExcused) return;

      const wasAlone = last === undefined || witness.hasStoreFailed(last.from, last.at - LONGEST_CALL_MS);
      if (!wasAlone && last.endsAt - last.at <= SHORT_MS && at < last.endsAt) {
        witness.accuse(`${who} sent a request of ${key} while another was under way`);
      }
      const asked = askedToWait.get(key);
      const isTold = asked !== undefined && !witness.hasStoreFailed(asked.by.from, asked.by.at);
      if (isTold && at < asked.until) witness.accuse(`${who} sent a request of ${key} although told to wait`);
      checkLease(lease, request, who);
    },

    /** An operator lets the pair be tried at once. */
    forgive(pair: Pair) {
      askedToWait.delete(pairKey(pair));
    },

    /** The service has sent a Retry-After, and the environment could write it to the shared record. */
    seeRetryAfter(by: SentRequest, seconds: number, now: number) {
      const { pair, from, at } = by;
      if (witness.hasAnyClockJumped() || witness.hasStoreFailed(from, at - LONGEST_CALL_MS) || now - at > SHORT_MS)
        return;
      const until = now + Math.min(seconds, MAX_PAUSE_SECONDS) * 1_000 - 2 * MAX_SKEW_MS;
      askedToWait.set(pairKey(pair), { until, by });
    },
  };

  function checkLease({ before, forced, isCheck, previous, takenAt }: Lease, { pair }: SentRequest, who: string): void {
    const { token } = before;
    const isLiving = token !== undefined && isIssuable(token, takenAt + MAX_SKEW_MS);
    if (forced && takenAt - previous.forcedAt < 30_000 - MAX_SKEW_MS)
      witness.accuse(`${who} forced a request too soon`);
    if (!isLiving || forced) return;

    if (services[pair.service]?.singleActiveToken) witness.accuse(`${who} ended a living token`);
    const isQuiet = takenAt - previous.takenAt < 15_000 - MAX_SKEW_MS;
    if (isQuiet && !isCheck) witness.accuse(`${who} refreshed a living token too soon`);
  }
}

/** Short enough for a lease to outlast it by the clock of every environment. */
const SHORT_MS = 1_500;
const MAX_PAUSE_SECONDS = 300;
