import { describe, expect, it } from 'vitest';
import type { ProbeAnswer } from '../../../functions/broker/health/evaluate.ts';
import { pairsOf, probeAccess } from '../../../functions/broker/health/run.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair/pair.ts';
import type { Finding } from '../../../functions/contract.ts';
import { START } from '../../support/example.ts';
import { createHealthWorld, except, SERVICE } from '../../support/health-world.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

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

const CLIENTS = ['acme', 'acme-2', 'acme.old', 'globex', 'initech', 'umbrella', 'Wayne'];

describe.each([1, 2, 3, 4, 5])('whichever checks end first (%i)', (seed) => {
  it('gives the pairs by client, and those of a client by service', async () => {
    const { checked, missed } = await runWithDelays(seed, ({ client }) =>
      client.startsWith('acme') ? { failure: 'timeout' } : { finding: 'rejected' },
    );
    expect(checked.map(({ pair }) => pairKey(pair))).toEqual(
      ['Wayne', 'globex', 'initech', 'umbrella'].flatMap((client) => [`${client}/one`, `${client}/two`]),
    );
    expect(missed.map(({ pair }) => pairKey(pair))).toEqual(
      ['acme', 'acme-2', 'acme.old'].flatMap((client) => [`${client}/one`, `${client}/two`]),
    );
  });

  it('counts what failed in the same sentence', async () => {
    const { detail } = await runWithDelays(
      seed,
      (pair) => ({ failure: pairKey(pair) === 'acme/two' ? 'timeout' : 'internal' }),
      ['acme', 'globex'],
    );
    expect(detail).toBe('No check brought a finding: internal (3), timeout (1).');
  });
});

const DENIED: ProbeAnswer = { condition: 'denied', said: 'access-denied' };

describe('the role that must be refused', () => {
  it('is tried in each run, on a pair that there is, and says nothing while it is refused', async () => {
    const { world, run, probed } = createHealthWorld();
    expect((await run()).subjects).toEqual([]);
    expect((await run()).subjects).toEqual([]);
    expect(probed).toHaveLength(2);
    for (const { client } of probed) expect(world.clients.map((listed) => listed.client)).toContain(client);
  });

  it('is tried on one pair as well as on another', async () => {
    const { run, probed } = createHealthWorld();
    for (let runs = 0; runs < 20; runs += 1) await run();
    expect(new Set(probed.map(({ client }) => client)).size).toBeGreaterThan(5);
  });

  it('is tried although there is no client', async () => {
    const { run, probed } = createHealthWorld({ clients: [] });
    expect(await run()).toMatchObject({ probe: DENIED });
    expect(probed).toEqual([{ client: 'no-such-client', service: 'customer-insights' }]);
  });

  it('causes a message when it is not refused, one when it is again, and none in between', async () => {
    const { world, run, messages } = createHealthWorld();
    world.probe = () => ({ condition: 'not-denied', said: 'a-token' });
    expect((await run()).subjects).toEqual([
      '[token-broker dev] SECURITY: a role without an access rule was not refused',
    ]);
    expect(messages[0]?.text).toContain('The answer was: a-token.');
    expect((await run()).subjects).toEqual([]);
    world.probe = () => DENIED;
    expect((await run()).subjects).toEqual(['[token-broker dev] a role without an access rule is refused again']);
  });

  it('is tried again when an attempt proves nothing', async () => {
    const { world, run } = createHealthWorld();
    const answers: ProbeAnswer[] = [
      { condition: 'unproven', said: 'timeout' },
      { condition: 'unproven', said: 'timeout' },
    ];
    world.probe = () => answers.shift() ?? DENIED;
    expect(await run()).toMatchObject({ probe: DENIED, subjects: [] });
  });

  it('causes a message when no attempt proves anything', async () => {
    const { world, run, probed } = createHealthWorld();
    world.probe = () => ({ condition: 'unproven', said: 'aws-forbidden' });
    expect((await run()).subjects).toEqual([
      '[token-broker dev] not proven that roles without an access rule are refused',
    ]);
    expect(probed).toHaveLength(3);
  });

  it('causes a message when it was not refused, although the broker has no findings', async () => {
    const { world, run } = createHealthWorld({ answer: () => ({ failure: 'access-denied' }) });
    world.probe = () => ({ condition: 'not-denied', said: 'a-token' });
    expect((await run()).subjects).toEqual([
      '[token-broker dev] incident: the broker checks no credential',
      '[token-broker dev] SECURITY: a role without an access rule was not refused',
    ]);
  });
});

describe('the time of the tries', () => {
  it.each([
    ['is twenty seconds, and five in between', 100_000, [20_000, 20_000, 20_000]],
    ['is what is left', 15_000, [15_000, 10_000, 5_000]],
    ['ends them where no time would be left after the next pause', 10_000, [10_000, 5_000]],
    ['leaves a millisecond to a run that has none', 0, [1]],
  ])('%s', async (_what, timeMs, expected) => {
    const clock = new VirtualClock(START);
    const timeouts: number[] = [];
    const askAsProbe = async (_pair: unknown, timeoutMs: number): Promise<ProbeAnswer> => {
      timeouts.push(timeoutMs);
      return { condition: 'unproven', said: 'timeout' };
    };
    const pair = { client: 'acme', service: 'customer-insights' };
    await clock.run(probeAccess(pair, START + timeMs, { ...clock, askAsProbe }));
    expect(timeouts).toEqual(expected);
  });
});

/** A run in which every check takes its own time. */
async function runWithDelays(
  seed: number,
  answer: (pair: Pair) => { readonly finding: Finding } | { readonly failure: string },
  clients: readonly string[] = CLIENTS,
) {
  const random = seededRandom(seed);
  const { run, messages } = createHealthWorld({
    services: ['two', 'one'],
    clients: clients.map((client) => ({ client })),
    answer: (pair) => ({ ...answer(pair), afterMs: Math.floor(random() * 5_000) }),
  });
  const result = await run();
  return { ...result, detail: messages[0]?.text.split('\n\n')[1] };
}
