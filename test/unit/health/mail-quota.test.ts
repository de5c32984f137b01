import { expect, it } from 'vitest';
import { createHealthLog } from '../../../functions/health/health-log.ts';
import type { HealthRun } from '../../../functions/health/rules/run.ts';
import { WARNING_METRICS } from '../../../functions/vocabulary.ts';
import { ALARMS, type WatchedBroker } from '../../../lib/monitoring/alarms.ts';
import { HOUR_MS, START } from '../../support/example.ts';
import { about, checkedAs, clientsNamed, createHealthWorld, SERVICE } from './health-world.ts';

/**
 * SNS suspends an e-mail subscription above this rate, and deletes it after 48 hours.
 *
 * @see https://docs.aws.amazon.com/sns/latest/dg/sns-email-notifications.html
 */
const SNS_LIMIT = 10;

const REJECTED = ['credential-rejected', 'latch-active'];
const SERVICES = [SERVICE, 'merchant-payment-cleansing'];

const rejects = () => 'rejected' as const;
const expires = () => ({ credentialExpiresAt: new Date(START + 6 * 24 * HOUR_MS).toISOString() });
const ofServices = SERVICES.map((service) => about('rejected', '6 clients', service));

it.each<[string, number, Parameters<typeof createHealthWorld>[0], readonly string[], readonly string[]]>([
  ['rejected pairs', 80, { answer: rejects }, [about('rejected', '80 clients')], REJECTED],
  ['pairs rejected on each of two services', 6, { services: SERVICES, answer: rejects }, ofServices, REJECTED],
  ['credentials', 200, { answer: expires }, [about('ends-within-7-days', '200 clients')], ['credential-expiring']],
])(
  'a run and its alarms stay below the limit of SNS for %s that end or fail on one day: %d',
  async (_, count, changes, subjects, alarms) => {
    const world = createHealthWorld({ ...changes, clients: clientsNamed(count) });
    const run = await world.run();
    expect(run.subjects).toEqual(subjects);
    expect(alarmsOf(run)).toEqual(alarms);
    expect(peakOf(world.sentAt) + alarms.length).toBeLessThan(SNS_LIMIT);
  },
);

it.each([10, 40])(
  'the messages of %i events at the same time are spread over a minute, one for each',
  async (count) => {
    const { clock, notifyEvent, messages, sentAt } = createHealthWorld();
    const events = clientsNamed(count).map(({ client }) => notifyEvent([checkedAs(client, 'rejected', clock.now())]));
    await clock.run(Promise.all(events));
    const subjects = clientsNamed(count).map(({ client }) => about('rejected', client));
    expect(messages.map(({ subject }) => subject).toSorted()).toEqual(subjects.toSorted());
    expect(Math.max(...sentAt) - START).toBeLessThan(61_000);
    expect(peakOf(sentAt) + REJECTED.length).toBeLessThan(SNS_LIMIT);
  },
);

/** Returns the largest number of messages within any second. */
function peakOf(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
}

/** Returns the alarms that ring for a run and the checks of the token function. Each sends a message of its own. */
function alarmsOf(run: HealthRun): readonly string[] {
  const lines: string[] = [];
  const log = createHealthLog({ environment: 'dev', now: () => START, write: (line) => void lines.push(line) });
  log.run(run);
  const counted: Record<string, unknown> = Object.assign({}, ...lines.map((line) => JSON.parse(line)));
  if (run.checked.some(({ finding }) => finding === 'rejected')) counted[WARNING_METRICS.rejected] = 1;
  return Object.entries(ALARMS).flatMap(([name, { watch, of, threshold = 1 }]) => {
    let metric = '';
    const note = (watched = '') => {
      metric = watched;
    };
    const silent = new Proxy({}, { get: () => () => undefined });
    watch({ broker: note, called: silent, failedEvents: silent } as unknown as WatchedBroker);
    return of !== 'silence' && Number(counted[metric]) >= Number(threshold) ? [name] : [];
  });
}
