import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Pair } from '../../functions/broker/pair/pair.ts';
import {
  type CheckedVersion,
  EMPTY_RECORD,
  type PairRecord,
  type StoredToken,
  StoreUnavailable,
  type Wait,
} from '../../functions/broker/pair/record.ts';
import type { Acquisition, Ending, Lease, PairStore, RejectedRequest } from '../../functions/broker/pair/store.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import { START } from './example.ts';
import { exampleAcquisition, exampleToken, revealed } from './pair-examples.ts';

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

    /** Lets something happen that must leave the record as it was. */
    const changesNothing = async (happens: () => Promise<unknown>) => {
      const before = await stored();
      await happens();
      expect(await stored()).toEqual(before);
    };

    describe('reading', () => {
      it('finds the empty record where nothing was written', async () => {
        expect(await stored()).toEqual(EMPTY_RECORD);
      });

      it('sees another pair as little as another sees this one', async () => {
        await take();
        expect(await store.read({ ...pair, service: 'merchant-payment-cleansing' }, IN_TIME)).toEqual(EMPTY_RECORD);
        expect(await store.read({ ...pair, client: `${pair.client}0` }, IN_TIME)).toEqual(EMPTY_RECORD);
      });
    });

    describe('acquiring', () => {
      it('gives the first lease of a pair, and says that there was nothing before', async () => {
        expect(await acquire()).toEqual(EMPTY_RECORD);
        expect(await stored()).toEqual({
          ...EMPTY_RECORD,
          fence: 1,
          leaseOwner: 'me',
          leaseUntil: START + 6_000,
          attemptedAt: START,
        });
      });

      it('says what the record was before', async () => {
        await end(await take(), publish());
        await end(await take(), { kind: 'pause', pause: examplePause() });
        const before = await stored();
        const seen = await acquire({ seenFence: before.fence });
        expect(seen).toEqual(before);
        expect(seen?.token?.accessToken.reveal()).toBe(exampleToken().accessToken.reveal());
      });

      it.each([
        ['its time has come', { now: START + 6_000 }],
        ['it has been watched to its end', { observedExpired: true }],
      ])('takes over the lease of another when %s', async (_why, how) => {
        await take({ owner: 'other', until: START + 6_000 });
        const before = await acquire({ seenFence: 1, now: START + 5_999, ...how });
        expect(before).toMatchObject({ fence: 1, leaseOwner: 'other' });
        expect(await stored()).toMatchObject({ fence: 2, leaseOwner: 'me' });
      });

      it('leaves the lease of another alone until then', async () => {
        await take({ owner: 'other', until: START + 6_000 });
        await changesNothing(async () => {
          expect(await acquire({ seenFence: 1, now: START + 5_999 })).toBeUndefined();
        });
      });

      it.each([0, 1, 3])('fails when the fence is 2 and %i was seen, even after a wait', async (seenFence) => {
        await end(await take({ owner: 'other' }), RELEASE);
        await end(await take({ owner: 'other' }), RELEASE);
        const late = { seenFence, now: START + 3_600_000, observedExpired: true };
        await changesNothing(async () => {
          expect(await acquire(late)).toBeUndefined();
        });
      });

      it('takes up my own lease again before its time has come, under a new fence', async () => {
        await take();
        expect(await acquire({ seenFence: 1 })).toMatchObject({ fence: 1, leaseOwner: 'me' });
        expect(await stored()).toMatchObject({ fence: 2, leaseOwner: 'me' });
      });

      it('lets exactly one of many that saw the same win', async () => {
        const owners = Array.from({ length: 20 }, (_, index) => `owner-${index}`);
        const answers: Awaited<ReturnType<PairStore['acquire']>>[] = [];
        const ask = async (owner: string, index: number) => {
          answers[index] = await acquire({ owner });
        };
        if (isAtomic) await Promise.all(owners.map(ask));
        else for (const [index, owner] of owners.entries()) await ask(owner, index);
        const winners = owners.filter((_owner, index) => answers[index] !== undefined);
        expect(winners).toHaveLength(1);
        expect(await stored()).toMatchObject({ fence: 1, leaseOwner: winners[0] });
      });

      it('notes when a token was forced, and only then', async () => {
        await take({ now: START, forced: true });
        expect(await stored()).toMatchObject({ attemptedAt: START, forcedAt: START });
        await take({ now: START + 1_000, forced: false });
        expect(await stored()).toMatchObject({ attemptedAt: START + 1_000, forcedAt: START });
      });

      it('leaves the time of the last attempt as it is when the lease is for a check', async () => {
        await take({ now: START });
        await take({ now: START + 1_000, isCheck: true });
        expect(await stored()).toMatchObject({ fence: 2, attemptedAt: START, leaseUntil: START + 7_000 });
      });

      it('uses up a chance of the version that it charges, and of no other', async () => {
        await reject(await take());
        await reject(await take(), { version: 'v2' });
        await take({ now: START + 900_000, chargedVersion: 'v1' });
        expect(counts(await stored())).toEqual({ v1: 2, v2: 1 });
        expect((await stored()).rejected.get('v1')?.at).toBe(START + 900_000);
      });

      it('charges nothing when it fails', async () => {
        await reject(await take());
        await changesNothing(async () => {
          expect(await acquire({ seenFence: 0, chargedVersion: 'v1' })).toBeUndefined();
        });
      });

      it('recognises the lease whose answer was lost', async () => {
        underTest.loseAnswers(true);
        await expect(acquire()).rejects.toThrow(StoreUnavailable);
        underTest.loseAnswers(false);
        expect(await stored()).toMatchObject({ leaseOwner: 'me' });

        const before = await acquire();
        expect(await stored()).toMatchObject({ leaseOwner: 'me', fence: (before?.fence ?? Number.NaN) + 1 });
      });
    });

    describe('ending a lease', () => {
      it.each(ENDINGS)('ends it, and nothing else: %s', async (_kind, ending, changed) => {
        await reject(await take(), { version: 'v9' });
        await end(await take(), hold('v9:other-settings'));
        const before = await stored();
        const lease = await take({ now: START + 5 });
        expect(await end(lease, ending)).toBe(true);
        expect(await stored()).toEqual({ ...before, fence: lease.fence, attemptedAt: START + 5, ...changed(before) });
      });

      it.each(ENDINGS)('still counts after its end, as long as no other call took it: %s', async (_kind, ending) => {
        expect(await end(await take({ until: START - 1 }), ending)).toBe(true);
        expect(await stored()).toMatchObject({ leaseOwner: undefined, leaseUntil: 0 });
      });

      it.each(ENDINGS)('comes too late when it has ended, or another call has it: %s', async (_kind, ending) => {
        const lost = await take();
        const over = await take();
        await end(over, RELEASE);
        await changesNothing(async () => expect(await end(over, ending)).toBe(false));

        // A table that was restored gives the same fence again.
        const { fence } = await take({ owner: 'other' });
        for (const lease of [lost, { owner: 'me', fence }]) {
          await changesNothing(async () => expect(await end(lease, ending)).toBe(false));
        }
      });
    });

    describe('publishing', () => {
      it('stores every kind of token as it is', async () => {
        const token = exampleToken({
          accessToken: new Redacted('ünïcödé.'.repeat(1_000)),
          tokenType: 'urn:example:token-type:mac',
          expirySource: 'assumed',
          scope: undefined,
          passThrough: { instance_url: 'https://acme.example', nested: { list: [1, null, 'x'] } },
          sameTokenAgain: true,
        });
        await end(await take(), publish(token));
        expect(revealed((await stored()).token)).toEqual(revealed(token));
      });

      it('replaces the token before', async () => {
        await end(await take(), publish());
        const changed = { fingerprint: 'fedcba9876543210', credentialVersion: 'v2', lifetimeSeenMs: 7_200_000 };
        const next = exampleToken({ ...changed, issuedAt: START + 5 });
        await end(await take(), publish(next));
        expect(revealed((await stored()).token)).toEqual(revealed(next));
      });

      it.each<[string, Ending]>([
        ['a publication', publish()],
        ['a proof', PROVE],
      ])('ends the latch and the hold of the version that worked, and no other: %s', async (_what, ending) => {
        for (const version of ['v1', 'v2']) await reject(await take(), { version });
        for (const key of [HOLD_KEY, 'v1:other-settings', 'v2:settings']) await end(await take(), hold(key));
        await end(await take({ chargedVersion: 'v1' }), ending);
        expect(counts(await stored())).toEqual({ v2: 1 });
        expect([...(await stored()).held.keys()].toSorted()).toEqual(['v1:other-settings', 'v2:settings']);
      });

      it('ends the pause; a proof does not', async () => {
        await end(await take(), PAUSE);
        await end(await take(), PROVE);
        expect((await stored()).pause).toEqual(examplePause());
        await end(await take(), publish());
        expect((await stored()).pause).toBeUndefined();
      });
    });

    describe('pausing and holding', () => {
      it('keeps a problem without a shape, and the token', async () => {
        await end(await take(), publish());
        const pause: Wait = { ...examplePause(), problem: { type: 'token-endpoint-timeout', detail: 'Too slow.' } };
        await end(await take(), { kind: 'pause', pause });
        await end(await take(), { ...hold(HOLD_KEY), hold: pause });
        const { token, pause: kept, held } = await stored();
        expect({ pause: kept, held: [...held] }).toEqual({ pause, held: [[HOLD_KEY, pause]] });
        expect(token).toBeDefined();
      });

      it('holds each version under each settings for itself, and drops those that are named', async () => {
        for (const key of ['v1:a', 'v1:b', 'v2:a']) await end(await take(), hold(key));
        const again = { ...hold('v1:a'), expiredKeys: ['v1:b', 'v1:a', 'unknown:x'] };
        await end(await take(), { ...again, hold: { ...again.hold, step: 7 } });
        const { held } = await stored();
        expect([...held].map(([key, { step }]) => [key, step]).toSorted()).toEqual([
          ['v1:a', 7],
          ['v2:a', 3],
        ]);
      });
    });

    describe('the slot of checks', () => {
      it.each<[string, Ending]>([
        ['a publication', { ...publish(), checked: CHECKED }],
        ['a proof', { ...PROVE, checked: CHECKED }],
        ['a pause', { ...PAUSE, checked: CHECKED }],
        ['a hold', { ...hold(HOLD_KEY), checked: CHECKED }],
      ])('is written with %s, and stays until it is written again', async (_what, ending) => {
        await end(await take(), ending);
        expect((await stored()).checked).toEqual(CHECKED);
        await end(await take(), RELEASE);
        await reject(await take());
        expect((await stored()).checked).toEqual(CHECKED);
        await reject(await take(), { checked: { ...CHECKED, finding: 'rejected' } });
        expect((await stored()).checked).toEqual({ ...CHECKED, finding: 'rejected' });
      });
    });

    describe('withdrawing', () => {
      it('removes the token, and nothing else', async () => {
        await reject(await take(), { version: 'v2' });
        await end(await take(), publish());
        const lease = await take({ now: START + 5 });
        const before = await stored();
        expect(await end(lease, { kind: 'withdraw' })).toBe(true);
        const gone = { token: undefined, leaseOwner: undefined, leaseUntil: 0 };
        expect(await stored()).toEqual({ ...before, ...gone });
      });
    });

    describe('rejecting', () => {
      it('counts the request and ends my lease', async () => {
        await reject(await take(), { at: START + 150 });
        const { rejected, leaseOwner, leaseUntil } = await stored();
        expect([...rejected]).toEqual([['v1', { count: 1, at: START + 150, fence: 1 }]]);
        expect({ leaseOwner, leaseUntil }).toEqual({ leaseOwner: undefined, leaseUntil: 0 });
      });

      it('counts the request of a lease that another call took over, and leaves that lease alone', async () => {
        const lease = await take();
        await take({ owner: 'other', until: START + 6_000 });
        await reject(lease, { checked: CHECKED });
        expect(counts(await stored())).toEqual({ v1: 1 });
        const others = { fence: 2, leaseOwner: 'other', leaseUntil: START + 6_000, checked: undefined };
        expect(await stored()).toMatchObject(others);
      });

      it('leaves the lease of another call alone that has the same fence', async () => {
        const { fence } = await take({ owner: 'other', until: START + 6_000 });
        await reject({ owner: 'me', fence });
        expect(counts(await stored())).toEqual({ v1: 1 });
        expect(await stored()).toMatchObject({ leaseOwner: 'other', leaseUntil: START + 6_000 });
      });

      it('counts one request once, however often it is told, and also when its lease was charged for it', async () => {
        const first = await take();
        for (let times = 0; times < 2; times += 1) await reject(first);
        expect(counts(await stored())).toEqual({ v1: 1 });

        const second = await take({ chargedVersion: 'v1' });
        for (let times = 0; times < 2; times += 1) await reject(second);
        expect(counts(await stored())).toEqual({ v1: 2 });
      });

      it('counts every lease and every version for itself, also at the same time', async () => {
        const leases = [await take(), await take(), await take()];
        const told = leases.flatMap((lease) => ['v1', 'v2'].map((version) => () => reject(lease, { version })));
        if (isAtomic) await Promise.all(told.map((tell) => tell()));
        else for (const tell of told) await tell();
        expect(counts(await stored())).toEqual({ v1: 3, v2: 3 });
      });

      it('forgets the latches of versions that are gone, and only those', async () => {
        for (const version of ['v1', 'v2', 'v3']) await reject(await take(), { version });
        await reject(await take(), { version: 'v4', goneVersions: ['v1', 'v3', 'unknown'] });
        expect(counts(await stored())).toEqual({ v2: 1, v4: 1 });
        await reject(await take(), { version: 'v5', goneVersions: ['v5'] });
        expect(counts(await stored())).toEqual({ v2: 1, v4: 1 });
      });

      it('counts even where the record is gone', async () => {
        await reject({ owner: 'me', fence: 7 });
        expect(counts(await stored())).toEqual({ v1: 1 });
        expect(await stored()).toMatchObject({ fence: 0, leaseOwner: undefined });
      });
    });

    describe('a write whose answer is lost', () => {
      it.each<[string, (lease: Lease) => Promise<unknown>]>([
        ...ENDINGS.map(([kind, ending]): [string, (lease: Lease) => Promise<unknown>] => [
          kind,
          (lease) => end(lease, ending),
        ]),
        ['reject', (lease) => reject(lease)],
      ])('has happened, and can happen again without a difference: %s', async (_what, write) => {
        const lease = await take();
        underTest.loseAnswers(true);
        await expect(write(lease)).rejects.toThrow(StoreUnavailable);
        underTest.loseAnswers(false);
        expect(await stored()).toMatchObject({ fence: lease.fence, leaseOwner: undefined });
        await changesNothing(() => write(lease));
      });
    });
  });
}

