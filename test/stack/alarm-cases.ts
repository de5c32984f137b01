import { exchange, found } from '../support/broker-world.ts';
import { MINUTE_MS } from '../support/cloudwatch/alarm.ts';
import { type BrokerDay, createBrokerDay } from '../support/cloudwatch/broker-day.ts';
import { createHealthDay } from '../support/cloudwatch/health-day.ts';
import { type Point, pointsOf } from '../support/cloudwatch/metric-points.ts';
import { START } from '../support/example.ts';
import { AWS_SAMPLES, type Sample, samplePoints } from './aws-samples.ts';

/** What CloudWatch sees of a time that is good, then bad, then good again. Times are epoch milliseconds. */
export interface Case {
  readonly points: readonly Point[];
  readonly badFrom: number;
  /** By then the alarm must have rung. */
  readonly badUntil: number;
  /** By then it must have ended. */
  readonly endsAt: number;
}

/** By the alarm's own part of its name: how it comes about, and how it ends. */
export const ALARM_CASES: Readonly<Record<string, () => Promise<Case>>> = {
  'internal-errors': inTraffic(1, failWithABug),
  'new-version-internal-errors': inTraffic(1, failWithABug),
  'denied-caller-surge': inTraffic(2, async (day) => {
    for (let call = 0; call < 12; call++) await day.post({ client: 'globex', service: 'customer-insights' });
  }),
  'credential-rejected': inTraffic(1, async (day) => {
    await meanwhile(day, { answer: () => exchange(401, {}) });
  }),
  'shared-cache-degraded': inTraffic(15, async (day) => {
    day.sharedCache.isDown = true;
    await day.ask();
    day.sharedCache.isDown = false;
  }),
  // For the first five minutes the broker does not ask Secrets Manager for what it knows.
  'secrets-stale': inTraffic(20, async (day) => {
    await meanwhile(day, { secret: () => ({ outcome: 'unavailable', cause: 'InternalServiceError' }) });
  }),

  'latch-active': inHealth((day) => {
    day.world.answer = (pair) => (pair.client === 'client-3' ? { finding: 'rejected', provenBy: 'latch' } : 'accepted');
  }),
  'service-incident': inHealth((day) => {
    day.world.answer = () => 'unreachable';
  }),
  'probe-not-denied': inHealth((day) => {
    day.world.probe = () => ({ condition: 'not-denied', said: 'a-token' });
  }),
  'operators-unreachable': inHealth((day) => {
    day.world.hasSubscriber = false;
  }),
  'health-silent': async () => {
    const day = createHealthDay();
    await day.runs(3);
    const badFrom = day.clock.now();
    await day.silence(2);
    const badUntil = day.clock.now();
    await day.runs(3);
    return { points: pointsOf(day.lines), badFrom, badUntil, endsAt: day.clock.now() };
  },

  ...Object.fromEntries(Object.entries(AWS_SAMPLES).map(([name, samples]) => [name, async () => sampled(samples)])),
};

const CALM_MINUTES = 30;

/** While callers ask for tokens every minute. */
function inTraffic(badMinutes: number, act: (day: BrokerDay) => Promise<unknown>) {
  return async (): Promise<Case> => {
    const day = createBrokerDay();
    await day.minutes(CALM_MINUTES, day.ask);
    const badFrom = day.clock.now;
    await day.minutes(badMinutes, () => act(day));
    const badUntil = day.clock.now;
    await day.minutes(90, day.ask);
    return { points: pointsOf(day.lines), badFrom, badUntil, endsAt: day.clock.now };
  };
}

function inHealth(spoil: (day: ReturnType<typeof createHealthDay>) => void) {
  return async (): Promise<Case> => {
    const day = createHealthDay();
    const { answer, probe, hasSubscriber } = day.world;
    await day.runs(2);
    const badFrom = day.clock.now();
    spoil(day);
    await day.runs(2);
    const badUntil = day.clock.now();
    Object.assign(day.world, { answer, probe, hasSubscriber });
    await day.runs(2);
    return { points: pointsOf(day.lines), badFrom, badUntil, endsAt: day.clock.now() };
  };
}

function sampled(samples: readonly Sample[]): Case {
  const badFrom = START + CALM_MINUTES * MINUTE_MS;
  const badUntil = badFrom + 15 * MINUTE_MS;
  const endsAt = badUntil + 60 * MINUTE_MS;
  const points: Point[] = [];
  for (let at = START; at < endsAt; at += MINUTE_MS) {
    const isBad = at >= badFrom && at < badUntil;
    for (const sample of samples) points.push(...samplePoints(sample, at, isBad));
  }
  return { points, badFrom, badUntil, endsAt };
}

async function failWithABug(day: BrokerDay): Promise<void> {
  await meanwhile(day, {
    secret: () => {
      throw new TypeError('a bug');
    },
  });
}

/** One minute of traffic in a world that is different. */
async function meanwhile(day: BrokerDay, changes: Partial<BrokerDay['world']>): Promise<void> {
  const { answer, secret } = day.world;
  Object.assign(day.world, changes);
  await day.ask();
  Object.assign(day.world, { answer, secret: secret ?? (() => found('v1')) });
}
