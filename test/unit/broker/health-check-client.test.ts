import { describe, expect, it } from 'vitest';
import { createClientCheck } from '../../../functions/broker/health/check-client.ts';
import type { CheckRecord, PairAnswer } from '../../../functions/broker/health/check-pairs.ts';
import { NotificationFailure } from '../../../functions/broker/health/notify.ts';
import type { Finding } from '../../../functions/contract.ts';
import { START } from '../../support/example.ts';
import { createHealthWorld } from '../../support/health-world.ts';

const about = (finding: string, service: string) => `[token-broker dev] ${finding}: acme on ${service}`;

describe('the operators are told of a new version', () => {
  it('on each service on which it does not work', async () => {
    const { check, subjects } = createWorld({ one: 'rejected', two: 'accepted', three: 'secret-missing' });
    await check();
    expect(subjects()).toEqual([about('rejected', 'one'), about('secret-missing', 'three')]);
  });

  it('not on services that the tag does not list, although they are checked', async () => {
    const { check, subjects, records } = createWorld({ one: 'accepted', two: 'rejected' }, { tag: 'three one' });
    await check();
    expect(records.map(({ pair }) => pair.service)).toEqual(['one', 'two']);
    expect(subjects()).toEqual([]);
  });

  it('not when there is no secret any more, although every service is checked', async () => {
    const { check, subjects, records } = createWorld({ one: 'secret-missing', two: 'rejected' }, { isGone: true });
    await check();
    expect(records).toHaveLength(2);
    expect(subjects()).toEqual([]);
  });

  it('not on a service that does not answer, which one client cannot tell', async () => {
    const { check, subjects } = createWorld({ one: 'unreachable', two: 'rejected', three: 'accepted' });
    await expect(check()).rejects.toThrow('acme: one unreachable');
    expect(subjects()).toEqual([about('rejected', 'two')]);
  });

  it('by the next try when a message could not be sent', async () => {
    const { check, subjects, world } = createWorld({ one: 'rejected', two: 'rejected' });
    world.notify = () => {
      throw new NotificationFailure('notifier-down');
    };
    await expect(check()).rejects.toThrow('acme: notifier-down, notifier-down');
    world.notify = () => undefined;
    await check();
    expect(subjects()).toHaveLength(2);
  });
});

describe('an answer that tells nothing about the version of the event', () => {
  it.each<readonly [string, PairAnswer, string]>([
    ['is about another version', checked('accepted', 'v1'), 'another-version'],
    ['is about no version', checked('misconfigured', undefined), 'another-version'],
    ['is of another version, by traffic', { ...checked('accepted', 'v1'), provenBy: 'traffic' }, 'another-version'],
    ['is that the service does not answer', checked('unreachable', 'v2'), 'unreachable'],
    ['is that the service throttles', checked('throttled', 'v2'), 'throttled'],
    ['is none', { kind: 'failed', failure: 'secrets-unavailable', retryable: true }, 'secrets-unavailable'],
  ])(
    'and %s is asked for once more after 5 s, then fails the event of the current version',
    async (_, answer, word) => {
      const { check, answers, first, records, clock, secret } = createWorld({ one: 'accepted', two: 'accepted' });
      first.set('one', answer);
      await check();
      expect(records.map(({ pair }) => pair.service)).toEqual(['one', 'two', 'one']);
      expect(clock.now()).toBe(START + 5_000);
      answers.set('one', answer);
      await expect(check()).rejects.toThrow(new Error(`acme: one ${word}`));
      expect(records).toHaveLength(6);
      secret.currentVersion = 'v3';
      await check();
    },
  );

  it('is asked for no second time when there is no time left for it', async () => {
    const { check, records } = createWorld({ one: 'unreachable' });
    await expect(check(5_000)).rejects.toThrow('acme: one unreachable');
    expect(records).toHaveLength(1);
  });
});

describe('an event is done', () => {
  it.each<readonly [string, string, PairAnswer]>([
    ['without a secret, or one that does not name the service', 'one', checked('secret-missing', undefined)],
    ['with a client that is disabled', 'one', checked('disabled', undefined)],
    ['where a token lives that a new one would end', 'single', { ...checked('accepted', 'v1'), provenBy: 'traffic' }],
  ])('%s', async (_what, service, answer) => {
    const { check, answers, records } = createWorld({ [service]: 'accepted' });
    answers.set(service, answer);
    await check();
    expect(records).toHaveLength(1);
  });

  it.each([
    { ...checked('accepted', 'v1'), provenBy: 'request' },
    { ...checked('misconfigured', 'v1'), provenBy: 'traffic' },
  ] satisfies PairAnswer[])('but not where one token lives at a time and the answer is %j', async (answer) => {
    const { check, answers } = createWorld({ single: 'accepted' });
    answers.set('single', answer);
    await expect(check()).rejects.toThrow('acme: single another-version');
  });
});

it('gives a check no more time than there is', async () => {
  const { check, timeouts } = createWorld({ one: 'accepted' });
  await check(7_000);
  await check(70_000);
  expect(timeouts).toEqual([7_000, 20_000]);
});

/** All services, with what a check of each finds, and every effect of the event. */
function createWorld(
  findings: Readonly<Record<string, Finding>>,
  { tag, isGone = false }: { readonly tag?: string; readonly isGone?: boolean } = {},
) {
  const answers = new Map<string, PairAnswer>(
    Object.entries(findings).map(([service, finding]) => [service, checked(finding, 'v2')]),
  );
  /** Each is given once, before the others. */
  const first = new Map<string, PairAnswer>();
  const { clock, world, memories, messages, notifyWith } = createHealthWorld();
  const records: CheckRecord[] = [];
  const timeouts: number[] = [];
  const secret = { services: tag, currentVersion: 'v2' };
  const checkClient = createClientCheck({
    services: Object.keys(findings),
    singleTokenServices: ['single'],
    describeSecret: async () => (isGone ? undefined : secret),
    checkPair: async ({ service }, timeoutMs) => {
      timeouts.push(timeoutMs);
      const answer = first.get(service) ?? answers.get(service) ?? checked('accepted', 'v2');
      first.delete(service);
      return answer;
    },
    notify: notifyWith(memories.store),
    record: (record) => records.push(record),
    ...clock,
  });
  const check = (timeMs = 45_000) => clock.run(checkClient({ client: 'acme', version: 'v2' }, clock.now() + timeMs));
  const subjects = () => messages.map(({ subject }) => subject).toSorted();
  return { check, answers, first, subjects, records, timeouts, secret, clock, world };
}

function checked(finding: Finding, version: string | undefined) {
  return { kind: 'checked', finding, version, provenBy: 'request', checkedAt: START } as const;
}
