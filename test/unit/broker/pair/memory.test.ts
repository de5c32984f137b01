import { describe, expect, it } from 'vitest';
import { createPairMemory } from '../../../../functions/broker/pair/memory.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import type { TaggedRecord } from '../../../../functions/broker/pair/store.ts';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import { HOUR_MS, MINUTE_MS, START } from '../../../support/example.ts';
import { closedToken, exampleToken, exampleWait, latches } from '../../../support/pair/pair-examples.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };
const OTHER = { ...PAIR, client: 'globex' };
const STOP = { since: START };
const STOPPED = { token: undefined, disabled: STOP };
const RECORD: PairRecord = { ...EMPTY_RECORD, token: exampleToken() };

function setUp() {
  const clock = { now: START };
  const memory = createPairMemory(() => clock.now);
  const learn = (record: PairRecord, pair = PAIR) => memory.remember(pair, async () => ({ record, tag: 'a' }));
  return { clock, memory, learn };
}

describe('what an instance remembers of a pair', () => {
  it.each([
    ['at once', 0, RECORD],
    ['for a minute', MINUTE_MS - 1, RECORD],
    ['no longer than a minute', MINUTE_MS, undefined],
    ['not after the clock was set back', -1, undefined],
  ])('is trusted %s, from the start of the call that read it, and stays known', async (_, laterMs, trusted) => {
    const { clock, memory } = setUp();
    await memory.remember(PAIR, async () => {
      clock.now += 500;
      return { record: RECORD, tag: 'a' };
    });
    clock.now = START + laterMs;

    expect([memory.trusted(PAIR), memory.last(PAIR)]).toEqual([trusted, RECORD]);
  });

  it('is not replaced by a reading that was overtaken, and not touched by those of other pairs', async () => {
    const { memory, learn } = setUp();
    const slow = Promise.withResolvers<TaggedRecord>();
    const readings = [PAIR, OTHER].map((pair) => memory.remember(pair, () => slow.promise));
    await learn(RECORD);
    slow.resolve({ record: EMPTY_RECORD, tag: 'a' });
    await Promise.all(readings);

    expect([memory.trusted(PAIR), memory.trusted(OTHER)]).toEqual([RECORD, EMPTY_RECORD]);
  });

  it('has no time in it that no right clock can have written', async () => {
    const { memory, learn } = setUp();
    await learn({ ...RECORD, forcedAt: START + HOUR_MS });
    expect(memory.trusted(PAIR)).toEqual(RECORD);
  });

  it.each<[string, Partial<PairRecord>, Partial<PairRecord>]>([
    ['stays beside one that cannot be opened', { token: closedToken() }, RECORD],
    ['goes with a stop, also of a token that cannot be opened', { token: closedToken(), disabled: STOP }, STOPPED],
    ['goes with a stop, for as long as the instance lives', { ...RECORD, disabled: STOP }, STOPPED],
    ['goes when the table has none', {}, { token: undefined }],
    ['goes after its end, also for one that cannot be opened', { token: closedToken() }, { token: closedToken() }],
  ])('of a living token %s', async (what, changes, expected) => {
    const { memory, learn } = setUp();
    await learn(what.includes('end,') ? { ...RECORD, token: exampleToken({ expiresAt: START }) } : RECORD);
    await learn({ ...EMPTY_RECORD, ...changes });
    expect(memory.last(PAIR)).toEqual({ ...EMPTY_RECORD, ...expected });
  });

  it('loses the tokens of a client that was stopped, and of no other, and a look that began before brings none', async () => {
    const { memory, learn } = setUp();
    const [all, begun] = [[PAIR, { ...PAIR, service: 'billing' }, OTHER, { ...PAIR, client: 'acme-2' }], PAIR];
    for (const pair of all) await learn({ ...RECORD, attemptedAt: START - 1 }, pair);
    const slow = Promise.withResolvers<TaggedRecord>();
    const reading = memory.remember(begun, () => slow.promise);
    memory.dropTokens('acme');
    slow.resolve({ record: RECORD, tag: 'a' });
    await reading;

    expect(all.map((pair) => memory.last(pair).token !== undefined)).toEqual([false, false, true, true]);
    expect(memory.trusted(PAIR)).toEqual({ ...EMPTY_RECORD, attemptedAt: START - 1 });
  });

  it('counts no latch that a lease may change', async () => {
    const { clock, memory, learn } = setUp();
    await learn({ ...RECORD, rejected: latches({ v1: START }), lease: { id: 'another', until: START + 1 } });
    const counted = () => memory.recall(PAIR).rejected.size;
    const underLease = counted();
    clock.now += 1;
    expect([underLease, counted()]).toEqual([0, 1]);
  });

  it.each([-1, 1])(
    'shows the last try to renew as an attempt, or a later one that the table has: %i',
    async (later) => {
      const { memory, learn } = setUp();
      memory.noteTry(PAIR);
      await learn({ ...RECORD, attemptedAt: START + later });
      expect(memory.trusted(PAIR)?.attemptedAt).toBe(Math.max(START, START + later));
    },
  );

  it('is bounded, at 64 MB with two bytes for each character that a service chooses', async () => {
    const { memory, learn } = setUp();
    // Three records have no room. Without any one of its four texts they have.
    const long = 't'.repeat(3 * 2 ** 20);
    const wait = exampleWait(START);
    const longWait = { ...wait, problem: { ...wait.problem, detail: long } };
    const token = exampleToken({ accessToken: new Redacted(long), passThrough: { tier: long } });
    const record = { ...EMPTY_RECORD, token, pause: longWait, held: new Map([['v1:a', longWait]]) };
    for (const client of ['a', 'b', 'c']) await learn(record, { ...PAIR, client });
    const known = ['a', 'b', 'c'].map((client) => memory.trusted({ ...PAIR, client }) !== undefined);
    expect(known).toEqual([false, true, true]);
  });
});
