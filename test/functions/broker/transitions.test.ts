import { describe, expect, it } from 'vitest';
import { EMPTY_RECORD, type PairRecord, type Rejection } from '../../../functions/broker/pair/record.ts';
import type { Acquisition } from '../../../functions/broker/pair/store.ts';
import {
  acquired,
  beforeMine,
  mayAcquire,
  paused,
  published,
  rejected,
  released,
} from '../../../functions/broker/pair/transitions.ts';
import { START } from '../../support/example.ts';
import { examplePublication } from '../../support/pair-examples.ts';

const acquisition = (changes: Partial<Acquisition> = {}): Acquisition => ({
  seenFence: 4,
  owner: 'me',
  now: START,
  until: START + 6_000,
  observedExpired: false,
  forced: false,
  chargedVersion: undefined,
  ...changes,
});
const rejections = (entries: Record<string, Rejection>) => new Map(Object.entries(entries));
const FREE: PairRecord = { ...EMPTY_RECORD, fence: 4 };
const TAKEN: PairRecord = { ...FREE, leaseOwner: 'other', leaseUntil: START + 1 };
const MINE: PairRecord = acquired(FREE, acquisition());
const PAUSE = { until: START, step: 1, problem: { type: 'token-endpoint-unavailable', detail: 'down' } } as const;

describe('taking a lease', () => {
  it.each<[string, boolean, PairRecord, Partial<Acquisition>]>([
    ['nobody has it', true, FREE, {}],
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
  const seen = { ...FREE, forcedAt: 7, rejected: rejections({ v1: { count: 1, at: 1, fence: 2 } }) };
  const mine = acquisition({ forced: true, chargedVersion: 'v1' });

  it('is what I saw, when nobody else wrote', () => {
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
    expect(beforeMine(shown, seen, acquisition())).toMatchObject({ disabled: true, pause: PAUSE, leaseUntil: 0 });
    expect(beforeMine(shown, seen, acquisition()).rejected).toEqual(written.rejected);
  });

  it('shows a rejection of the very version that I have charged', () => {
    const late = rejected(seen, 3, { version: 'v1', at: 9, goneVersions: [] });
    expect(beforeMine(acquired(late, mine), seen, mine).rejected.get('v1')).toMatchObject({ count: 3 });
  });

  it('is as it was shown, when the lease before was another’s', () => {
    expect(beforeMine(TAKEN, seen, mine)).toBe(TAKEN);
  });
});

describe('what came of a token request', () => {
  const record: PairRecord = {
    ...MINE,
    pause: PAUSE,
    foreignUntil: 9,
    rejected: rejections({ v1: { count: 2, at: 1, fence: 2 }, v2: { count: 1, at: 1, fence: 3 } }),
  };

  it('is a token: the pause, the lease and the latch of its version end, others stay', () => {
    const publication = examplePublication();
    const after = published(record, publication);
    expect(after).toMatchObject({ ...publication, fence: 5, pause: undefined, foreignUntil: 0, leaseUntil: 0 });
    expect(after.leaseOwner).toBeUndefined();
    expect([...after.rejected.keys()]).toEqual(['v2']);
  });

  it('is a pause: the lease ends', () => {
    const pause = { ...PAUSE, step: 2 };
    expect(paused(record, pause)).toEqual({ ...record, pause, leaseOwner: undefined, leaseUntil: 0 });
  });

  it('is nothing: the lease ends, and the latch of a version that has worked', () => {
    expect(released(record)).toEqual({ ...record, leaseOwner: undefined, leaseUntil: 0 });
    expect([...released(record, 'v1').rejected.keys()]).toEqual(['v2']);
  });

  describe('is a rejection', () => {
    const rejection = (changes = {}) => ({ version: 'v3', at: START, goneVersions: [], ...changes });

    it('that counts, and ends my lease', () => {
      const after = rejected(record, 5, rejection());
      expect(after.rejected.get('v3')).toEqual({ count: 1, at: START, fence: 5 });
      expect(after).toMatchObject({ leaseOwner: undefined, leaseUntil: 0 });
    });

    it('that counts for a late holder too, and ends no other’s lease', () => {
      const after = rejected(record, 4, rejection({ version: 'v2' }));
      expect(after.rejected.get('v2')).toEqual({ count: 2, at: START, fence: 4 });
      expect(after).toMatchObject({ leaseOwner: 'me', leaseUntil: START + 6_000 });
    });

    it('that counts once, however often it is told, and not again when taking the lease has charged it', () => {
      const twice = rejected(rejected(record, 5, rejection()), 5, rejection());
      expect(twice.rejected.get('v3')?.count).toBe(1);
      const charged = acquired({ ...FREE, rejected: record.rejected }, acquisition({ chargedVersion: 'v1' }));
      expect(rejected(charged, 5, rejection({ version: 'v1' })).rejected.get('v1')?.count).toBe(3);
    });

    it('that forgets the versions that are gone', () => {
      expect([...rejected(record, 5, rejection({ goneVersions: ['v1'] })).rejected.keys()]).toEqual(['v2', 'v3']);
    });
  });
});
