import { describe, expect, it } from 'vitest';
import type { CheckedPair } from '../../../functions/broker/health/check-pairs.ts';
import { NotificationFailure, type NotificationMemories } from '../../../functions/broker/health/notify.ts';
import { clientsNamed, createHealthWorld, except, SERVICE } from '../../support/health-world.ts';

const ACME = { client: 'acme', service: SERVICE };
const about = (finding: string, client = 'acme') => `[token-broker dev] ${finding}: ${client} on ${SERVICE}`;

/** Ten clients and acme, which is the one that changes. */
function createWorld(...[changes = {}]: Parameters<typeof createHealthWorld>) {
  const health = createHealthWorld({ clients: [...clientsNamed(10), { client: 'acme' }], ...changes });
  const acmeIs = (answer: Parameters<typeof except>[0][string]) => {
    health.world.answer = except({ [`acme/${SERVICE}`]: answer });
  };
  return { ...health, acmeIs };
}

describe('what operators are told', () => {
  it('is nothing as long as everything is accepted', async () => {
    const { run, memories } = createWorld();
    expect((await run()).subjects).toEqual([]);
    expect((await run()).subjects).toEqual([]);
    expect(memories.writes).toEqual([]);
  });

  it('is that one client is rejected, once in a hundred runs, and that it is accepted again', async () => {
    const { run, acmeIs, messages } = createWorld();
    await run();
    acmeIs('rejected');
    for (let runs = 0; runs < 100; runs += 1) await run();
    expect(messages.map(({ subject }) => subject)).toEqual([about('rejected')]);
    expect(messages[0]?.text).toMatch(/ client retry acme --environment dev\n$/);
    acmeIs('accepted');
    expect((await run()).subjects).toEqual([about('accepted')]);
    expect((await run()).subjects).toEqual([]);
  });

  it.each([
    'rejected',
    'throttled',
    'unreachable',
    'misconfigured',
    'secret-missing',
    'secret-malformed',
    'disabled',
  ] as const)('is that a pair is %s the first time that it is seen', async (finding) => {
    const { run, acmeIs } = createWorld();
    acmeIs(finding);
    expect((await run()).subjects).toEqual([about(finding)]);
  });

  it('is nothing about a pair that this run did not reach', async () => {
    const { run, acmeIs, world } = createWorld();
    acmeIs('rejected');
    await run();
    world.answer = ({ client }) => (client === 'acme' ? { failure: 'timeout' } : 'accepted');
    expect((await run()).subjects).toEqual([]);
    acmeIs('rejected');
    expect((await run()).subjects).toEqual([]);
  });

  it('is that a tag names a service that is not configured, once', async () => {
    const { run, world, checks } = createWorld();
    world.clients = [{ client: 'acme', services: `no-such-service ${SERVICE} no-such-service` }];
    const { subjects } = await run();
    expect(subjects).toEqual(['[token-broker dev] service-unknown: acme on no-such-service']);
    expect((await run()).subjects).toEqual([]);
    expect(checks.map(({ pair }) => pair)).toEqual([ACME, ACME]);
    const { clients } = world;
    world.clients = [{ client: 'acme', services: SERVICE }];
    expect((await run()).subjects).toEqual([]);
    world.clients = clients;
    expect((await run()).subjects).toEqual(subjects);
  });
});

describe('a message that does not get out', () => {
  it('is sent by the next run, once', async () => {
    const { run, acmeIs, world } = createWorld();
    acmeIs('rejected');
    world.notify = () => {
      throw new NotificationFailure('notifier-down');
    };
    expect(await run()).toMatchObject({ subjects: [], reported: { sent: 0, unsent: 1, failures: ['notifier-down'] } });
    world.notify = () => undefined;
    expect(await run()).toMatchObject({ subjects: [about('rejected')], reported: { sent: 1, unsent: 0 } });
    expect((await run()).subjects).toEqual([]);
  });

  it('keeps no other from getting out, and is told apart from them', async () => {
    const { run, world } = createWorld({ clients: clientsNamed(30), answer: () => 'rejected' });
    const lost = new Set([about('rejected', 'client-3'), about('rejected', 'client-17')]);
    world.notify = ({ subject }) => {
      if (lost.has(subject)) throw new NotificationFailure('notifier-down');
    };
    expect((await run()).reported).toMatchObject({ sent: 28, unsent: 2 });
    world.notify = () => undefined;
    expect(new Set((await run()).subjects)).toEqual(lost);
  });

  it('costs the run no more than one batch of tries when nothing gets out', async () => {
    const { run, world } = createWorld({ clients: clientsNamed(30), answer: () => 'rejected' });
    let tries = 0;
    world.notify = () => {
      tries += 1;
      throw new NotificationFailure('notifier-down');
    };
    expect((await run()).reported).toMatchObject({ sent: 0, unsent: 30 });
    expect(tries).toBe(5);
  });
});

