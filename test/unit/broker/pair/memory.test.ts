import { describe, expect, it } from 'vitest';
import { PairMemory } from '../../../../functions/broker/pair/memory.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import { HOUR_MS, MINUTE_MS, START } from '../../../support/example.ts';
import { closedToken, exampleToken, exampleWait, latches } from '../../../support/pair/pair-examples.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };
const OTHER = { ...PAIR, client: 'globex' };
const RECORD: PairRecord = { ...EMPTY_RECORD, token: exampleToken() };

function setUp() {
  const clock = { now: START };
  const memory = new PairMemory(() => clock.now);
  return { clock, memory, learn: (record: PairRecord, pair = PAIR) => memory.remember(pair, record, memory.begin()) };
}

describe('what an instance remembers of a pair', () => {
  it.each([
    ['at once', 0, RECORD],
    ['for a minute', MINUTE_MS - 1, RECORD],
    ['no longer than a minute', MINUTE_MS, undefined],
    ['not after the clock was set back', -1, undefined],
  ])('is trusted %s, from the start of the call that gave it, and stays known', (_, laterMs, trusted) => {
    const { clock, memory } = setUp();
    const began = memory.begin();
    clock.now += 500;
    memory.remember(PAIR, RECORD, began);
    clock.now = START + laterMs;

    expect([memory.trusted(PAIR), memory.last(PAIR)]).toEqual([trusted, RECORD]);
  });

  it('is trusted for as long as the call says, when that is less', () => {
    const { clock, memory, learn } = setUp();
    learn(RECORD);
    clock.now += 999;
    expect(memory.trusted(PAIR, 1_000)).toEqual(RECORD);
    clock.now += 1;
    expect(memory.trusted(PAIR, 1_000)).toBeUndefined();
  });

  it('is not replaced by a reading that was overtaken, and not touched by those of other pairs', () => {
    const { memory, learn } = setUp();
    const began = memory.begin();
    learn(RECORD);
    memory.remember(PAIR, EMPTY_RECORD, began);
    memory.remember(OTHER, EMPTY_RECORD, began);

    expect([memory.last(PAIR), memory.trusted(OTHER)]).toEqual([RECORD, EMPTY_RECORD]);
  });

  it('has no time in it that no right clock can have written', () => {
    const { memory, learn } = setUp();
    learn({ ...RECORD, forcedAt: START + HOUR_MS });
    expect(memory.trusted(PAIR)).toEqual(RECORD);
  });

  it('is bounded: of the thousand pairs used last, and 64 MB with two bytes for each character', () => {
    const { memory, learn } = setUp();
    for (let n = 0; n <= 1_000; n += 1) learn(RECORD, { ...PAIR, client: `client-${n}` });
    const isKnown = (n: number) => memory.trusted({ ...PAIR, client: `client-${n}` }) !== undefined;
    expect([isKnown(0), isKnown(1), isKnown(1_000)]).toEqual([false, true, true]);

    const long = exampleToken({ accessToken: new Redacted('t'.repeat(12 * 2 ** 20)) });
    for (const client of ['a', 'b', 'c']) learn({ ...EMPTY_RECORD, token: long }, { ...PAIR, client });
    const known = ['a', 'b', 'c'].map((client) => memory.trusted({ ...PAIR, client }) !== undefined);
    expect(known).toEqual([false, true, true]);
  });
});

describe('the outcome of a request that the table was not told', () => {
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

  it.each<[string, Partial<PairRecord>]>([
    ['a pause that lasts longer', { pause: exampleWait(START + 3) }],
    ['a later forced request', { forcedAt: START }],
    ['a later attempt', { attemptedAt: START }],
    ['a later trial', { checked: { version: 'v3', at: START, finding: 'rejected' } }],
    ['a token that may be issued', { token: exampleToken() }],
  ])('gives way to %s', (_, changes) => {
    expect(withOwn({ ...closed, ...changes })).toMatchObject(changes);
  });

  it('has no token once that is about to lapse', () => {
    expect(withOwn(closed, START + HOUR_MS - 30_001).token).toBe(own.token);
    expect(withOwn(closed, START + HOUR_MS - 30_000).token).toBe(closed.token);
  });

  it.each<[string, boolean, PairRecord, boolean]>([
    ['stays when the table is read', false, EMPTY_RECORD, true],
    ['ends when the table has taken a write', true, EMPTY_RECORD, false],
    ['stays beside a token that cannot be opened', true, closed, true],
  ])('%s', (_, isWritten, record, stays) => {
    const { memory } = setUp();
    memory.keepOwn(PAIR, own);
    memory.remember(PAIR, record, memory.begin(), isWritten);
    const { token, pause } = memory.withOwn(PAIR, record);
    expect([token, pause]).toEqual(stays ? [own.token, own.pause] : [record.token, record.pause]);
  });

  it('keeps the token of one call when another call of the instance fails at the same time', () => {
    const { memory } = setUp();
    memory.keepOwn(PAIR, own);
    memory.keepOwn(PAIR, { ...own, token: undefined });
    expect(memory.withOwn(PAIR, closed).token).toBe(own.token);
  });

  it('is also the token that the instance could open before, and cannot any more', () => {
    const { memory, learn } = setUp();
    learn(RECORD);
    learn(closed);
    expect(memory.withOwn(PAIR, closed).token).toBe(RECORD.token);
  });

  it('is the token that was open before when the one that it requested for itself has ended', () => {
    const { memory, learn } = setUp();
    memory.keepOwn(PAIR, { ...own, token: exampleToken({ expiresAt: START }) });
    learn(RECORD);
    learn(closed);
    expect(memory.withOwn(PAIR, closed).token).toBe(RECORD.token);
  });
});

describe('a rejection that the table could not be told', () => {
  const untold = { count: 2, at: START, by: 'mine' };

  it.each([
    ['counts for a day', 24 * HOUR_MS - 1, {}, 1, untold],
    ['counts no longer', 24 * HOUR_MS, {}, 1, undefined],
    ['counts beside an older one of the table', 0, { v1: START - 1 }, 1, untold],
    ['counts as often as the table knows', 0, { v1: START - 1 }, 3, { ...untold, count: 3 }],
    ['gives way to a later one of the table', 0, { v1: START }, 1, { count: 1, at: START, by: 'another' }],
  ])('%s', (_, laterMs, known, count, expected) => {
    const { clock, memory } = setUp();
    memory.keepRejection(PAIR, 'v1', untold);
    clock.now += laterMs;

    const record = { ...RECORD, rejected: latches(known, count) };
    expect(memory.withOwn(PAIR, record).rejected.get('v1')).toEqual(expected);
    expect(memory.withOwn(OTHER, RECORD).rejected.size).toBe(0);
  });

  it('stays when the table has taken a write, and is of the last eight versions', () => {
    const { memory } = setUp();
    for (let n = 0; n <= 8; n += 1) memory.keepRejection(PAIR, `v${n}`, untold);
    memory.remember(PAIR, RECORD, memory.begin(), true);

    const versions = [...memory.withOwn(PAIR, RECORD).rejected.keys()];
    expect(versions).toEqual(['v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7', 'v8']);
  });
});
