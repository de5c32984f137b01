import { describe, expect, it } from 'vitest';
import { ClientUnchecked, createClientCheck } from '../../../functions/broker/health/check-client.ts';
import type { CheckRecord, PairAnswer } from '../../../functions/broker/health/check-pairs.ts';
import type { Entries } from '../../../functions/broker/health/evaluate.ts';
import { NotificationFailure } from '../../../functions/broker/health/notify.ts';
import type { Finding } from '../../../functions/contract.ts';
import { START } from '../../support/example.ts';
import { createHealthWorld } from '../../support/health-world.ts';

describe('the message about a new version', () => {
  it('tells of all services only where there are several, and of versions where there are any', async () => {
    const one = createWorld({ one: 'rejected' });
    await one.check();
    expect(one.messages[0]?.text).not.toContain('On all services');
    expect(one.messages[0]?.text).toMatch(/client retry acme --environment dev\n$/);

    const two = createWorld({ one: 'secret-missing', two: 'rejected' });
    two.answers.set('one', checked('secret-missing', undefined));
    await two.check();
    expect(two.messages[0]?.text).toContain('  one: secret-missing (no version)\n  two: rejected (v2)\n');
  });

  it('is about what does not work also when another service accepts the client again', async () => {
    const { check, put, messages } = createWorld({ one: 'rejected', two: 'accepted' });
    await check();
    put('v3', { one: 'accepted', two: 'rejected' });
    await check('v3');
    expect(messages[1]?.subject).toBe('[token-broker dev] rejected: acme on two');
    expect(messages[1]?.text).toContain('  one: accepted (v3)\n  two: rejected (v3)\n');
  });

  it('is not about services that the tag does not list, although they are checked', async () => {
    const { check, messages, records, memory } = createWorld(
      { one: 'accepted', two: 'rejected' },
      { tag: 'three one' },
    );
    await check();
    expect(records.map(({ pair }) => pair.service)).toEqual(['one', 'two']);
    expect(messages).toEqual([]);
    expect([...memory('two')]).toEqual([]);
  });

  it('is not sent when there is no secret any more, and every service is checked', async () => {
    const world = createWorld({ one: 'secret-missing', two: 'secret-missing' }, { isGone: true });
    await world.check();
    expect(world.records).toHaveLength(2);
    expect(world.messages).toEqual([]);
  });

  it('is not about a service that does not answer, which one client cannot tell', async () => {
    const { check, messages } = createWorld({ one: 'unreachable', two: 'rejected', three: 'accepted' });
    await expect(check()).rejects.toThrow('acme: one unreachable');
    expect(messages.map(({ subject }) => subject)).toEqual(['[token-broker dev] rejected: acme on two']);
    expect(messages[0]?.text).not.toContain('unreachable');
  });

  it('is sent by the next try when it could not be sent', async () => {
    const { check, messages, failMessages } = createWorld({ one: 'rejected', two: 'rejected' });
    failMessages(true);
    await expect(check()).rejects.toThrow('acme: notifier-down, notifier-down');
    failMessages(false);
    await check();
    expect(messages).toHaveLength(1);
  });
});

describe('an answer that tells nothing about the version of the event', () => {
  const UNTOLD: readonly [string, PairAnswer, string][] = [
    ['is about another version', checked('accepted', 'v1'), 'another-version'],
    ['is about no version', checked('misconfigured', undefined), 'another-version'],
    ['is that the service does not answer', checked('unreachable', 'v2'), 'unreachable'],
    ['is that the service throttles', checked('throttled', 'v2'), 'throttled'],
    ['is none', { kind: 'failed', failure: 'secrets-unavailable', retryable: true }, 'secrets-unavailable'],
  ];

  it.each(UNTOLD)('and %s is asked for once more after 5 s', async (_what, answer) => {
    const { check, first, records, slept } = createWorld({ one: 'accepted', two: 'accepted' });
    first.set('one', answer);
    await check();
    expect(records.map(({ pair }) => pair.service)).toEqual(['one', 'two', 'one']);
    expect(slept).toEqual([5_000]);
  });

  it.each(UNTOLD)('and %s fails the event while the version is current', async (_what, answer, word) => {
    const { check, answers, records } = createWorld({ one: 'accepted', two: 'accepted' });
    answers.set('one', answer);
    await expect(check()).rejects.toThrow(new ClientUnchecked(`acme: one ${word}`));
    expect(records).toHaveLength(3);
  });

  it.each(UNTOLD)('and %s is left to the event of the version that is current now', async (_what, answer) => {
    const { check, answers, secret } = createWorld({ one: 'accepted' });
    answers.set('one', answer);
    secret.currentVersion = 'v3';
    await check();
  });

  it('is asked for no second time when there is no time left for it', async () => {
    const { check, answers, records } = createWorld({ one: 'accepted' });
    answers.set('one', FAILED);
    await expect(check('v2', START + 5_000)).rejects.toThrow('acme: one secrets-unavailable');
    expect(records).toHaveLength(1);
  });
});

