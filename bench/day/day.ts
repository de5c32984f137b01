import { sloCounts } from '../../functions/aws/log/audit-log.ts';
import type { Pair } from '../../functions/broker/pair.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { environments } from '../../lib/environments.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../test/support/example.ts';
import { SERVICES } from '../../test/support/fleet/model-world.ts';
import { drawn } from '../../test/support/fleet/surroundings.ts';
import { createDay, createInvoke, type Day, type Scale, type Way } from './world.ts';

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

/** Callers that ask the broker. */
function throughBroker(day: Day): Obtain {
  const { model, clock, tally } = day;
  const invoke = createInvoke(day);
  return async (pair) => {
    const issue = await invoke(async (host) => {
      const since = clock.now();
      const answer = await model.ask(host, { pair });
      const outcome = answer instanceof Problem ? answer.type : 'issued';
      const call = { operation: 'token', outcome, milliseconds: clock.now() - since } as const;
      const { SloCalls = 0, SloMissed = 0 } = sloCounts(call, environments.prod?.slo?.withinMs) ?? {};
      tally.slo.calls += SloCalls;
      tally.slo.missed += SloMissed;
      return answer;
    });
    if (issue instanceof Problem) return { retryAfterMs: (issue.retryAfterSeconds ?? 60) * SECOND_MS };
    return { endsAt: issue.token.expiresAt };
  };
}

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
