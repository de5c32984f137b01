import { describe, expect, it } from 'vitest';
import { PairMemory } from '../../../../functions/broker/pair/memory.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import type { TaggedRecord } from '../../../../functions/broker/pair/store.ts';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import { HOUR_MS, MINUTE_MS, START } from '../../../support/example.ts';
import { closedToken, exampleToken, exampleWait, latches } from '../../../support/pair/pair-examples.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };
const OTHER = { ...PAIR, client: 'globex' };
const RECORD: PairRecord = { ...EMPTY_RECORD, token: exampleToken() };

function setUp() {
  const clock = { now: START };
  const memory = new PairMemory(() => clock.now);
  const learn = (record: PairRecord, pair = PAIR, isWritten = false) =>
    memory.remember(pair, async () => ({ record, tag: 'a' }), isWritten);
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

    expect([memory.trusted(PAIR), memory.withOwn(PAIR)]).toEqual([trusted, RECORD]);
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

  const LONG = 't'.repeat(12 * 2 ** 20);
  const wait = exampleWait(START);
  const longWait = { ...wait, problem: { ...wait.problem, detail: LONG } };

  it.each<[string, Partial<PairRecord>]>([
    ['token', { token: exampleToken({ accessToken: new Redacted(LONG) }) }],
    ['member that is passed through', { token: exampleToken({ passThrough: { tier: LONG } }) }],
    ['pause', { pause: longWait }],
    ['hold', { held: new Map([['v1:a', longWait]]) }],
  ])('is bounded, at 64 MB with two bytes for each character of a %s', async (_, changes) => {
    const { memory, learn } = setUp();
    for (const client of ['a', 'b', 'c']) await learn({ ...EMPTY_RECORD, ...changes }, { ...PAIR, client });
    const known = ['a', 'b', 'c'].map((client) => memory.trusted({ ...PAIR, client }) !== undefined);
    expect(known).toEqual([false, true, true]);
  });
});

describe('the outcome of a request that the table does not have', () => {
  const own: PairRecord = {
    ...EMPTY_RECORD,
    token: exampleToken({ fingerprint: 'own' }),
    attemptedAt: START - 1,
    forcedAt: START - 2,
    pause: exampleWait(START + 2),
    held: new Map([['v1:a', exampleWait(START + 3)]]),
    checked: { version: 'v2', at: START - 3, finding: 'accepted' },
  };
  const held = new Map([['v2:a', exampleWait(START + 4)]]);
  const closed: PairRecord = { ...EMPTY_RECORD, token: closedToken('unreadable'), held, disabled: { since: 1 } };

  function withOwn(record: PairRecord, now = START) {
    const { clock, memory } = setUp();
    memory.keepOwn(PAIR, own);
    clock.now = now;
    return memory.withOwn(PAIR, record);
  }

  it('is added to the record of the table, and to that of its pair alone', () => {
    const { held: ownHolds, ...rest } = own;
    expect(withOwn(closed)).toEqual({
      ...closed,
      ...rest,
      held: new Map([...held, ...ownHolds]),
      disabled: { since: 1 },
    });
    expect(setUp().memory.withOwn(OTHER, closed)).toEqual(closed);
  });

  it('makes no record of the table trusted, and none for longer', async () => {
    const { clock, memory, learn } = setUp();
    memory.keepOwn(PAIR, own);
    expect(memory.trusted(PAIR)).toBeUndefined();
    await learn(RECORD);
    clock.now += MINUTE_MS;
    memory.keepOwn(PAIR, own);
    expect(memory.trusted(PAIR)).toBeUndefined();
  });

  it.each<[string, Partial<PairRecord>]>([
    ['a pause that lasts longer', { pause: exampleWait(START + 3) }],
    ['a hold that lasts longer', { held: new Map([['v1:a', exampleWait(START + 4)]]) }],
    ['a later forced request', { forcedAt: START }],
    ['a later attempt', { attemptedAt: START }],
    ['a later trial', { checked: { version: 'v3', at: START, finding: 'rejected' } }],
    ['a token that may be issued', { token: exampleToken() }],
  ])('yields to %s', (_, changes) => {
    expect(withOwn({ ...closed, ...changes })).toMatchObject(changes);
  });

  it.each<[string, boolean, PairRecord, boolean]>([
    ['stays when the table is read', false, EMPTY_RECORD, true],
    ['ends when the table has taken a write', true, EMPTY_RECORD, false],
    ['ends when the table has taken a token', true, RECORD, false],
    ['stays beside a token that cannot be opened', true, closed, true],
  ])('%s', async (_, isWritten, record, stays) => {
    const { memory, learn } = setUp();
    memory.keepOwn(PAIR, own);
    await learn(record, PAIR, isWritten);
    const { token, pause } = memory.withOwn(PAIR, record);
    expect([token, pause]).toEqual(stays ? [own.token, own.pause] : [record.token, record.pause]);
  });

  it('keeps the token of one call when another call of the instance fails at the same time', () => {
    const { memory } = setUp();
    memory.keepOwn(PAIR, own);
    memory.keepOwn(PAIR, { ...own, token: undefined });
    expect(memory.withOwn(PAIR, closed).token).toBe(own.token);
  });

  it('is also the token that the instance could open before, and cannot any more', async () => {
    const { memory, learn } = setUp();
    for (const record of [RECORD, closed, closed]) await learn(record);
    expect(memory.withOwn(PAIR, closed).token).toBe(RECORD.token);
  });

  it('is the token that was open before when the one that it requested for itself has ended', async () => {
    const { memory, learn } = setUp();
    memory.keepOwn(PAIR, { ...own, token: exampleToken({ expiresAt: START }) });
    await learn(RECORD);
    await learn(closed);
    expect(memory.withOwn(PAIR, closed).token).toBe(RECORD.token);
  });
});

