import { describe, expect, it } from 'vitest';
import { EMPTY_RECORD, type Rejection, StoreUnavailable } from '../../../../functions/broker/pair/record.ts';
import type { PairStore } from '../../../../functions/broker/pair/store.ts';
import { acquired, beforeMine, rejected as countRejection } from '../../../../functions/broker/pair/transitions.ts';
import { START } from '../../../support/example.ts';
import { exampleAcquisition, exampleWait } from '../../../support/pair/pair-examples.ts';
import { describePairStore } from '../../../support/pair/pair-store-contract.ts';
import { createReferencePairStore } from '../../../support/pair/reference-pair-store.ts';

/** All transitions, as the store shows them that the rules are tested with; the pair table keeps the same contract. */
describePairStore('the transitions of a record', async () => {
  let isLosing = false;
  const lossy = losing(createReferencePairStore(), () => isLosing);
  const loseAnswers = (next: boolean) => {
    isLosing = next;
  };
  return { store: lossy, loseAnswers, close: async () => undefined };
});

describe('the record before a lease whose answer was lost', () => {
  const rejections = (entries: Record<string, Rejection>) => new Map(Object.entries(entries));
  const dead = { leaseOwner: 'dead', leaseUntil: START - 1, attemptedAt: 6, forcedAt: 7 };
  const rejected = rejections({ v1: { count: 1, at: 1, fence: 2 } });
  const seen = { ...EMPTY_RECORD, fence: 4, ...dead, rejected };
  const mine = exampleAcquisition({ seenFence: 4, forced: true, chargedVersion: 'v1' });

  it('is what I saw, when no other call wrote', () => {
    const shown = { ...acquired(seen, mine), closedUntil: START + 60_000 };
    expect(beforeMine(shown, seen, mine)).toEqual(seen);
  });

  it('shows what others wrote in between', () => {
    const v2 = { count: 1, at: 3, fence: 3 };
    const others = { disabled: true, pause: exampleWait(START), rejected: rejections({ v2 }) };
    const uncharged = { ...mine, chargedVersion: undefined };
    expect(beforeMine(acquired({ ...seen, ...others }, uncharged), seen, uncharged)).toEqual({ ...seen, ...others });
  });

  it('shows a rejection of the very version that I have charged', () => {
    const late = countRejection(seen, { owner: 'late', fence: 3 }, { version: 'v1', at: 9, goneVersions: [] });
    expect(beforeMine(acquired(late, mine), seen, mine).rejected.get('v1')).toMatchObject({ count: 3 });
  });

  it('is as it was shown, when the lease before was another’s', () => {
    const taken = { ...EMPTY_RECORD, fence: 4, leaseOwner: 'other' };
    expect(beforeMine(taken, seen, mine)).toBe(taken);
  });
});

function losing(store: PairStore, isLosing: () => boolean): PairStore {
  const pass = async <Answer>(call: Promise<Answer>): Promise<Answer> => {
    const answer = await call;
    if (isLosing()) throw new StoreUnavailable('The answer was lost');
    return answer;
  };
  return {
    read: (...call) => pass(store.read(...call)),
    acquire: (...call) => pass(store.acquire(...call)),
    end: (...call) => pass(store.end(...call)),
    reject: (...call) => pass(store.reject(...call)),
  };
}
