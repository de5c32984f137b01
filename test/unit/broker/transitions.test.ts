import { describe, expect, it } from 'vitest';
import { EMPTY_RECORD, type PairRecord, type Rejection } from '../../../functions/broker/pair/record.ts';
import type { Acquisition, Ending } from '../../../functions/broker/pair/store.ts';
import { acquired, beforeMine, ended, mayAcquire, rejected } from '../../../functions/broker/pair/transitions.ts';
import { START } from '../../support/example.ts';
import { examplePublication, exampleToken } from '../../support/pair-examples.ts';

const acquisition = (changes: Partial<Acquisition> = {}): Acquisition => ({
  seenFence: 4,
  owner: 'me',
  now: START,
  until: START + 6_000,
  observedExpired: false,
  forced: false,
  chargedVersion: undefined,
  isCheck: false,
  ...changes,
});
const rejections = (entries: Record<string, Rejection>) => new Map(Object.entries(entries));
const FREE: PairRecord = { ...EMPTY_RECORD, fence: 4 };
const TAKEN: PairRecord = { ...FREE, leaseOwner: 'other', leaseUntil: START + 1 };
const MINE: PairRecord = acquired(FREE, acquisition());
const PAUSE = { until: START, step: 1, problem: { type: 'token-endpoint-unavailable', detail: 'down' } } as const;

describe('taking a lease', () => {
  it.each<[string, boolean, PairRecord, Partial<Acquisition>]>([
    ['no call has it', true, FREE, {}],
    ['there is no record', true, EMPTY_RECORD, { seenFence: 0 }],
    ['the fence is another', false, { ...FREE, fence: 5 }, {}],
    ['another has it', false, TAKEN, {}],
    ['another’s is over', true, TAKEN, { now: START + 1 }],
    ['another’s is over, but it is not the one that I saw', false, { ...TAKEN, fence: 5 }, { now: START + 1 }],
    ['I have watched another’s to its end', true, TAKEN, { observedExpired: true }],
    ['I have watched the one before to its end', false, { ...TAKEN, fence: 5 }, { observedExpired: true }],
    ['it is mine and the answer was lost', true, MINE, {}],
    ['it is mine and releasing it failed', true, MINE, { seenFence: 5 }],
    ['it was mine, and another has had it since', false, { ...MINE, fence: 9 }, {}],
  ])('when %s: %s', (_, may, record, changes) => {
    expect(mayAcquire(record, acquisition(changes))).toBe(may);
  });

  it('counts the fence up and notes the attempt', () => {
    const record = { ...FREE, forcedAt: 7, attemptedAt: 8 };
    expect(acquired(record, acquisition())).toEqual({
      ...record,
      fence: 5,
      leaseOwner: 'me',
      leaseUntil: START + 6_000,
      attemptedAt: START,
    });
    expect(acquired(record, acquisition({ forced: true })).forcedAt).toBe(START);
  });

  it('for a check notes no attempt, so that it postpones no renewal', () => {
    const record = { ...FREE, forcedAt: 7, attemptedAt: 8 };
    expect(acquired(record, acquisition({ isCheck: true }))).toMatchObject({ fence: 5, attemptedAt: 8, forcedAt: 7 });
  });

  it('charges a version that was rejected before with its next chance', () => {
    const record = { ...FREE, rejected: rejections({ v1: { count: 1, at: 1, fence: 2 } }) };
    const charged = acquired(record, acquisition({ chargedVersion: 'v1' }));
    expect(charged.rejected.get('v1')).toEqual({ count: 2, at: START, fence: 5 });
    expect(record.rejected.get('v1')?.count).toBe(1);
  });

  it('again changes nothing', () => {
    const again = acquisition({ chargedVersion: 'v1', forced: true });
    const once = acquired(FREE, again);
    expect(acquired(once, again)).toEqual(once);
  });
});

describe('the record before a lease whose answer was lost', () => {
  const dead = { leaseOwner: 'dead', leaseUntil: START - 1, attemptedAt: 6, forcedAt: 7 };
  const seen = { ...FREE, ...dead, rejected: rejections({ v1: { count: 1, at: 1, fence: 2 } }) };
  const mine = acquisition({ forced: true, chargedVersion: 'v1' });

  it('is what I saw, when no other call wrote', () => {
    expect(beforeMine(acquired(seen, mine), seen, mine)).toEqual(seen);
  });

  it('shows what others wrote in between', () => {
    const written = {
      ...seen,
      disabled: true,
      pause: PAUSE,
      rejected: rejections({ v2: { count: 1, at: 3, fence: 3 } }),
    };
    const shown = acquired(written, acquisition());
    expect(beforeMine(shown, seen, acquisition())).toEqual({ ...written, ...dead });
  });

  it('shows a rejection of the very version that I have charged', () => {
    const late = rejected(seen, { owner: 'late', fence: 3 }, { version: 'v1', at: 9, goneVersions: [] });
    expect(beforeMine(acquired(late, mine), seen, mine).rejected.get('v1')).toMatchObject({ count: 3 });
  });

  it('is as it was shown, when the lease before was another’s', () => {
    expect(beforeMine(TAKEN, seen, mine)).toBe(TAKEN);
  });
});

