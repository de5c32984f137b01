import fc from 'fast-check';
import type { Pair } from '../../../../functions/broker/pair.ts';
import { Problem } from '../../../../functions/broker/problem.ts';
import { PROBLEMS } from '../../../../functions/contract.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../../example.ts';
import { CLOCKS, FAULTS } from '../model-commands.ts';
import { SERVICES } from '../model-world.ts';
import { drawn } from '../surroundings.ts';
import { type Obtain, startCallers } from './callers.ts';
import { createInvoke, type Invoke } from './function.ts';
import { type Course, createDay, type Day, REQUEST_TIMEOUT_MS, type Scale, SILENCE_MS, type Way } from './world.ts';

/**
 * Lets a day pass in which callers get their tokens this way: with the broker, with a broker that has only the memories of its
 * instances, or without any. `isStopped` is asked once for each simulated minute.
 * @throws Error the promises of docs/pair.md that the broker broke
 */
export async function simulateDay(way: Way, scale: Scale, isStopped = () => false): Promise<Course> {
  const day = createDay(way, scale);
  const { model, clock, tally } = day;
  const { obtain, check } = way === 'no-broker' ? direct(day) : throughBroker(day, createInvoke(day));
  startRotations(day, check);
  if (way !== 'no-broker') for (let hour = 0; hour < scale.hours; hour += 1) startChecks(day, hour, check);
  startCallers(day, obtain);
  startOutages(day);

  const minutes = scale.hours * 60;
  const steps = stepsOf(scale.seed, minutes / FAULT_EVERY_MINUTES);
  for (let minute = 0; minute < minutes && !isStopped(); minute += 1) {
    await clock.advance(Math.max(0, START + (minute + 1) * MINUTE_MS - clock.now()));
    if (scale.faults && minute % FAULT_EVERY_MINUTES === 0) await steps[minute / FAULT_EVERY_MINUTES]?.run({}, model);
    if (scale.faults && minute % HEAL_EVERY_MINUTES === 0) model.heal();
    model.verify();
    model.requests.length = 0;
  }
  const { read: reads = 0, replace: writes = 0 } = model.counts.storeCalls;
  Object.assign(tally.dynamodb, { reads, writes });
  tally.secretsManagerReads += model.counts.secretReads;
  return { tally, elapsedMs: clock.now() - START };
}

/** Callers that ask the broker, and the checks of its health function. */
function throughBroker({ way, model, tally, checking }: Day, invoke: Invoke): { obtain: Obtain; check: Check } {
  return {
    async obtain({ pair }) {
      const issue = await invoke((host) => model.ask(host, { pair }));
      if (issue instanceof Problem) {
        const isWorthWaiting = PROBLEMS[issue.type].retryable;
        return { retryAfterMs: isWorthWaiting ? (issue.retryAfterSeconds ?? 1) * SECOND_MS : MINUTE_MS };
      }
      // Without the shared table all that is kept is the instance's own.
      const isOwn = issue.cache === 'memory' || (issue.cache === 'shared' && way !== 'broker');
      if (isOwn) tally.function.memoryHits += 1;
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

/** Callers that read the secret when they start, ask the service themselves, and keep their token to themselves. */
function direct({ model, clock, tally, note }: Day): { obtain: Obtain; check: Check } {
  const { world, surroundings } = model;
  return {
    check: async () => undefined,
    async obtain(caller) {
      const { pair } = caller;
      if (caller.version === undefined) {
        tally.secretsManagerReads += 1;
        await clock.sleep(drawn(surroundings.secretsLatencyMs));
        const reading = surroundings.secret?.(pair.client, 'AWSCURRENT');
        if (reading?.outcome !== 'found') return { retryAfterMs: DIRECT_RETRY_MS };
        caller.version = reading.secret.versionId;
      }
      const askedAt = clock.now();
      const latencyMs = drawn(surroundings.serviceLatencyMs, pair);
      const answer = world.answer(pair, caller.version);
      note(answer, latencyMs);
      await clock.sleep(Math.min(latencyMs, REQUEST_TIMEOUT_MS));
      if (answer instanceof Problem || latencyMs >= REQUEST_TIMEOUT_MS) return { retryAfterMs: DIRECT_RETRY_MS };
      if (answer.lifetimeMs !== undefined) return { endsAt: askedAt + answer.lifetimeMs };
      const isRejected = [400, 401].includes(answer.response.status);
      if (isRejected) caller.version = undefined;
      return { retryAfterMs: isRejected ? MINUTE_MS : DIRECT_RETRY_MS };
    },
  };
}

/** The health function checks every pair each hour, spread over some minutes. */
function startChecks({ clock, pairs }: Day, hour: number, check: Check): void {
  clock.after(hour * HOUR_MS + CHECKS_AT_MS, () => {
    for (const [n, pair] of pairs.entries()) clock.after((n * CHECKS_WITHIN_MS) / pairs.length, () => void check(pair));
  });
}

/** Operators give a client a new secret now and then, sometimes a wrong one, mended after an hour; the health function hears of it. */
function startRotations({ clock, scale, pairs, model, random }: Day, check: Check): void {
  const { uniform, chance } = random('operators');
  const lengthMs = scale.hours * HOUR_MS;
  for (const [client, own] of Map.groupBy(pairs, (pair) => pair.client)) {
    if (!chance(lengthMs / ROTATION_INTERVAL_MS)) continue;
    const isGood = scale.calm || !chance(WRONG_SHARE);
    const store = (isGood: boolean) => {
      model.world.stage(client, 'AWSCURRENT', isGood);
      for (const pair of own) clock.after(EVENT_DELAY_MS, () => void check(pair));
    };
    clock.after(uniform() * lengthMs, () => {
      store(isGood);
      if (!isGood) clock.after(HOUR_MS, () => store(true));
    });
  }
}

/** Each service is down for a thousandth of the day, silent or refusing connections. */
function startOutages({ clock, scale, model, random }: Day): void {
  const { uniform, chance } = random('outages');
  const lengthMs = scale.hours * HOUR_MS;
  for (const service of scale.calm ? [] : SERVICES) {
    const isSilent = chance(0.5);
    clock.after(uniform() * lengthMs * (1 - OUTAGE_SHARE), () => {
      const mood = model.world.moodOf(service);
      const outage = isSilent ? { latencyMs: SILENCE_MS } : ({ fault: 'connection refused', latencyMs: 5 } as const);
      model.world.setMood(service, { ...mood, ...outage });
      clock.after(lengthMs * OUTAGE_SHARE, () => model.world.setMood(service, undefined));
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

/** A service is up for 99.9 % of the time. */
const OUTAGE_SHARE = 0.001;
/** Callers without a broker are not told how long to wait. */
const DIRECT_RETRY_MS = 5 * SECOND_MS;

const CHECKS_AT_MS = 5 * MINUTE_MS;
const CHECKS_WITHIN_MS = 10 * MINUTE_MS;
const ROTATION_INTERVAL_MS = 30 * 24 * HOUR_MS;
const WRONG_SHARE = 0.05;
const EVENT_DELAY_MS = SECOND_MS;