describe('a memory that fails', () => {
  it('lets nothing out while it cannot be read, until it is back', async () => {
    const { run, acmeIs, memories } = createWorld();
    acmeIs('rejected');
    memories.fail(100);
    const { subjects, reported } = await run();
    expect(subjects).toEqual([]);
    expect(reported.failures).toContain('memory-unavailable');
    memories.fail(0);
    expect((await run()).subjects).toEqual([about('rejected')]);
  });

  it('holds no more than it has room for, and no message is out that it does not hold', async () => {
    const clients = clientsNamed(2_000);
    const checked = clients.map(({ client }) => checkedPair({ client, service: SERVICE }, 'rejected', 0));
    const { newNotify, clock, messages, memories } = createHealthWorld();
    const report = () => clock.run(newNotify()(seen(checked), clock.now() + 600_000));
    expect(await report()).toMatchObject({ sent: 1_500, unsent: 500 });
    expect(await report()).toMatchObject({ sent: 0, unsent: 500 });
    expect(messages).toHaveLength(1_500);
    expect(memories.items.get(SERVICE)?.entries.size).toBe(1_500);
  });

  it('is told what has changed about a pair that it holds, although it has no more room', async () => {
    const checked = clientsNamed(1_500).map(({ client }) => checkedPair({ client, service: SERVICE }, 'rejected', 0));
    const { newNotify, clock, messages } = createHealthWorld();
    const report = (pairs: readonly CheckedPair[]) => clock.run(newNotify()(seen(pairs), clock.now() + 600_000));
    await report(checked);
    const [one, ...others] = clientsNamed(1_501).map(({ client }) => client);
    const changed = checkedPair({ client: `${one}`, service: SERVICE }, 'disabled', 1);
    const fresh = checkedPair({ client: `${others.at(-1)}`, service: SERVICE }, 'disabled', 1);
    expect(await report([fresh, changed])).toMatchObject({ sent: 1, unsent: 1 });
    expect(messages.at(-1)?.subject).toBe(about('disabled', `${one}`));
  });
});

describe('two runs at once', () => {
  it.each([0, 1, 19, 25, 60, 5_000])('send every message, and each at most twice, %i ms apart', async (lagMs) => {
    const { start, clock, world, messages } = createWorld({ clients: clientsNamed(40) });
    world.answer = ({ client }) => (client.endsWith('3') ? 'rejected' : 'accepted');
    const second = clock.sleep(lagMs).then(() => start());
    await clock.run(Promise.all([start(), second]));
    const counts = Map.groupBy(messages, ({ subject }) => subject);
    expect([...counts.keys()].toSorted()).toEqual(
      ['client-13', 'client-23', 'client-3', 'client-33'].map((client) => about('rejected', client)),
    );
    // A message takes 20 ms to send: after that the memory of the first run says that it is out.
    for (const [, sent] of counts) expect(sent.length).toBeLessThanOrEqual(lagMs > 20 ? 1 : 2);
  });

  it('lose no message when one of them dies before it has written its memory', async () => {
    const { start, clock, acmeIs, memories, messages } = createWorld();
    acmeIs('rejected');
    const dying: NotificationMemories = { ...memories.store, write: () => new Promise(() => undefined) };
    void start(dying);
    await clock.run(start());
    expect(messages.map(({ subject }) => subject)).toContain(about('rejected'));
    expect(memories.items.get(SERVICE)?.entries.size).toBeGreaterThan(0);
  });

  it('do not take a finding back for one that is older', async () => {
    const { newNotify, clock, messages } = createHealthWorld();
    const report = (finding: 'accepted' | 'rejected', at: number) =>
      clock.run(newNotify()(seen([checkedPair(ACME, finding, at)]), clock.now() + 60_000));
    const start = clock.now();
    await report('rejected', start + 4);
    await report('rejected', start + 10);
    await report('accepted', start + 5);
    expect(messages.map(({ subject }) => subject)).toEqual([about('rejected')]);
    await report('accepted', start + 20);
    await report('rejected', start + 15);
    expect(messages.map(({ subject }) => subject)).toEqual([about('rejected'), about('accepted')]);
  });
});

describe('a look at a few pairs', () => {
  it('shares the memory of the runs, begins and ends no incident, and says nothing about silence during one', async () => {
    const { world, run, newNotify, clock, messages } = createHealthWorld();
    const look = async (finding: 'accepted' | 'rejected' | 'unreachable', client = 'client-1') => {
      const before = messages.length;
      const checked = [checkedPair({ client, service: SERVICE }, finding, clock.now())];
      await clock.run(newNotify()(seen(checked), clock.now() + 60_000));
      return messages.slice(before).map(({ subject }) => subject);
    };
    expect(await look('rejected')).toEqual([about('rejected', 'client-1')]);
    world.answer = except({ [`client-1/${SERVICE}`]: 'rejected' });
    expect((await run()).subjects).toEqual([]);
    world.answer = () => 'unreachable';
    expect((await run()).subjects).toHaveLength(1);
    expect(await look('unreachable')).toEqual([]);
    expect(await look('accepted')).toEqual([about('accepted', 'client-1')]);
    expect((await run()).subjects).toEqual([]);
  });
});

it('does not forget what an event told of a client that the list does not show yet', async () => {
  const { world, start, run, newNotify, clock, messages } = createHealthWorld();
  const checked = [checkedPair(ACME, 'rejected', clock.now())];
  await clock.run(newNotify()(seen(checked), clock.now() + 60_000));
  world.answer = except({ [`acme/${SERVICE}`]: 'rejected' });
  await clock.run(start());
  world.clients = [...world.clients, { client: 'acme' }];
  await run();
  expect(messages.map(({ subject }) => subject)).toEqual([about('rejected')]);
});

function seen(checked: readonly CheckedPair[]) {
  return { kind: 'client', service: SERVICE, checked } as const;
}

function checkedPair(pair: CheckedPair['pair'], finding: CheckedPair['finding'], at: number): CheckedPair {
  return { pair, finding, provenBy: 'request', version: 'v1', checkedAt: at, at };
}