describe('a rejection that could not be written to the table', () => {
  const untold = { count: 2, at: START, by: 'mine' };
  const reject = (memory: PairMemory, version: string, pair = PAIR) =>
    memory.keepOutcome(pair, { ...RECORD, rejected: new Map([[version, untold]]) }, { kind: 'rejected', version });

  it.each([
    ['counts for a day', 24 * HOUR_MS - 1, {}, 1, untold],
    ['counts no longer', 24 * HOUR_MS, {}, 1, undefined],
    ['counts beside an older one of the table', 0, { v1: START - 1 }, 1, untold],
    ['counts as often as the table knows', 0, { v1: START - 1 }, 3, { ...untold, count: 3 }],
    ['gives way to a later one of the table', 0, { v1: START }, 1, { count: 1, at: START, by: 'another' }],
  ])('%s', (_, laterMs, known, count, expected) => {
    const { clock, memory } = setUp();
    reject(memory, 'v1');
    clock.now += laterMs;

    const record = { ...RECORD, rejected: latches(known, count) };
    expect(memory.withOwn(PAIR, record).rejected.get('v1')).toEqual(expected);
    expect(memory.withOwn(OTHER, RECORD).rejected.size).toBe(0);
  });

  it('counts for 1 001 pairs', () => {
    const { memory } = setUp();
    const pairs = Array.from({ length: 1_001 }, (_, n) => ({ ...PAIR, client: `client-${n}` }));
    for (const pair of pairs) reject(memory, 'v1', pair);
    expect(pairs.every((pair) => memory.withOwn(pair).rejected.has('v1'))).toBe(true);
  });

  it('leaves the pause of a failure, which follows it', () => {
    const { memory } = setUp();
    const failed = { ...RECORD, rejected: latches({ v1: START }), pause: exampleWait(START + 2) };
    memory.keepOutcome(PAIR, failed, { kind: 'failed', version: 'v1' });
    expect(memory.withOwn(PAIR).pause).toEqual(failed.pause);
  });

  it('stays when the table has taken a write, and is of the last eight versions', async () => {
    const { memory, learn } = setUp();
    for (let n = 0; n <= 8; n += 1) reject(memory, `v${n}`);
    await learn(RECORD, PAIR, true);

    const versions = [...memory.withOwn(PAIR, RECORD).rejected.keys()];
    expect(versions).toEqual(['v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7', 'v8']);
  });
});
