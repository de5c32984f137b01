import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EMPTY_RECORD, type PairRecord, StoreUnavailable } from '../../../functions/broker/pair/record.ts';
import type { Acquisition, Ending, Lease, PairStore, RejectedRequest } from '../../../functions/broker/pair/store.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { START } from '../example.ts';
import {
  CHECKED,
  ENDINGS,
  exampleAcquisition,
  exampleToken,
  HOLD_KEY,
  hold,
  PAUSE,
  PROVE,
  publish,
  RELEASE,
  revealed,
  WAIT,
} from './pair-examples.ts';

export interface StoreUnderTest {
  readonly store: PairStore;
  /** While it lasts, calls are carried out and their answers are lost. */
  readonly loseAnswers: (isLosing: boolean) => void;
  readonly close: () => Promise<void>;
}

/** The promises of `PairStore`, for each implementation of it. */
export function describePairStore(
  name: string,
  start: () => Promise<StoreUnderTest>,
  { isAtomic = true }: { readonly isAtomic?: boolean } = {},
): void {
  describe(name, () => {
    let underTest: StoreUnderTest;
    let store: PairStore;
    let pair: Pair;
    let pairs = 0;
    beforeAll(async () => {
      underTest = await start();
      store = underTest.store;
    });
    afterAll(() => underTest.close());
    beforeEach(() => {
      pairs += 1;
      pair = { client: `client-${pairs}`, service: 'customer-insights' };
    });

    const stored = () => store.read(pair, IN_TIME);
    const acquire = (changes: Partial<Acquisition> = {}) => store.acquire(pair, exampleAcquisition(changes), IN_TIME);
    /** Takes the lease under the fence that the record has. */
    const take = async (changes: Partial<Acquisition> = {}): Promise<Lease> => {
      const seenFence = (await stored()).fence;
      expect(await acquire({ seenFence, observedExpired: true, ...changes })).toBeDefined();
      return { owner: changes.owner ?? 'me', fence: seenFence + 1 };
    };
    const end = (lease: Lease, ending: Ending) => store.end(pair, lease, ending, IN_TIME);
    const reject = (lease: Lease, changes: Partial<RejectedRequest> = {}) =>
      store.reject(pair, lease, { version: 'v1', at: START, goneVersions: [], ...changes }, IN_TIME);
    /** All at once, or in turn where the store cannot do otherwise. */
    const together = async (calls: readonly (() => Promise<unknown>)[]) => {
      if (isAtomic) await Promise.all(calls.map((call) => call()));
      else for (const call of calls) await call();
    };
    /** Lets something happen that must leave the record as it was. */
    const changesNothing = async (happens: () => Promise<unknown>, answer?: unknown) => {
      const before = await stored();
      expect(await happens()).toBe(answer);
      expect(await stored()).toEqual(before);
    };

    it('finds the empty record where nothing was written, for another pair too', async () => {
      expect(await stored()).toEqual(EMPTY_RECORD);
      await take();
      expect(await store.read({ ...pair, service: 'merchant-payment-cleansing' }, IN_TIME)).toEqual(EMPTY_RECORD);
      expect(await store.read({ ...pair, client: `${pair.client}0` }, IN_TIME)).toEqual(EMPTY_RECORD);
    });

    describe('acquiring', () => {
      it('gives the first lease of a pair, and says that there was nothing before', async () => {
        expect(await acquire()).toEqual(EMPTY_RECORD);
        const lease = { fence: 1, leaseOwner: 'me', leaseUntil: START + 6_000 };
        expect(await stored()).toEqual({ ...EMPTY_RECORD, ...lease, attemptedAt: START });
      });

      it('says what the record was before', async () => {
        await end(await take(), publish());
        await end(await take(), PAUSE);
        const before = await stored();
        const seen = await acquire({ seenFence: before.fence });
        expect(seen).toEqual(before);
        expect(seen?.token?.accessToken.reveal()).toBe(exampleToken().accessToken.reveal());
      });

      it.each([
        ['its time has come', { now: START + 6_000 }],
        ['it has been watched to its end', { observedExpired: true }],
      ])('takes over the lease of another when %s, and not before', async (_why, how) => {
        await take({ owner: 'other', until: START + 6_000 });
        const early = { seenFence: 1, now: START + 5_999 };
        await changesNothing(() => acquire(early));
        expect(await acquire({ ...early, ...how })).toMatchObject({ fence: 1, leaseOwner: 'other' });
        expect(await stored()).toMatchObject({ fence: 2, leaseOwner: 'me' });
      });

      it.each([0, 1, 3])('fails when the fence is 2 and %i was seen, even after a wait', async (seenFence) => {
        for (const _ of [1, 2]) await end(await take({ owner: 'other' }), RELEASE);
        await changesNothing(() => acquire({ seenFence, now: START + 3_600_000, observedExpired: true }));
      });

      it('takes up my own lease again before its time has come, under a new fence', async () => {
        await take();
        expect(await acquire({ seenFence: 1 })).toMatchObject({ fence: 1, leaseOwner: 'me' });
        expect(await stored()).toMatchObject({ fence: 2, leaseOwner: 'me' });
      });

      it('lets exactly one of many that saw the same win', async () => {
        const winners: string[] = [];
        const owners = Array.from({ length: 20 }, (_, index) => `owner-${index}`);
        await together(owners.map((owner) => async () => void ((await acquire({ owner })) && winners.push(owner))));
        expect(winners).toHaveLength(1);
        expect(await stored()).toMatchObject({ fence: 1, leaseOwner: winners[0] });
      });

      it('notes when a token was forced and when an attempt was made, for which a check does not count', async () => {
        await take({ now: START, forced: true });
        expect(await stored()).toMatchObject({ attemptedAt: START, forcedAt: START });
        await take({ now: START + 1_000 });
        expect(await stored()).toMatchObject({ attemptedAt: START + 1_000, forcedAt: START });
        await take({ now: START + 2_000, isCheck: true });
        expect(await stored()).toMatchObject({ attemptedAt: START + 1_000, leaseUntil: START + 8_000 });
      });

      it('uses up a chance of the version that it charges, and of no other; none when it fails', async () => {
        for (const version of ['v1', 'v2']) await reject(await take(), { version });
        await take({ now: START + 900_000, chargedVersion: 'v1' });
        expect(counts(await stored())).toEqual({ v1: 2, v2: 1 });
        expect((await stored()).rejected.get('v1')?.at).toBe(START + 900_000);
        await changesNothing(() => acquire({ seenFence: 0, chargedVersion: 'v1' }));
      });

      it('recognises the lease whose answer was lost', async () => {
        underTest.loseAnswers(true);
        await expect(acquire()).rejects.toThrow(StoreUnavailable);
        underTest.loseAnswers(false);

        const before = await acquire();
        expect(await stored()).toMatchObject({ leaseOwner: 'me', fence: (before?.fence ?? Number.NaN) + 1 });
      });
    });

    describe('ending a lease', () => {
      it.each(ENDINGS)('ends it, and nothing else, also when its time is over: %s', async (_kind, ending, changed) => {
        await reject(await take(), { version: 'v9' });
        await end(await take(), hold('v9:other-settings'));
        const before = await stored();
        const lease = await take({ now: START + 5, until: START - 1 });
        expect(await end(lease, ending)).toBe(true);
        expect(await stored()).toEqual({ ...before, fence: lease.fence, attemptedAt: START + 5, ...changed(before) });
      });

      it.each(ENDINGS)('comes too late when it has ended, or another call has it: %s', async (_kind, ending) => {
        const lost = await take();
        const over = await take();
        await end(over, RELEASE);
        await changesNothing(() => end(over, ending), false);

        // A table that was restored gives the same fence again.
        const { fence } = await take({ owner: 'other' });
        for (const lease of [lost, { owner: 'me', fence }]) await changesNothing(() => end(lease, ending), false);
      });

      it('by publishing stores every kind of token as it is, in place of the one before', async () => {
        await end(await take(), publish());
        const token = exampleToken({
          accessToken: new Redacted('ünïcödé.'.repeat(1_000)),
          tokenType: 'urn:example:token-type:mac',
          expirySource: 'assumed',
          scope: undefined,
          passThrough: { instance_url: 'https://acme.example', nested: { list: [1, null, 'x'] } },
          fingerprint: 'fedcba9876543210',
          credentialVersion: 'v2',
          lifetimeSeenMs: 7_200_000,
          issuedAt: START + 5,
          sameTokenAgain: true,
        });
        await end(await take(), publish(token));
        expect(revealed((await stored()).token)).toEqual(revealed(token));
      });

      it.each([publish(), PROVE])('ends the latch and the hold of the version that worked: $kind', async (ending) => {
        await end(await take(), PAUSE);
        for (const version of ['v1', 'v2']) await reject(await take(), { version });
        for (const key of [HOLD_KEY, 'v1:other-settings', 'v2:settings']) await end(await take(), hold(key));
        await end(await take({ chargedVersion: 'v1' }), ending);
        expect(counts(await stored())).toEqual({ v2: 1 });
        const { held, pause } = await stored();
        expect([...held.keys()].toSorted()).toEqual(['v1:other-settings', 'v2:settings']);
        expect(pause).toEqual(ending === PROVE ? WAIT : undefined);
      });

      it('by a pause or a hold keeps a problem without a shape, and the token, which a withdrawal removes', async () => {
        await end(await take(), publish());
        const pause = { ...WAIT, problem: { type: 'token-endpoint-timeout', detail: 'Too slow.' } } as const;
        await end(await take(), { kind: 'pause', pause });
        await end(await take(), { ...hold(HOLD_KEY), hold: pause });
        const { fence, ...kept } = await stored();
        expect(kept).toMatchObject({ pause, held: new Map([[HOLD_KEY, pause]]), token: { credentialVersion: 'v1' } });
        await end(await take(), { kind: 'withdraw' });
        expect(await stored()).toEqual({ ...kept, fence: fence + 1, token: undefined });
      });

      it('holds each version under each settings for itself, and drops those that are named', async () => {
        for (const key of ['v1:a', 'v1:b', 'v2:a']) await end(await take(), hold(key));
        const again = { ...WAIT, step: 7 };
        await end(await take(), { ...hold('v1:a'), hold: again, expiredKeys: ['v1:b', 'v1:a', 'unknown:x'] });
        expect((await stored()).held).toEqual(
          new Map([
            ['v1:a', again],
            ['v2:a', WAIT],
          ]),
        );
      });

      it.each([publish(), PROVE, PAUSE, hold(HOLD_KEY)])('keeps what a check has found: $kind', async (ending) => {
        await end(await take(), { ...ending, checked: CHECKED });
        await end(await take(), RELEASE);
        await reject(await take());
        expect((await stored()).checked).toEqual(CHECKED);
        await reject(await take(), { checked: { ...CHECKED, finding: 'rejected' } });
        expect((await stored()).checked).toEqual({ ...CHECKED, finding: 'rejected' });
      });
    });

    describe('rejecting', () => {
      it('counts the request and ends my lease', async () => {
        await reject(await take(), { at: START + 150 });
        const rejected = new Map([['v1', { count: 1, at: START + 150, fence: 1 }]]);
        expect(await stored()).toMatchObject({ rejected, leaseOwner: undefined, leaseUntil: 0 });
      });

      it('counts even where the record is gone', async () => {
        await reject({ owner: 'me', fence: 7 });
        const rejected = new Map([['v1', { count: 1, at: START, fence: 7 }]]);
        expect(await stored()).toEqual({ ...EMPTY_RECORD, rejected });
      });

      it('counts the request of a lease that another call took over, and leaves that lease alone', async () => {
        const lost = await take();
        const { fence } = await take({ owner: 'other', until: START + 6_000 });
        const others = await stored();
        // The second one is of a table that was restored: the fence is the same.
        for (const lease of [lost, { owner: 'me', fence }]) await reject(lease, { checked: CHECKED });
        expect(await stored()).toEqual({ ...others, rejected: new Map([['v1', { count: 2, at: START, fence }]]) });
      });

      it('counts one request once, however often it is told, and also when its lease was charged for it', async () => {
        const first = await take();
        for (const _ of [1, 2]) await reject(first);
        expect(counts(await stored())).toEqual({ v1: 1 });

        const second = await take({ chargedVersion: 'v1' });
        for (const _ of [1, 2]) await reject(second);
        expect(counts(await stored())).toEqual({ v1: 2 });
      });

      it('counts every lease and every version for itself, also at the same time', async () => {
        const leases = [await take(), await take(), await take()];
        await together(leases.flatMap((lease) => ['v1', 'v2'].map((version) => () => reject(lease, { version }))));
        expect(counts(await stored())).toEqual({ v1: 3, v2: 3 });
      });

      it('forgets the latches of versions that are gone, and only those', async () => {
        for (const version of ['v1', 'v2', 'v3']) await reject(await take(), { version });
        await reject(await take(), { version: 'v4', goneVersions: ['v1', 'v3', 'unknown'] });
        await reject(await take(), { version: 'v5', goneVersions: ['v5'] });
        expect(counts(await stored())).toEqual({ v2: 1, v4: 1 });
      });
    });

    it.each<Ending | { kind: 'reject' }>([...ENDINGS.map(([, ending]) => ending), { kind: 'reject' }])(
      'a write whose answer is lost has happened, and can happen again without a difference: $kind',
      async (ending) => {
        const lease = await take();
        const write = async () => void (await (ending.kind === 'reject' ? reject(lease) : end(lease, ending)));
        underTest.loseAnswers(true);
        await expect(write()).rejects.toThrow(StoreUnavailable);
        underTest.loseAnswers(false);
        expect(await stored()).toMatchObject({ fence: lease.fence, leaseOwner: undefined });
        await changesNothing(write);
      },
    );
  });
}

const IN_TIME = Infinity;
function counts({ rejected }: PairRecord): Record<string, number> {
  return Object.fromEntries([...rejected].map(([version, { count }]) => [version, count]).toSorted());
}