const IN_TIME = Infinity;
const HOLD_KEY = 'v1:0123456789abcdef';
const CHECKED: CheckedVersion = { version: 'v3', at: START + 0.5, finding: 'accepted' };
const RELEASE: Ending = { kind: 'release' };
const PROVE = { kind: 'prove', version: 'v1', holdKey: HOLD_KEY } satisfies Ending;
const PAUSE = { kind: 'pause', pause: examplePause() } satisfies Ending;

function publish(token: StoredToken = exampleToken()) {
  return { kind: 'publish', token, holdKey: HOLD_KEY } satisfies Ending;
}

function hold(key: string) {
  return { kind: 'hold', key, hold: examplePause(), expiredKeys: [] } satisfies Ending;
}

/** Each way to end a lease, and what it changes in a record that holds none of this. */
const ENDINGS: readonly (readonly [Ending['kind'], Ending, (before: PairRecord) => Partial<PairRecord>])[] = [
  [
    'publish',
    publish(),
    () => ({ token: expect.objectContaining({ fingerprint: exampleToken().fingerprint, lifetimeSeenMs: 3_600_000 }) }),
  ],
  ['prove', PROVE, () => ({})],
  ['pause', PAUSE, () => ({ pause: examplePause() })],
  ['hold', hold(HOLD_KEY), ({ held }) => ({ held: new Map([...held, [HOLD_KEY, examplePause()]]) })],
  ['withdraw', { kind: 'withdraw' }, () => ({})],
  ['release', RELEASE, () => ({})],
];

function examplePause(): Wait {
  return {
    until: START + 4_000,
    step: 3,
    problem: {
      type: 'token-response-unusable',
      detail: 'The answer holds no token – at all.',
      shape: {
        status: 200,
        contentType: 'application/json',
        bytes: 2,
        members: [{ path: '$', type: 'object', length: 0 }],
      },
    },
  };
}

function counts({ rejected }: PairRecord): Record<string, number> {
  return Object.fromEntries([...rejected].map(([version, { count }]) => [version, count]).toSorted());
}