describe('what a lease ends with', () => {
  const latch = { count: 2, at: 1, fence: 2 };
  const hold = { until: START, step: 3, problem: PAUSE.problem };
  const checked = { version: 'v2', at: START, finding: 'accepted' } as const;
  const before = { version: 'v0', at: 7, finding: 'rejected' } as const;
  const record: PairRecord = {
    ...MINE,
    token: exampleToken({ fingerprint: 'old' }),
    pause: PAUSE,
    closedUntil: 9,
    rejected: rejections({ v1: latch, v2: latch }),
    held: new Map([
      ['v1:a', hold],
      ['v1:b', hold],
      ['v2:a', hold],
    ]),
    checked: before,
  };
  const free = { ...record, leaseOwner: undefined, leaseUntil: 0 };
  const publication = examplePublication();

  it.each<[string, Ending, PairRecord]>([
    [
      'a token: the pause ends, and the latch and the hold of the version that brought it',
      { kind: 'publish', publication, holdKey: 'v1:a' },
      {
        ...free,
        ...publication,
        pause: undefined,
        closedUntil: 0,
        rejected: rejections({ v2: latch }),
        held: new Map([
          ['v1:b', hold],
          ['v2:a', hold],
        ]),
      },
    ],
    [
      'the proof of a version: its latch and its hold end, and token and pause stay',
      { kind: 'prove', version: 'v2', holdKey: 'v2:a', checked },
      {
        ...free,
        rejected: rejections({ v1: latch }),
        held: new Map([
          ['v1:a', hold],
          ['v1:b', hold],
        ]),
        checked,
      },
    ],
    ['a pause', { kind: 'pause', pause: { ...PAUSE, step: 2 } }, { ...free, pause: { ...PAUSE, step: 2 } }],
    [
      'a hold: those that ended long ago are dropped',
      { kind: 'hold', key: 'v1:a', hold: { ...hold, step: 4 }, expiredKeys: ['v2:a'] },
      {
        ...free,
        held: new Map([
          ['v1:a', { ...hold, step: 4 }],
          ['v1:b', hold],
        ]),
      },
    ],
    [
      'a hold that follows one which ended long ago',
      { kind: 'hold', key: 'v1:a', hold, expiredKeys: ['v1:a', 'v1:b', 'v2:a'] },
      { ...free, held: new Map([['v1:a', hold]]) },
    ],
    ['no token any more', { kind: 'withdraw' }, { ...free, token: undefined, closedUntil: 0 }],
    ['nothing', { kind: 'release' }, free],
  ])('%s', (_, ending, after) => {
    expect(ended(record, ending)).toEqual(after);
  });

  it.each<Exclude<Ending, { kind: 'withdraw' | 'release' }>>([
    { kind: 'publish', publication, holdKey: 'v1:a', checked },
    { kind: 'prove', version: 'v2', holdKey: 'v2:a', checked },
    { kind: 'pause', pause: PAUSE, checked },
    { kind: 'hold', key: 'v1:a', hold, expiredKeys: [], checked },
  ])('what a check found, and what one found before when this was none: $kind', (ending) => {
    expect(ended(record, ending).checked).toBe(checked);
    expect(ended(record, { ...ending, checked: undefined }).checked).toBe(before);
  });

  describe('a rejection', () => {
    const lease = { owner: 'me', fence: 5 };
    const rejection = (changes = {}) => ({ version: 'v3', at: START, goneVersions: [], ...changes });

    it('counts, and ends my lease', () => {
      expect(rejected(record, lease, rejection())).toEqual({
        ...free,
        rejected: rejections({ v1: latch, v2: latch, v3: { count: 1, at: START, fence: 5 } }),
      });
    });

    it.each([
      ['another fence', { ...lease, fence: 4 }],
      ['another owner, as after a table was restored', { ...lease, owner: 'other' }],
    ])('of a lease with %s counts, and ends no other lease', (_, late) => {
      expect(rejected(record, late, rejection({ version: 'v2' }))).toEqual({
        ...record,
        rejected: rejections({ v1: latch, v2: { count: 3, at: START, fence: late.fence } }),
      });
    });

    it('counts once, however often it is told, and not again when taking the lease has charged it', () => {
      const twice = rejected(rejected(record, lease, rejection()), lease, rejection());
      expect(twice.rejected.get('v3')?.count).toBe(1);
      const charged = acquired({ ...FREE, rejected: record.rejected }, acquisition({ chargedVersion: 'v1' }));
      expect(rejected(charged, lease, rejection({ version: 'v1' })).rejected.get('v1')?.count).toBe(3);
    });

    it('forgets the versions that are gone, and keeps what a check found', () => {
      const after = rejected(record, lease, rejection({ goneVersions: ['v1'], checked }));
      expect([...after.rejected.keys()]).toEqual(['v2', 'v3']);
      expect(after.checked).toBe(checked);
    });
  });
});
