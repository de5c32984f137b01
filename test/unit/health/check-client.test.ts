import { describe, expect, it } from 'vitest';
import { createClientCheck } from '../../../functions/health/rules/check-client.ts';
import { NotificationFailure } from '../../../functions/health/rules/notify.ts';
import { about, createHealthWorld, type except } from './health-world.ts';

describe('the operators get a message about a new version', () => {
  it('once, with each service on which it does not work', async () => {
    const { check, subjects } = createWorld({ one: 'rejected', two: 'accepted', three: 'secret-missing' });
    await check();
    expect(subjects()).toEqual([`${about('rejected', 'acme', 'one')}; secret-missing: acme on three`]);
  });

  it.each([
    ['the tag does not list', { tag: 'three one' }],
    ['have lost their secret', { isGone: true }],
  ])('not on services that %s, although they are checked', async (_what, secret) => {
    const { check, subjects, checks } = createWorld({ one: 'accepted', two: 'rejected' }, secret);
    await check();
    expect(checks.map(({ pair }) => pair.service)).toEqual(['one', 'two']);
    expect(subjects()).toEqual([]);
  });

  it('by the next try when a message could not be sent', async () => {
    const { check, subjects, world } = createWorld({ one: 'rejected', two: 'rejected' });
    world.notify = () => {
      throw new NotificationFailure('notifier-down');
    };
    await expect(check()).rejects.toThrow('acme: notifier-down');
    world.notify = () => undefined;
    await check();
    expect(subjects()).toEqual([`${about('rejected', 'acme', 'one')}; rejected: acme on two`]);
  });
});

describe('an answer that says nothing about the version of the event', () => {
  it.each<readonly [string, Answer, string]>([
    ['is about another version', { finding: 'accepted', version: 'v1' }, 'another-version'],
    ['is about no version', { finding: 'misconfigured', version: undefined }, 'another-version'],
    ['is of another version, by traffic', { version: 'v1', provenBy: 'traffic' }, 'another-version'],
    ['is that the service does not answer', 'unreachable', 'unreachable'],
    ['is that the service throttles', 'throttled', 'throttled'],
    ['is none', { failure: 'secrets-unavailable' }, 'secrets-unavailable'],
  ])(
    'and %s is asked for once more after 5 s, then fails the event of the current version',
    async (_, answer, word) => {
      const { check, answers, checks, clock, secret } = createWorld({ one: answer, two: 'accepted' });
      const startedAt = clock.now();
      await expect(check()).rejects.toThrow(new Error(`acme: one ${word}`));
      const asked = checks.map(({ pair, at }) => `${pair.service} after ${at - startedAt} ms`);
      expect(asked).toEqual(['one after 0 ms', 'two after 0 ms', 'one after 5000 ms']);
      secret.currentVersion = 'v3';
      await check();
      secret.currentVersion = 'v2';
      answers.one = 'accepted';
      await check();
    },
  );

  it('is asked only once without time for a second request, and operators get no message about silence', async () => {
    const { check, checks, subjects } = createWorld({ one: 'unreachable' });
    await expect(check(5_000)).rejects.toThrow('acme: one unreachable');
    expect(checks).toHaveLength(1);
    expect(subjects()).toEqual([]);
  });
});

describe('an event is done', () => {
  it.each<readonly [string, string, Answer]>([
    ['without a secret that names the service', 'one', { finding: 'secret-missing', version: undefined }],
    ['with a client that is disabled', 'one', { finding: 'disabled', version: undefined }],
    ['where a token lives that a new one would end', 'single', { version: 'v1', provenBy: 'traffic' }],
  ])('%s', async (_what, service, answer) => {
    const { check, checks } = createWorld({ [service]: answer });
    await check();
    expect(checks).toHaveLength(1);
  });

  it.each<Answer>([
    { version: 'v1', provenBy: 'request' },
    { finding: 'misconfigured', version: 'v1', provenBy: 'traffic' },
  ])('but not where one token lives at a time and the answer is %j', async (answer) => {
    await expect(createWorld({ single: answer }).check()).rejects.toThrow('acme: single another-version');
  });
});

/** A finding for each service, and every effect of the event of version v2. */
function createWorld(
  findings: Readonly<Record<string, Answer>>,
  { tag, isGone = false }: { readonly tag?: string; readonly isGone?: boolean } = {},
) {
  const answers: Record<string, Answer> = { ...findings };
  const health = createHealthWorld({
    services: Object.keys(findings),
    answer: ({ service }) => {
      const answer = answers[service] ?? 'accepted';
      return { version: 'v2', afterMs: 0, ...(typeof answer === 'string' ? { finding: answer } : answer) };
    },
  });
  const secret = { services: tag, currentVersion: 'v2' };
  const { clock, dependencies, notify, messages } = health;
  const describeSecret = async () => (isGone ? undefined : secret);
  const checkClient = createClientCheck({ ...dependencies, singleTokenServices: ['single'], describeSecret, notify });
  return {
    ...health,
    ...{ answers, secret },
    check: (timeMs = 45_000) => clock.run(checkClient({ client: 'acme', version: 'v2' }, clock.now() + timeMs)),
    subjects: () => messages.map(({ subject }) => subject).toSorted(),
  };
}

type Answer = Parameters<typeof except>[0][string];
