import { describe, expect, it } from 'vitest';
import { NotificationFailure, type NotificationMemories } from '../../../functions/health/rules/notify.ts';
import { FINDINGS, type Finding } from '../../../functions/vocabulary.ts';
import { HOUR_MS, MINUTE_MS, START } from '../../support/example.ts';
import { about, checkedAs, clientsNamed, createHealthWorld, SERVICE, servicesNamed } from './health-world.ts';

const ACME = `acme/${SERVICE}`;
const rejected = (count: number) => clientsNamed(count).map(({ client }) => checkedAs(client, 'rejected'));
const fail = (error: Error = new NotificationFailure('notifier-down')) => {
  throw error;
};

/** A world in which acme is the only client. */
const createWorld = () => createHealthWorld({ clients: [{ client: 'acme' }] });

describe('the operators', () => {
  it.each(FINDINGS.filter((finding) => finding !== 'accepted'))(
    'get one message in twenty runs that a pair is %s, and one that it is accepted again',
    async (finding) => {
      const { world, run, messages } = createWorld();
      await run();
      world.answer = () => finding;
      for (let runs = 0; runs < 20; runs += 1) await run();
      expect(messages.map(({ subject }) => subject)).toEqual([about(finding)]);
      world.answer = () => 'accepted';
      expect([(await run()).subjects, (await run()).subjects]).toEqual([[about('accepted')], []]);
    },
  );

  it.each([
    ['rejected', 'v1', 'v2', 1],
    ['rejected', 'v1', 'v1', 0],
    ['secret-malformed', 'v1', 'v2', 1],
    // A check without a version does not prove that the version has changed.
    ['rejected', undefined, 'v2', 0],
    ['rejected', 'v1', undefined, 0],
    ['misconfigured', 'v1', 'v2', 0],
  ] as const)('hear of a pair that is %s as %s and then as %s so often: %i', async (finding, one, two, sent) => {
    const { tell, memories } = createHealthWorld();
    await tell([checkedAs('acme', finding, START, { version: one })]);
    expect(await tell([checkedAs('acme', finding, START + 1, { version: two })])).toMatchObject({ sent });
    expect(memories.entries().get(ACME)).toMatchObject({ version: two ?? one });
  });
});

describe('the end of a credential', () => {
  const DAY_MS = 24 * HOUR_MS;
  const endsIn = (days: number) => new Date(START + days * DAY_MS).toISOString();

  it('is reported 30, 7 and 1 days before and when it is over, once for each version', async () => {
    const { world, run, clock, messages } = createWorld();
    const told = async (days: number, version = 'v1') => {
      await clock.advance(START + days * DAY_MS - clock.now());
      world.answer = () => ({ version, credentialExpiresAt: endsIn(40) });
      return [(await run()).subjects, (await run()).subjects].flat();
    };
    expect(await told(9)).toEqual([]);
    expect(await told(10)).toEqual([about('ends-within-30-days')]);
    expect(await told(33)).toEqual([about('ends-within-7-days')]);
    expect(await told(34, 'v2')).toEqual([about('ends-within-7-days')]);
    expect(await told(39, 'v2')).toEqual([about('ends-within-1-day')]);
    expect(await told(40, 'v2')).toEqual([about('ended')]);
    world.answer = () => ({ version: 'v3', credentialExpiresAt: endsIn(400) });
    expect((await run()).subjects).toEqual([]);
    world.answer = () => ({ version: 'v3', credentialExpiresAt: endsIn(41) });
    expect((await run()).subjects).toEqual([about('ends-within-1-day')]);
    expect(messages.at(-1)?.text).toContain(`\nend:            ${endsIn(41)}\n`);
  });

  it.each<[string, Parameters<typeof checkedAs>[3], string | undefined]>([
    ['is malformed', { credentialExpiresAt: 'malformed' }, 'end-malformed'],
    ['differs from the tag', { credentialExpiresAt: 'never' }, 'end-mistagged'],
    ['is in the tag', { credentialExpiresAt: endsIn(99) }, undefined],
    ['has no tag', { credentialExpiresAt: endsIn(98), version: 'v2' }, undefined],
    ['comes from a broker of an earlier release', {}, undefined],
  ])('that %s is reported once, or not', async (_, answer, condition) => {
    const expiries = new Map([['v1', `${endsIn(99)} ${endsIn(100)}`]]);
    const { world, run } = createHealthWorld({ clients: [{ client: 'acme', expiries }] });
    world.answer = () => ({ ...answer });
    expect([(await run()).subjects, (await run()).subjects].flat()).toEqual(condition ? [about(condition)] : []);
  });

  it('is forgotten with its client, and outlasts a client that is disabled', async () => {
    const { world, run, memories } = createWorld();
    world.answer = () => ({ credentialExpiresAt: endsIn(1) });
    await run();
    world.answer = () => 'disabled';
    await run();
    expect([...memories.entries().keys()]).toContain(`${ACME}/end`);
    world.clients = [];
    world.answer = () => 'secret-missing';
    await run();
    expect([...memories.entries().keys()]).toEqual([]);
  });
});

