import { describe, expect, it } from 'vitest';
import { pairsOf } from '../../../functions/broker/health/run.ts';
import { pairKey } from '../../../functions/broker/pair/pair.ts';
import { createHealthWorld, except, SERVICE } from '../../support/health-world.ts';

describe('a run', () => {
  it('records every answer, and how long it took', async () => {
    const { run, recorded } = createHealthWorld({
      clients: [{ client: 'acme' }],
      answer: (_, count) => (count === 1 ? { failure: 'timeout', afterMs: 700 } : { finding: 'disabled', afterMs: 30 }),
    });
    await run();
    const pair = { client: 'acme', service: SERVICE };
    expect(recorded).toMatchObject([
      { pair, answer: { kind: 'failed', failure: 'timeout' }, milliseconds: 700 },
      { pair, answer: { kind: 'checked', finding: 'disabled' }, milliseconds: 30 },
    ]);
  });

  it('names the services that answered hardly any check, in each run in which it is so', async () => {
    const { run, world } = createHealthWorld({
      services: ['down', 'up'],
      answer: ({ service }) => (service === 'down' ? 'unreachable' : 'accepted'),
    });
    expect((await run()).incidents).toEqual(['down']);
    expect((await run()).incidents).toEqual(['down']);
    world.answer = () => 'accepted';
    expect((await run()).incidents).toEqual([]);
  });

  it('tells how many clients there are, and which tags name an unknown service', async () => {
    const { run } = createHealthWorld({ clients: [{ client: 'acme', services: 'none-such' }, { client: 'globex' }] });
    const { clients, unknown, checked } = await run();
    expect(clients).toBe(2);
    expect(unknown.map(pairKey)).toEqual(['acme/none-such']);
    expect(checked.map(({ pair }) => pairKey(pair))).toEqual([`globex/${SERVICE}`]);
  });

  it('that is short has three fifths of its time for the checks', async () => {
    const { run } = createHealthWorld({ timeoutMs: 10_000, answer: () => ({ finding: 'accepted', afterMs: 60_000 }) });
    expect((await run()).milliseconds).toBe(6_000);
  });
});

describe('a pair that the memory knows and the list shows no more', () => {
  const gone = (finding: 'rejected' | 'secret-missing') => except({ [`acme/${SERVICE}`]: finding });
  const createWorld = async () => {
    const health = createHealthWorld({ clients: [{ client: 'acme' }], answer: gone('rejected') });
    await health.run();
    health.world.clients = [{ client: 'globex' }];
    return health;
  };

  it('is checked, so that the broker can take its token out of use, and forgotten without a message', async () => {
    const { run, world, checks } = await createWorld();
    world.answer = gone('secret-missing');
    const { checked, subjects } = await run();
    expect(checked.map(({ pair, finding }) => `${pairKey(pair)} ${finding}`)).toEqual([
      `acme/${SERVICE} secret-missing`,
      `globex/${SERVICE} accepted`,
    ]);
    expect(subjects).toEqual([]);
    const before = checks.length;
    expect((await run()).subjects).toEqual([]);
    expect(checks.slice(before).map(({ pair }) => pair.client)).toEqual(['globex']);
  });

  it('is still told about where it is not gone', async () => {
    const { run, world } = await createWorld();
    world.answer = except({ [`acme/${SERVICE}`]: 'misconfigured' });
    expect((await run()).subjects).toEqual([`[token-broker dev] misconfigured: acme on ${SERVICE}`]);
  });

  it('is left out by a run that cannot read its memory', async () => {
    const { run, memories } = await createWorld();
    memories.fail(1);
    expect((await run()).checked.map(({ pair }) => pair.client)).toEqual(['globex']);
  });

  it('is no reason to go on after a bug', async () => {
    const { start, clock, memories } = await createWorld();
    const bug = new TypeError('a bug');
    const reading = clock.run(start({ ...memories.store, read: () => Promise.reject(bug) }));
    await expect(reading).rejects.toBe(bug);
  });
});

const CONFIGURED = ['customer-insights', 'merchant-payment-cleansing'];

describe('the pairs of the listed clients', () => {
  it.each<[string | undefined, readonly string[], readonly string[]]>([
    [undefined, CONFIGURED, []],
    ['customer-insights', ['customer-insights'], []],
    ['  customer-insights   customer-insights ', ['customer-insights'], []],
    ['customer-insights no-such-service', ['customer-insights'], ['no-such-service']],
    ['Customer-Insights', [], ['Customer-Insights']],
    ['', [], []],
  ])('takes the tag %j for the services of a client', (services, pairs, unknown) => {
    expect(pairsOf([{ client: 'acme', services }], CONFIGURED)).toEqual({
      pairs: pairs.map((service) => ({ client: 'acme', service })),
      unknown: unknown.map((service) => ({ client: 'acme', service })),
    });
  });
});