describe('an event is done', () => {
  it.each([
    ['without a secret, or one that does not name the service', checked('secret-missing', undefined)],
    ['with a client that is disabled', checked('disabled', undefined)],
    ['where a token lives that a new one would end', { ...checked('accepted', 'v1'), provenBy: 'traffic' }],
  ] satisfies [string, PairAnswer][])('%s', async (_what, answer) => {
    const { check, answers, slept, records } = createWorld({ single: 'accepted' });
    answers.set('single', answer);
    await check();
    expect(records).toHaveLength(1);
    expect(slept).toEqual([]);
  });

  it.each([
    ['token was requested just now', { ...checked('accepted', 'v1'), provenBy: 'request' }],
    ['token is not accepted', { ...checked('misconfigured', 'v1'), provenBy: 'traffic' }],
  ] satisfies [string, PairAnswer][])('but not where the %s, of another version', async (_what, answer) => {
    const { check, answers } = createWorld({ single: 'accepted' });
    answers.set('single', answer);
    await expect(check()).rejects.toThrow('acme: single another-version');
  });
});

it('gives a check no more time than there is', async () => {
  const { check, timeouts } = createWorld({ one: 'accepted' });
  await check('v2', START + 7_000);
  await check('v2', START + 70_000);
  expect(timeouts).toEqual([7_000, 20_000]);
});

/** All services, with what a check of each finds, and every effect of the event. */
function createWorld(
  findings: Readonly<Record<string, Finding>>,
  { tag, isGone = false }: { readonly tag?: string; readonly isGone?: boolean } = {},
) {
  const answers = new Map<string, PairAnswer>();
  /** Each is given once, before the others. */
  const first = new Map<string, PairAnswer>();
  const { clock, world, memories, messages, newNotify } = createHealthWorld();
  const records: CheckRecord[] = [];
  const timeouts: number[] = [];
  const slept: number[] = [];
  const secret = { services: tag, currentVersion: 'v2' };

  const put = (version: string, found: Readonly<Record<string, Finding>>) => {
    secret.currentVersion = version;
    for (const [service, finding] of Object.entries(found)) answers.set(service, checked(finding, version));
  };
  put('v2', findings);
  const checkClient = createClientCheck({
    services: Object.keys(findings),
    singleTokenServices: ['single'],
    describeSecret: async () => (isGone ? undefined : secret),
    checkPair: async ({ service }, timeoutMs) => {
      timeouts.push(timeoutMs);
      const answer = first.get(service) ?? answers.get(service) ?? FAILED;
      first.delete(service);
      return answer;
    },
    notify: newNotify(),
    record: (record) => records.push(record),
    now: clock.now,
    sleep: async (ms) => slept.push(ms),
  });
  return {
    check: (version = 'v2', endsAt = clock.now() + 45_000) =>
      clock.run(checkClient({ client: 'acme', version }, endsAt)),
    put,
    answers,
    first,
    messages,
    records,
    timeouts,
    slept,
    secret,
    memory: (service: string): Entries => memories.items.get(service)?.entries ?? new Map(),
    failMessages: (fails: boolean) => {
      world.notify = () => {
        if (fails) throw new NotificationFailure('notifier-down');
      };
    },
  };
}

function checked(finding: Finding, version: string | undefined) {
  return { kind: 'checked', finding, version, provenBy: 'request', checkedAt: START } as const;
}

const FAILED: PairAnswer = { kind: 'failed', failure: 'secrets-unavailable', retryable: true };