describe('the memory', () => {
  it('forgets a good condition after fifteen minutes, when every run that may have looked before is over', async () => {
    const { tell, memories, clock } = createHealthWorld();
    await tell([checkedAs('acme', 'rejected', START - 1)]);
    for (const at of [START, START + 1]) await tell([checkedAs('acme', 'accepted', at)]);
    await clock.advance(START + 15 * MINUTE_MS - clock.now());
    await tell([]);
    expect([...memories.entries().keys()]).toEqual([ACME]);
    await clock.advance(1);
    await tell([]);
    expect([...memories.entries().keys()]).toEqual([]);
  });

  it('takes no finding that is older', async () => {
    const { tell, memories } = createHealthWorld();
    const look = async (finding: Finding, at: number) =>
      (await tell([checkedAs('acme', finding, START + at, { checkedAt: START + at - 1 })])).subjects;
    expect(await look('rejected', 4)).toEqual([about('rejected')]);
    // The memory contains the start of a bad condition, and when it was last observed.
    await look('rejected', 10);
    expect(memories.entries().get(ACME)).toMatchObject({ since: START + 3, at: START + 10, version: 'v1' });
    expect([await look('accepted', 5), await look('accepted', 10)]).toEqual([[], []]);
    expect(await look('accepted', 20)).toEqual([about('accepted')]);
    expect(await look('rejected', 15)).toEqual([]);
  });

  it('is written once for each service, after the messages', async () => {
    const { reject, memories } = createHealthWorld({ services: servicesNamed(12) });
    expect(await reject()).toMatchObject({ sent: 12, unsent: 0, failures: [] });
    expect(memories.writes()).toBe(12);
    await reject();
    expect(memories.writes()).toBe(24);
  });

  it('is read again when another revision is there, and sent messages are not repeated', async () => {
    const { tell, memories, messages } = createHealthWorld();
    const entries = new Map([[`other/${SERVICE}`, { condition: 'rejected', since: 0, at: 0 } as const]]);
    let isOvertaken = false;
    const write: NotificationMemories['write'] = async (service, memory) => {
      if (!isOvertaken) await memories.store.write(service, { ...memory, entries });
      isOvertaken = true;
      return memories.store.write(service, memory);
    };
    expect(await tell(rejected(7), { store: { ...memories.store, write } })).toMatchObject({ sent: 1, unsent: 0 });
    expect([messages.length, memories.entries().size]).toEqual([1, 8]);
  });

  it('is given up when another run overtakes every write, and the next notification repeats the message', async () => {
    const { tell, memories, messages } = createHealthWorld();
    const store = { ...memories.store, write: async () => false };
    expect(await tell(rejected(1), { store })).toMatchObject({ sent: 1, unsent: 0, failures: ['memory-in-use'] });
    expect(await tell(rejected(1))).toMatchObject({ sent: 1 });
    expect(messages).toHaveLength(2);
  });

  it('is in the table that the broker cannot reach, so its incident is reported without it, and no pair is', async () => {
    const { world, run, memories, messages } = createHealthWorld({ services: [SERVICE, 'other'] });
    world.answer = () => 'rejected';
    await run();
    const detail = 'dynamodb:GetItem';
    world.answer = () => ({ failure: 'table-unavailable', detail });
    memories.fail(Infinity);
    const incident = '[token-broker dev] incident: the broker checks no credential';
    expect([(await run()).subjects, (await run()).subjects]).toEqual([[incident], [incident]]);
    expect(messages.at(-1)?.text).toContain('Checks returned no finding: table-unavailable: dynamodb:GetItem.\n');
    memories.fail(0);
    world.answer = () => 'rejected';
    expect((await run()).subjects).toEqual([]);
  });

  it('lets nothing else out while it cannot be read, until it is back', async () => {
    const { world, run, memories } = createWorld();
    world.answer = () => 'rejected';
    memories.fail(100);
    const reported = { failures: expect.arrayContaining(['memory-unavailable']) };
    expect(await run()).toMatchObject({ subjects: [], reported });
    memories.fail(0);
    expect((await run()).subjects).toEqual([about('rejected')]);
  });
});

describe('a message that does not get out', () => {
  it('is sent by the next run, once', async () => {
    const { world, run } = createWorld();
    world.answer = () => 'rejected';
    world.notify = () => fail();
    expect(await run()).toMatchObject({ subjects: [], reported: { sent: 0, unsent: 1, failures: ['notifier-down'] } });
    world.notify = () => undefined;
    expect(await run()).toMatchObject({ subjects: [about('rejected')], reported: { sent: 1, unsent: 0 } });
    expect((await run()).subjects).toEqual([]);
  });

  it('keeps no other from getting out, and is tried once in a run', async () => {
    const tries: string[] = [];
    const { reject, world } = createHealthWorld({ services: servicesNamed(30) });
    const lost = [about('rejected', 'acme', 'service-3'), about('rejected', 'acme', 'service-17')];
    world.notify = ({ subject }) => {
      tries.push(subject);
      if (lost.includes(subject)) fail();
    };
    expect(await reject()).toMatchObject({ sent: 28, unsent: 2, failures: ['notifier-down'] });
    expect(new Set(tries).size).toBe(tries.length);
    world.notify = () => undefined;
    expect((await reject()).subjects).toEqual(lost);
  });

  it.each([
    ['none begins at its end', 0, 0],
    ['one begins just before it, and none at its end', 500, 2],
  ])('is left to the next notification for want of time: %s', async (_what, timeMs, sent) => {
    const { reject } = createHealthWorld({ services: servicesNamed(12) });
    expect(await reject({ timeMs })).toMatchObject({ sent, unsent: 12 - sent, failures: [] });
    expect(await reject()).toMatchObject({ sent: 12 - sent, unsent: 0 });
  });

  it('does not hide a bug', async () => {
    const notify = () => fail(new TypeError('a bug'));
    await expect(createHealthWorld({ notify }).tell(rejected(1))).rejects.toThrow('a bug');
  });
});
