import { describe, expect, it } from 'vitest';
import { createPairMemory } from '../../../functions/broker/pair/memory.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../functions/broker/pair/record.ts';
import { START } from '../../support/example.ts';
import { examplePublication, exampleToken } from '../../support/pair-examples.ts';

const MINUTE_MS = 60_000;
const PAIR = { client: 'acme', service: 'customer-insights' };
const OTHER = { client: 'globex', service: 'customer-insights' };
const RECORD: PairRecord = { ...EMPTY_RECORD, fence: 4, token: exampleToken() };
const PAUSE = { until: START + 1, step: 1, problem: { type: 'token-endpoint-unavailable', detail: 'down' } } as const;

function setUp() {
  const clock = { now: START };
  return { clock, memory: createPairMemory(() => clock.now) };
}

const take = (changes = {}) => ({
  seenFence: 4,
  owner: 'me',
  now: START,
  until: START + 6_000,
  outwaited: false,
  forced: false,
  chargedVersion: undefined,
  ...changes,
});

describe('what an environment remembers of a pair', () => {
  it('is trusted for a minute, and nothing is known of others', () => {
    const { clock, memory } = setUp();
    expect(memory.recall(PAIR)).toBeUndefined();
    memory.remember(PAIR, RECORD);
    expect(memory.recall(OTHER)).toBeUndefined();

    clock.now += MINUTE_MS - 1;
    expect(memory.recall(PAIR)).toBe(RECORD);
    clock.now += 1;
    expect(memory.recall(PAIR)).toBeUndefined();
  });

  it('is no newer for being written later', () => {
    const { clock, memory } = setUp();
    clock.now += 5_000;
    memory.remember(PAIR, RECORD, START);
    clock.now = START + MINUTE_MS;
    expect(memory.recall(PAIR)).toBeUndefined();
  });

  it('is not trusted after the clock was set back', () => {
    const { clock, memory } = setUp();
    memory.remember(PAIR, RECORD);
    clock.now -= 1;
    expect(memory.recall(PAIR)).toBeUndefined();
  });

  it('serves for longer when the shared store is down', async () => {
    const { clock, memory } = setUp();
    memory.remember(PAIR, RECORD);
    clock.now += 60 * MINUTE_MS;
    expect(await memory.read(PAIR)).toBe(RECORD);
  });

  it('is of the last thousand pairs', async () => {
    const { memory } = setUp();
    for (let n = 0; n <= 1_000; n += 1) memory.remember({ client: `client-${n}`, service: 's' }, RECORD);
    expect(memory.recall({ client: 'client-0', service: 's' })).toBeUndefined();
    expect(memory.recall({ client: 'client-1', service: 's' })).toBe(RECORD);
  });
});

describe('a latch that only this environment knows', () => {
  it('lies over every record of its pair for 15 minutes', () => {
    const { clock, memory } = setUp();
    memory.latch(PAIR, 'v1');
    const latched = () => [...memory.withOwnLatches(PAIR, RECORD).rejected];
    expect(latched()).toEqual([['v1', { count: 1, at: START, fence: 0 }]]);
    expect(memory.withOwnLatches(OTHER, RECORD)).toBe(RECORD);

    clock.now += 15 * MINUTE_MS - 1;
    expect(latched()).toHaveLength(1);
    clock.now += 1;
    expect(latched()).toHaveLength(0);
  });

  it('leaves what the record says of the version, and makes it later at most', () => {
    const { memory } = setUp();
    memory.latch(PAIR, 'v1');
    memory.latch(PAIR, 'v2');
    const rejected = new Map([
      ['v1', { count: 3, at: START - 1, fence: 7 }],
      ['v2', { count: 1, at: START + 1, fence: 8 }],
      ['v3', { count: 2, at: 5, fence: 6 }],
    ]);
    expect(memory.withOwnLatches(PAIR, { ...RECORD, rejected }).rejected).toEqual(
      new Map([...rejected, ['v1', { count: 3, at: START, fence: 7 }]]),
    );
  });

  it('outlives whatever is remembered', () => {
    const { memory } = setUp();
    memory.latch(PAIR, 'v1');
    memory.remember(PAIR, RECORD);
    expect(memory.recall(PAIR)?.rejected.has('v1')).toBe(true);
  });

  it('is one of few', () => {
    const { memory } = setUp();
    for (let n = 0; n < 100; n += 1) memory.latch(PAIR, `v${n}`);
    const { rejected } = memory.withOwnLatches(PAIR, RECORD);
    expect(rejected.size).toBeLessThan(12);
    expect(rejected.has('v99')).toBe(true);
  });
});

describe('a shared record whose token cannot be opened', () => {
  const SHARED = { ...EMPTY_RECORD, foreignUntil: START + MINUTE_MS };
  const latch = { count: 3, at: START, fence: 1 };

  it('still says that the client is disabled, what is latched and when to wait', async () => {
    const { memory } = setUp();
    memory.remember(PAIR, RECORD);
    memory.adopt(PAIR, { ...SHARED, disabled: true, pause: PAUSE, rejected: new Map([['v1', latch]]) });

    const known = await memory.read(PAIR);
    expect(known).toEqual({ ...RECORD, disabled: true, pause: PAUSE, rejected: new Map([['v1', latch]]) });
  });

  it('says as well that an operator has cleared a latch, but not that of this environment alone', async () => {
    const { memory } = setUp();
    memory.adopt(PAIR, { ...SHARED, rejected: new Map([['v1', latch]]) });
    memory.latch(PAIR, 'v2');
    memory.adopt(PAIR, SHARED);

    expect([...(await memory.read(PAIR)).rejected.keys()]).toEqual(['v2']);
  });
});

describe('memory as the store while the shared one is down', () => {
  it('gives one lease at a time', async () => {
    const { memory } = setUp();
    memory.remember(PAIR, RECORD);
    expect(await memory.acquire(PAIR, take())).toEqual(RECORD);
    expect(await memory.acquire(PAIR, take({ seenFence: 5, owner: 'another call' }))).toBeUndefined();
    await memory.release(PAIR, 5);
    expect(await memory.acquire(PAIR, take({ seenFence: 5, owner: 'another call' }))).toMatchObject({ fence: 5 });
  });

  it('takes what the lease brought, and nothing of a lease that is over', async () => {
    const { memory } = setUp();
    memory.remember(PAIR, RECORD);
    await memory.acquire(PAIR, take());
    expect(await memory.publish(PAIR, 4, examplePublication())).toBe(false);
    expect(await memory.pause(PAIR, 5, PAUSE)).toBe(true);
    expect(await memory.read(PAIR)).toMatchObject({ pause: PAUSE, leaseUntil: 0 });

    await memory.acquire(PAIR, take({ seenFence: 5 }));
    const publication = examplePublication(exampleToken({ fingerprint: 'new' }));
    expect(await memory.publish(PAIR, 6, publication)).toBe(true);
    expect(await memory.read(PAIR)).toMatchObject({ token: publication.token, pause: undefined });
  });

  it('latches what was rejected, whatever the fence, and ends my lease only', async () => {
    const { memory } = setUp();
    memory.remember(PAIR, RECORD);
    await memory.acquire(PAIR, take());
    await memory.reject(PAIR, 3, { version: 'v1', at: START, goneVersions: [] });
    expect(await memory.read(PAIR)).toMatchObject({ leaseOwner: 'me' });

    await memory.reject(PAIR, 5, { version: 'v2', at: START, goneVersions: [] });
    const known = await memory.read(PAIR);
    expect(known.leaseOwner).toBeUndefined();
    expect([...known.rejected.keys()]).toEqual(['v1', 'v2']);
  });
});
