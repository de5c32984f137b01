import { describe, expect, it } from 'vitest';
import { createLeaseWatch } from '../../../functions/broker/pair/lease-watch.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../functions/broker/pair/record.ts';
import { START } from '../../support/example.ts';

const LEASE_MS = 6_000;

function watching() {
  const clock = { now: START };
  const watch = createLeaseWatch('me', LEASE_MS, () => clock.now);
  const see = (record: PairRecord) => {
    watch.see(record);
    return { isOver: watch.isOver(record), isOutwaited: watch.isOutwaited(record), remainingMs: watch.remainingMs() };
  };
  return { clock, see, watch };
}

const lease = (fence: number, until: number, owner = 'other'): PairRecord => ({
  ...EMPTY_RECORD,
  fence,
  leaseOwner: owner,
  leaseUntil: until,
});

describe('a lease', () => {
  it('of nobody is over', () => {
    expect(watching().see(EMPTY_RECORD)).toEqual({ isOver: true, isOutwaited: false, remainingMs: 0 });
  });

  it('of mine is over for me', () => {
    expect(watching().see(lease(1, START + LEASE_MS, 'me'))).toMatchObject({ isOver: true, remainingMs: 0 });
  });

  it('of another is over when its time is', () => {
    const { clock, see } = watching();
    const theirs = lease(1, START + 4_000);
    expect(see(theirs)).toEqual({ isOver: false, isOutwaited: false, remainingMs: 4_000 });
    clock.now += 3_999;
    expect(see(theirs)).toMatchObject({ isOver: false, remainingMs: 1 });
    clock.now += 1;
    expect(see(theirs)).toEqual({ isOver: true, isOutwaited: false, remainingMs: 0 });
  });

  it('written by a clock that runs ahead is over when I have watched it for its whole length', () => {
    const { clock, see } = watching();
    const ahead = lease(1, START + 600_000);
    expect(see(ahead)).toMatchObject({ isOver: false, remainingMs: LEASE_MS });
    clock.now += LEASE_MS - 1;
    expect(see(ahead)).toMatchObject({ isOver: false, isOutwaited: false });
    clock.now += 1;
    expect(see(ahead)).toEqual({ isOver: true, isOutwaited: true, remainingMs: 0 });
  });

  it('that follows another is watched from its own beginning', () => {
    const { clock, see } = watching();
    see(lease(1, START + 600_000));
    clock.now += 5_000;
    expect(see(lease(2, START + 600_000))).toMatchObject({ isOver: false, remainingMs: LEASE_MS });
    clock.now += 5_999;
    expect(see(lease(2, START + 600_000))).toMatchObject({ isOver: false });
  });

  it('can still be while the store is silent, and while a read shows it released', () => {
    const { clock, see, watch } = watching();
    see(lease(1, START + 4_000));
    clock.now += 1_000;
    expect(watch.remainingMs()).toBe(3_000);
    expect(see({ ...EMPTY_RECORD, fence: 1 })).toMatchObject({ isOver: true });
  });
});
