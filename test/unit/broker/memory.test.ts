import { describe, expect, it } from 'vitest';
import { PairMemory } from '../../../functions/broker/pair/memory.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../functions/broker/pair/record.ts';
import { START } from '../../support/example.ts';
import { exampleToken } from '../../support/pair-examples.ts';

const MINUTE_MS = 60_000;
const PAIR = { client: 'acme', service: 'customer-insights' };
const RECORD: PairRecord = { ...EMPTY_RECORD, fence: 4, token: exampleToken() };

function setUp() {
  const clock = { now: START };
  return { clock, memory: new PairMemory(() => clock.now) };
}

describe('what an environment remembers of a pair', () => {
  it.each([
    ['at the very start of its reading', 0, RECORD],
    ['up to a minute after its reading began', MINUTE_MS - 1, RECORD],
    ['no longer than a minute', MINUTE_MS, undefined],
    ['not after the clock was set back', -1, undefined],
  ])('is trusted %s', (_, laterMs, trusted) => {
    const { clock, memory } = setUp();
    memory.remember(PAIR, RECORD, START);
    clock.now += laterMs;

    expect(memory.trusted(PAIR)).toBe(trusted);
    expect(memory.last(PAIR)).toBe(RECORD);
  });

  it('is never trusted when it was decided alone, but known', () => {
    const { memory } = setUp();
    memory.remember(PAIR, EMPTY_RECORD, START);
    memory.remember(PAIR, RECORD);

    expect(memory.trusted(PAIR)).toBeUndefined();
    expect(memory.last(PAIR)).toBe(RECORD);
  });

  it('is of the last thousand pairs', () => {
    const { memory } = setUp();
    for (let n = 0; n <= 1_000; n += 1) memory.remember({ ...PAIR, client: `client-${n}` }, RECORD, START);

    expect(memory.last({ ...PAIR, client: 'client-0' })).toBe(EMPTY_RECORD);
    expect(memory.last({ ...PAIR, client: 'client-1' })).toBe(RECORD);
  });
});

describe('a shared record whose token cannot be opened', () => {
  const closed: PairRecord = { ...EMPTY_RECORD, fence: 9, closedUntil: 1, disabled: true };
  const END = START + 60 * MINUTE_MS;

  it.each([
    ['gets the token of this environment', closed, START, { ...closed, token: RECORD.token }],
    ['gets it as long as it is issued', closed, END - 30_001, { ...closed, token: RECORD.token }],
    ['gets none that is about to lapse', closed, END - 30_000, closed],
    [
      'gets none where it can be opened or holds none',
      { ...closed, closedUntil: 0 },
      START,
      { ...closed, closedUntil: 0 },
    ],
  ])('%s', (_, record, now, expected) => {
    const { clock, memory } = setUp();
    memory.remember(PAIR, RECORD);
    clock.now = now;

    expect(memory.withOwn(PAIR, record)).toEqual(expected);
  });
});

describe('a rejection that the table could not be told', () => {
  const rejectedIn = (memory: PairMemory, record = RECORD) => [...memory.withOwn(PAIR, record).rejected];

  it.each([
    ['counts once for 15 minutes', 15 * MINUTE_MS - 1, [['v1', { count: 1, at: START, fence: -1 }]]],
    ['counts no longer after 15 minutes', 15 * MINUTE_MS, []],
  ])('%s', (_, laterMs, rejected) => {
    const { clock, memory } = setUp();
    memory.rememberUntold(PAIR, 'v1');
    clock.now += laterMs;

    expect(rejectedIn(memory)).toEqual(rejected);
    expect(memory.withOwn({ ...PAIR, client: 'globex' }, RECORD).rejected.size).toBe(0);
  });

  it.each([
    ['counts beside an older one that the table knows', -1, { count: 1, at: START, fence: -1 }],
    ['does not count beside a later one that the table knows', 0, { count: 2, at: START, fence: 3 }],
  ])('%s', (_, laterMs, known) => {
    const { memory } = setUp();
    memory.rememberUntold(PAIR, 'v1');
    const rejected = new Map([['v1', { count: 2, at: START + laterMs, fence: 3 }]]);

    expect(rejectedIn(memory, { ...RECORD, rejected })).toEqual([['v1', known]]);
  });

  it('stays when the record is read again, and is of the last eight versions', () => {
    const { memory } = setUp();
    for (let n = 0; n <= 8; n += 1) memory.rememberUntold(PAIR, `v${n}`);
    memory.remember(PAIR, RECORD, START);

    expect(rejectedIn(memory).map(([version]) => version)).toEqual(['v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7', 'v8']);
  });
});
