import { describe, expect, it } from 'vitest';
import { PairMemory } from '../../../../functions/broker/pair/memory.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import { MINUTE_MS, START } from '../../../support/example.ts';
import { exampleToken, exampleWait } from '../../../support/pair/pair-examples.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };
const RECORD: PairRecord = { ...EMPTY_RECORD, fence: 4, token: exampleToken() };

function setUp() {
  const clock = { now: START };
  return { clock, memory: new PairMemory(() => clock.now) };
}

describe('what an environment remembers of a pair', () => {
  it.each([
    ['at the very start of its reading', START, 0, RECORD],
    ['up to a minute after its reading began', START, MINUTE_MS - 1, RECORD],
    ['no longer than a minute', START, MINUTE_MS, undefined],
    ['not after the clock was set back', START, -1, undefined],
    ['never when it was decided alone, but known', undefined, 0, undefined],
  ])('is trusted %s', (_, readAt, laterMs, trusted) => {
    const { clock, memory } = setUp();
    memory.remember(PAIR, EMPTY_RECORD, START);
    memory.remember(PAIR, RECORD, readAt);
    clock.now += laterMs;

    expect([memory.trusted(PAIR), memory.last(PAIR)]).toEqual([trusted, RECORD]);
  });
});

describe('a shared record whose token cannot be opened', () => {
  const [pause, longer] = [exampleWait(START), exampleWait(START + 1)];
  const closed: PairRecord = { ...EMPTY_RECORD, fence: 9, closedUntil: 1, disabled: true };
  const withOwn = { ...closed, pause, token: RECORD.token };
  const open = { ...closed, closedUntil: 0 };
  const END = START + 60 * MINUTE_MS;

  it.each([
    ['gets the own token as long as that is issued', closed, END - 30_001, withOwn],
    ['gets none that is about to lapse', closed, END - 30_000, { ...closed, pause }],
    ['keeps its pause where that is the longer one', { ...closed, pause: longer }, END, { ...closed, pause: longer }],
    ['gets none where it can be opened or holds none', open, START, open],
  ])('%s', (_, record, now, expected) => {
    const { clock, memory } = setUp();
    memory.remember(PAIR, { ...RECORD, pause });
    clock.now = now;

    expect(memory.withOwn(PAIR, record)).toEqual(expected);
  });
});

describe('a rejection that the table could not be told', () => {
  const untold = { count: 1, at: START, fence: -1 };
  const older = { count: 2, at: START - 1, fence: 3 };
  const later = { count: 2, at: START, fence: 3 };

  it.each([
    ['counts once for 15 minutes', 15 * MINUTE_MS - 1, [], [untold]],
    ['counts no longer after 15 minutes', 15 * MINUTE_MS, [], []],
    ['counts beside an older one that the table knows', 0, [older], [untold]],
    ['does not count beside a later one that the table knows', 0, [later], [later]],
  ])('%s', (_, laterMs, known, expected) => {
    const { clock, memory } = setUp();
    memory.rememberUntold(PAIR, 'v1');
    clock.now += laterMs;
    const record = { ...RECORD, rejected: new Map(known.map((latch) => ['v1', latch])) };

    expect([...memory.withOwn(PAIR, record).rejected.values()]).toEqual(expected);
    expect(memory.withOwn({ ...PAIR, client: 'globex' }, RECORD).rejected.size).toBe(0);
  });

  it('stays when the record is read again, and is of the last eight versions', () => {
    const { memory } = setUp();
    for (let n = 0; n <= 8; n += 1) memory.rememberUntold(PAIR, `v${n}`);
    memory.remember(PAIR, RECORD, START);

    const versions = [...memory.withOwn(PAIR, RECORD).rejected.keys()];
    expect(versions).toEqual(['v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7', 'v8']);
  });
});
