import fc from 'fast-check';
import { sloCounts } from '../../functions/aws/log/audit-log.ts';
import type { Pair } from '../../functions/broker/pair.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { environments } from '../../lib/environments.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../../test/support/example.ts';
import { CLOCKS, FAULTS } from '../../test/support/fleet/model-commands.ts';
import { SERVICES } from '../../test/support/fleet/model-world.ts';
import { drawn } from '../../test/support/fleet/surroundings.ts';
import { type Obtain, startCallers } from './callers.ts';
import { createInvoke, type Invoke } from './function.ts';
import { createDay, type Day, REQUEST_TIMEOUT_MS, type Scale, type Way } from './world.ts';

/**
 * Lets a day pass in which callers get their tokens this way: with the broker, with a broker that has only the memories of its
 * instances, or without any. `isStopped` is asked once for each simulated minute.
 * @throws Error the promises of docs/pair.md that the broker broke
 */
export async function simulateDay(way: Way, scale: Scale, isStopped = async () => false) {
  const day = createDay(way, scale);
  const { model, clock, tally } = day;
  const { obtain, check } = way === 'no-broker' ? direct(day) : throughBroker(day, createInvoke(day));
  if (check) for (let hour = 0; hour < scale.hours; hour += 1) startChecks(day, hour, check);
  startCallers(day, obtain);
  if (!scale.calm) startOutages(day);

  const minutes = scale.hours * 60;
  const steps = stepsOf(scale.seed, minutes / FAULT_EVERY_MINUTES);
  for (let minute = 0; minute < minutes && !(await isStopped()); minute += 1) {
    await clock.advance(Math.max(0, START + (minute + 1) * MINUTE_MS - clock.now()));
    if (scale.faults && minute % HEAL_EVERY_MINUTES === 0) model.heal();
    if (scale.faults && minute % FAULT_EVERY_MINUTES === 0) await steps[minute / FAULT_EVERY_MINUTES]?.run({}, model);
    model.verify();
    model.requests.length = 0;
  }
  const { read: reads = 0, replace: writes = 0 } = model.counts.storeCalls;
  Object.assign(tally.dynamodb, { reads, writes });
  tally.secretsManagerReads += model.counts.secretReads;
  return { way, scale, elapsedMs: clock.now() - START, ...tally };
}

/** The counts of a day. */
export type Simulated = Awaited<ReturnType<typeof simulateDay>>;

/** Callers that ask the broker, and the checks of its health function. */
function throughBroker({ way, model, clock, tally, checking }: Day, invoke: Invoke): { obtain: Obtain; check: Check } {
  return {
    async obtain({ pair }) {
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
      // Without the shared table all that is kept is the instance's own.
      tally.answersFrom[issue.cache === 'shared' && way !== 'broker' ? 'memory' : issue.cache] += 1;
      return { endsAt: issue.token.expiresAt };
    },

    async check(pair) {
      tally.function.checks += 1;
      await invoke(async (host) => {
        checking.add(host.number);
        await model.check(host, pair, 'AWSCURRENT');
        checking.delete(host.number);
      });
    },
  };
}

/** Callers that read the secret, once and after a failure, ask the service themselves, and keep their token to themselves. */
function direct({ model, clock, tally, note }: Day): { obtain: Obtain; check?: Check } {
  const { world, surroundings } = model;
  return {
    async obtain(process) {
      const { pair } = process;
      if (process.version === undefined) {
        tally.secretsManagerReads += 1;
        await clock.sleep(drawn(surroundings.secretsLatencyMs));
        const reading = surroundings.secret?.(pair.client, 'AWSCURRENT');
        if (reading?.outcome !== 'found') return { retryAfterMs: DIRECT_RETRY_MS };
        process.version = reading.secret.versionId;
      }
      const askedAt = clock.now();
      const latencyMs = drawn(surroundings.serviceLatencyMs, pair);
      const answer = world.answer(pair, process.version);
      note(answer, latencyMs);
      await clock.sleep(Math.min(latencyMs, REQUEST_TIMEOUT_MS));
      if ('lifetimeMs' in answer && latencyMs < REQUEST_TIMEOUT_MS) return { endsAt: askedAt + answer.lifetimeMs };
      process.version = undefined;
      return { retryAfterMs: DIRECT_RETRY_MS };
    },
  };
}

/** The health function checks every pair each hour, spread over some minutes. */
function startChecks({ clock, pairs }: Day, hour: number, check: Check): void {
  clock.after(hour * HOUR_MS + CHECKS_AT_MS, () => {
    for (const [n, pair] of pairs.entries()) clock.after((n * CHECKS_WITHIN_MS) / pairs.length, () => void check(pair));
  });
}

/** Each service is down once, unless all faults end meanwhile: the first one is silent, the second one refuses connections. */
function startOutages({ clock, scale, model }: Day): void {
  const outages = [{ latencyMs: MINUTE_MS }, { fault: 'connection refused', latencyMs: 5 }] as const;
  for (const [n, service] of SERVICES.entries()) {
    clock.after(0.35 * (n + 1) * scale.hours * HOUR_MS, () => {
      model.world.setMood(service, { ...model.world.moodOf(service), ...outages[n] });
      clock.after(OUTAGE_MS, () => model.world.setMood(service, undefined));
    });
  }
}

/** The faults of a day. Clocks jump in its last part alone, because a wrong clock excuses much for the rest of it. */
function stepsOf(seed: number, count: number) {
  const early = fc.sample(fc.oneof(...FAULTS), { seed, numRuns: Math.ceil(count * 0.8) });
  return [...early, ...fc.sample(fc.oneof(...FAULTS, ...CLOCKS), { seed, numRuns: Math.ceil(count * 0.2) })];
}

type Check = (pair: Pair) => Promise<void>;

/** Faults pile up until all of them end. */
const FAULT_EVERY_MINUTES = 4;
const HEAL_EVERY_MINUTES = 15;
const OUTAGE_MS = 5 * MINUTE_MS;
/** Callers without a broker are not told how long to wait. */
const DIRECT_RETRY_MS = 5 * SECOND_MS;

const CHECKS_AT_MS = 5 * MINUTE_MS;
const CHECKS_WITHIN_MS = 10 * MINUTE_MS;
