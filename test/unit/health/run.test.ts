import { describe, expect, it } from 'vitest';
import { pairKey } from '../../../functions/broker/pair.ts';
import { checkPairs } from '../../../functions/health/rules/check-pairs.ts';
import { pairsOf } from '../../../functions/health/rules/run.ts';
import { MINUTE_MS, START } from '../../support/example.ts';
import { clientsNamed, createHealthWorld, DENIED, except, MESSAGE_MS, SERVICE, servicesNamed } from './health-world.ts';

const NOT_REFUSED = '[token-broker dev] SECURITY: a role without an access rule was not refused';

describe('the pace of a run', () => {
  it.each([
    ['a thousand pairs on slow services', 1_000, 2_900, 60 * MINUTE_MS, 10 * MINUTE_MS],
    ['a few pairs', 4, 100, 60 * MINUTE_MS, 5_000],
    ['many, well before the next run begins', 1_000, 100, 4 * MINUTE_MS, 3.5 * MINUTE_MS],
  ])('is fast enough for %s', async (_what, count, afterMs, intervalMs, limitMs) => {
    const { run } = createHealthWorld({ clients: clientsNamed(count), intervalMs, answer: () => ({ afterMs }) });
    const { checked, milliseconds } = await run();
    expect(checked).toHaveLength(count);
    expect(milliseconds).toBeLessThan(limitMs);
  });

  it('has at most five checks under way, and catches up evenly after a standstill, not in a burst', async () => {
    const answer = (_: unknown, count: number) => ({ afterMs: count <= 5 ? 19_000 : 10 });
    const { run, checks } = createHealthWorld({ clients: clientsNamed(1_000), answer });
    await run();
    const gaps = checks.slice(6).map(({ at }, index) => at - (checks[index + 5]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(400);
    expect(Math.max(...checks.map(({ atOnce }) => atOnce))).toBe(5);
  });

  it('waits for no time that has passed, although the clock goes on between two looks at it', async () => {
    const { dependencies, clock } = createHealthWorld();
    const waits: number[] = [];
    let time = START;
    const moving = { now: () => time++, sleep: async (ms: number) => void waits.push(ms) };
    const pairs = ['acme', 'globex'].map((client) => ({ client, service: SERVICE }));
    const ends = { windowEndsAt: START, endsAt: START + MINUTE_MS };
    await clock.run(checkPairs(pairs, ends, Math.random, { ...dependencies, ...moving }));
    expect(waits).toEqual([0, 0]);
  });

  it('takes the pairs in another order each time', async () => {
    const { run, checks } = createHealthWorld();
    await run();
    await run();
    const keys = checks.map(({ pair }) => pairKey(pair));
    expect(keys.slice(0, 10)).not.toEqual(keys.slice(10));
    expect(keys.slice(0, 10).toSorted()).toEqual(keys.slice(10).toSorted());
  });
});

describe('a run whose time is up', () => {
  it('ends before its deadline, waits for no check beyond it, and names the pairs that it did not reach', async () => {
    const { run } = createHealthWorld({
      clients: clientsNamed(1_000),
      timeoutMs: 3 * MINUTE_MS,
      answer: (_, count) => ({ afterMs: count % 30 === 0 ? 60 * MINUTE_MS : 4_000 }),
    });
    const { checked, missed, milliseconds } = await run();
    expect(milliseconds).toBeLessThan(3 * MINUTE_MS - 10_000);
    expect(checked.length).toBeGreaterThan(100);
    expect(missed.some(({ reason }) => reason === 'out-of-time')).toBe(true);
    expect(new Set([...checked, ...missed].map(({ pair }) => pairKey(pair))).size).toBe(1_000);
  });

  it('does not blame the broker for a check that it cut short', async () => {
    const answer = () => ({ afterMs: 60 * MINUTE_MS });
    const { run, checks } = createHealthWorld({ timeoutMs: MINUTE_MS, clients: clientsNamed(1), answer });
    expect(await run()).toMatchObject({ missed: [{ reason: 'out-of-time' }], subjects: [] });
    expect(checks).toHaveLength(2);
  });

  it.each([0, 10_000])('has three fifths of a short time for the checks: %i ms', async (timeoutMs) => {
    const { run, checks } = createHealthWorld({ timeoutMs, answer: () => ({ afterMs: MINUTE_MS }) });
    expect(await run()).toMatchObject({ checked: [], missed: { length: 10 }, milliseconds: timeoutMs * 0.6 });
    expect(checks.length).toBeLessThanOrEqual(5);
  });
});

it('a run begins no message so late that it could not be remembered', async () => {
  const answer = () => ({ finding: 'rejected', afterMs: 0 }) as const;
  const { run } = createHealthWorld({ services: servicesNamed(60), timeoutMs: 10_000, answer });
  const { reported, milliseconds } = await run();
  expect(reported.unsent).toBeGreaterThan(0);
  expect(milliseconds).toBeLessThanOrEqual(8_000 + MESSAGE_MS);
});

describe('a service that does not answer', () => {
  it('is only sampled after ten in a row', async () => {
    const { run } = createHealthWorld({
      services: ['down', 'up'],
      clients: clientsNamed(500),
      answer: ({ service }) => (service === 'down' ? { finding: 'unreachable', afterMs: 8_000 } : 'accepted'),
    });
    const { checked, missed, milliseconds } = await run();
    const { down = [], up = [] } = Object.groupBy(checked, ({ pair }) => (pair.service === 'up' ? 'up' : 'down'));
    // Ten, the checks that are under way with them, then every tenth.
    expect(down.length).toBeGreaterThanOrEqual(59);
    expect(down.length).toBeLessThanOrEqual(64);
    expect(missed).toHaveLength(500 - down.length);
    expect(new Set(missed.map(({ reason }) => reason))).toEqual(new Set(['sampled']));
    expect(up).toHaveLength(500);
    expect(milliseconds).toBeLessThan(10 * MINUTE_MS);
  });

  it.each(['unreachable', { failure: 'timeout' }] as const)(
    'is checked completely from the first answer on, as by a broker that had none: %j',
    async (answer) => {
      const { run, world } = createHealthWorld({ clients: clientsNamed(300) });
      world.answer = (_, count) => (count <= 20 ? answer : 'accepted');
      expect((await run()).checked.length).toBeGreaterThan(190);
    },
  );

  it('is not taken for answering because callers got tokens earlier, or because secrets are missing', async () => {
    const traffic = { finding: 'accepted', provenBy: 'traffic' } as const;
    const missing = { finding: 'secret-missing', provenBy: 'secret' } as const;
    const { run, world } = createHealthWorld({ clients: clientsNamed(300) });
    world.answer = (_, count) => [traffic, missing][count % 3] ?? 'unreachable';
    expect((await run()).missed.length).toBeGreaterThan(200);
  });
});

describe('a broker that does not answer', () => {
  it.each([
    ['once more', 'aws-throttled', 1, 2, []],
    ['no third time', 'secrets-unavailable', 9, 2, [{ reason: 'failed', failure: 'secrets-unavailable' }]],
    ['not again when it will not help', 'access-denied', 9, 1, [{ reason: 'failed', failure: 'access-denied' }]],
  ])('is asked about a pair %s', async (_what, failure, failing, asked, missed) => {
    const answer = (_: unknown, count: number) => (count <= failing ? { failure } : 'accepted');
    const { run, recorded } = createHealthWorld({ clients: clientsNamed(1), answer });
    expect(await run()).toMatchObject({ missed });
    // Every answer is recorded with its duration.
    const pair = { client: 'client-0', service: SERVICE };
    expect(recorded).toMatchObject(Array(asked).fill({ pair, milliseconds: 100 }));
  });

  it('is only sampled after ten in a row', async () => {
    const { run, checks } = createHealthWorld({ clients: clientsNamed(1_000), answer: () => ({ failure: 'timeout' }) });
    expect(await run()).toMatchObject({ missed: { length: 1_000 } });
    expect(checks.length).toBeLessThan(250);
  });
});

describe('a pair that the memory knows and the list shows no more', () => {
  const createWorld = async () => {
    const answer = except({ [`acme/${SERVICE}`]: 'rejected' });
    const health = createHealthWorld({ clients: [{ client: 'acme' }], answer });
    await health.run();
    health.world.clients = [{ client: 'globex' }];
    return health;
  };

  it.each(['secret-missing', 'disabled'] as const)(
    'is checked, so that its token is taken out of use, and when it is %s forgotten without a message',
    async (finding) => {
      const { run, world, checks } = await createWorld();
      world.answer = except({ [`acme/${SERVICE}`]: finding });
      const { checked, subjects } = await run();
      const found = checked.map((one) => `${one.pair.client} ${one.finding}`);
      expect(found.toSorted()).toEqual([`acme ${finding}`, 'globex accepted']);
      expect(subjects).toEqual([]);
      expect((await run()).subjects).toEqual([]);
      expect(checks.at(-1)?.pair.client).toBe('globex');
      expect(checks).toHaveLength(4);
    },
  );

  it('is still reported where it is not gone', async () => {
    const { run, world } = await createWorld();
    world.answer = except({ [`acme/${SERVICE}`]: 'misconfigured' });
    expect((await run()).subjects).toEqual([`[token-broker dev] misconfigured: acme on ${SERVICE}`]);
  });

  it('is left out by a run that cannot read its memory', async () => {
    const { run, memories } = await createWorld();
    memories.fail(1);
    expect((await run()).checked.map(({ pair }) => pair.client)).toEqual(['globex']);
  });
});

const CONFIGURED = ['customer-insights', 'merchant-payment-cleansing'];

it.each<[string | undefined, readonly string[], readonly string[]]>([
  [undefined, CONFIGURED, []],
  ['  customer-insights   customer-insights ', ['customer-insights'], []],
  ['customer-insights no-such-service', ['customer-insights'], ['no-such-service']],
  ['', [], []],
])('the tag %j names the services of a client', async (services, pairs, unknown) => {
  const of = (names: readonly string[]) => names.map((service) => ({ client: 'acme', service }));
  const clients = [{ client: 'acme', services }];
  expect(pairsOf(clients, CONFIGURED)).toEqual({ pairs: of(pairs), unknown: of(unknown) });
  const { run } = createHealthWorld({ clients, services: CONFIGURED });
  expect(await run()).toMatchObject({ clients: 1, unknown: of(unknown), checked: { length: pairs.length } });
});

describe('the role that must be refused', () => {
  it('is tried once in each run, on one pair as well as on another, and says nothing while it is refused', async () => {
    const { run, probed } = createHealthWorld();
    for (let runs = 0; runs < 20; runs += 1) expect((await run()).subjects).toEqual([]);
    expect(probed).toHaveLength(20);
    expect(new Set(probed.map(({ pair }) => pair.client)).size).toBeGreaterThan(5);
    const none = createHealthWorld({ clients: [] });
    expect(await none.run()).toMatchObject({ probe: DENIED });
    expect(none.probed).toMatchObject([{ pair: { client: 'no-such-client', service: SERVICE } }]);
  });

  it('causes a message when it is not refused, one when it is again, and none in between', async () => {
    const { world, run, messages } = createHealthWorld();
    world.probe = () => ({ condition: 'not-denied', said: 'a-token' });
    expect((await run()).subjects).toEqual([NOT_REFUSED]);
    expect(messages[0]?.text).toContain('The answer was: a-token.');
    expect((await run()).subjects).toEqual([]);
    world.probe = () => DENIED;
    expect((await run()).subjects).toEqual(['[token-broker dev] a role without an access rule is refused again']);
  });

  it.each([
    ['three times, of twenty seconds each', 720_000, [20_000, 20_000, 20_000]],
    ['only while there would be time after the next pause', 15_000, [9_000, 4_000]],
  ])('causes a message when no attempt proves anything: it is tried %s', async (_what, timeoutMs, timeouts) => {
    const { world, run, probed } = createHealthWorld({ timeoutMs });
    world.probe = () => ({ condition: 'unproven', said: 'aws-forbidden' });
    expect((await run()).subjects).toEqual([
      '[token-broker dev] not proven that roles without an access rule are refused',
    ]);
    expect(probed.map((attempt) => attempt.timeoutMs)).toEqual(timeouts);
  });

  it('causes a message when it was not refused, although the broker has no findings', async () => {
    const { world, run } = createHealthWorld({ answer: () => ({ failure: 'access-denied' }) });
    world.probe = () => ({ condition: 'not-denied', said: 'a-token' });
    const incident = '[token-broker dev] incident: the broker checks no credential';
    expect((await run()).subjects).toEqual([incident, NOT_REFUSED]);
  });
});
