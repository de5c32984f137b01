import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Pair } from '../../functions/broker/pair/pair.ts';
import { EMPTY_RECORD, type PairRecord, type Pause } from '../../functions/broker/pair/record.ts';
import { type Acquisition, type PairStore, StoreUnavailable } from '../../functions/broker/pair/store.ts';
import { START } from './example.ts';
import { examplePublication, exampleToken, revealed } from './pair-examples.ts';

export interface StoreUnderTest {
  readonly store: PairStore;
  /** While it lasts, calls are carried out and their answers are lost. */
  readonly loseAnswers: (isLosing: boolean) => void;
  readonly close: () => Promise<void>;
}

/** The promises of `PairStore`, for whatever claims to be one. */
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

    const stored = () => store.read(pair, 'strong');

    /** Takes the lease with whatever fence the record has. */
    const take = async (changes: Partial<Acquisition> = {}) => {
      const seenFence = (await stored()).fence;
      expect(await store.acquire(pair, acquisition({ seenFence, outwaited: true, ...changes }))).toBeDefined();
      return seenFence + 1;
    };

    /** Lets something happen that must leave the record as it was. */
    const changesNothing = async (happens: () => Promise<unknown>) => {
      const before = await stored();
      await happens();
      expect(await stored()).toEqual(before);
    };

    describe('reading', () => {
      it.each(['eventual', 'strong'] as const)('finds the empty record where nothing was written (%s)', async (how) => {
        expect(await store.read(pair, how)).toEqual(EMPTY_RECORD);
      });

      it('sees another pair as little as another sees this one', async () => {
        await take();
        expect(await store.read({ ...pair, service: 'merchant-payment-cleansing' }, 'strong')).toEqual(EMPTY_RECORD);
        expect(await store.read({ ...pair, client: `${pair.client}0` }, 'strong')).toEqual(EMPTY_RECORD);
      });
    });

    describe('acquiring', () => {
      it('gives the first lease of a pair, and says that there was nothing before', async () => {
        expect(await store.acquire(pair, acquisition())).toEqual(EMPTY_RECORD);
        expect(await stored()).toEqual({
          ...EMPTY_RECORD,
          fence: 1,
          leaseOwner: 'me',
          leaseUntil: START + 6_000,
          attemptedAt: START,
        });
      });

      it('says what the record was before', async () => {
        await store.publish(pair, await take(), examplePublication());
        await store.pause(pair, await take(), examplePause());
        const before = await stored();
        const seen = await store.acquire(pair, acquisition({ seenFence: before.fence }));
        expect(seen).toEqual(before);
        expect(seen?.token?.accessToken.reveal()).toBe(exampleToken().accessToken.reveal());
      });

      it.each([
        ['its time has come', { now: START + 6_000 }],
        ['it has been watched to its end', { outwaited: true }],
      ])('takes over the lease of another when %s', async (_why, how) => {
        await take({ owner: 'other', until: START + 6_000 });
        const before = await store.acquire(pair, acquisition({ seenFence: 1, now: START + 5_999, ...how }));
        expect(before).toMatchObject({ fence: 1, leaseOwner: 'other' });
        expect(await stored()).toMatchObject({ fence: 2, leaseOwner: 'me' });
      });

      it('leaves the lease of another alone until then', async () => {
        await take({ owner: 'other', until: START + 6_000 });
        await changesNothing(async () => {
          expect(await store.acquire(pair, acquisition({ seenFence: 1, now: START + 5_999 }))).toBeUndefined();
        });
      });

      it.each([0, 1, 3])('fails when the fence is 2 and %i was seen, even after a wait', async (seenFence) => {
        await store.release(pair, await take({ owner: 'other' }));
        await store.release(pair, await take({ owner: 'other' }));
        const late = { seenFence, now: START + 3_600_000, outwaited: true };
        await changesNothing(async () => {
          expect(await store.acquire(pair, acquisition(late))).toBeUndefined();
        });
      });

      it('takes up my own lease again before its time has come, under a new fence', async () => {
        await take();
        expect(await store.acquire(pair, acquisition({ seenFence: 1 }))).toMatchObject({ fence: 1, leaseOwner: 'me' });
        expect(await stored()).toMatchObject({ fence: 2, leaseOwner: 'me' });
      });

      it('lets exactly one of many that saw the same win', async () => {
        const owners = Array.from({ length: 20 }, (_, index) => `owner-${index}`);
        const answers: Awaited<ReturnType<PairStore['acquire']>>[] = [];
        const ask = async (owner: string, index: number) => {
          answers[index] = await store.acquire(pair, acquisition({ owner }));
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

      it('uses up a chance of the version that it charges, and of no other', async () => {
        await store.reject(pair, await take(), { version: 'v1', at: START, goneVersions: [] });
        await store.reject(pair, await take(), { version: 'v2', at: START, goneVersions: [] });
        await take({ now: START + 900_000, chargedVersion: 'v1' });
        expect(counts(await stored())).toEqual({ v1: 2, v2: 1 });
        expect((await stored()).rejected.get('v1')?.at).toBe(START + 900_000);
      });

      it('charges nothing when it fails', async () => {
        await store.reject(pair, await take(), { version: 'v1', at: START, goneVersions: [] });
        await changesNothing(async () => {
          expect(await store.acquire(pair, acquisition({ seenFence: 0, chargedVersion: 'v1' }))).toBeUndefined();
        });
      });

      it('recognises the lease whose answer was lost', async () => {
        underTest.loseAnswers(true);
        await expect(store.acquire(pair, acquisition())).rejects.toThrow(StoreUnavailable);
        underTest.loseAnswers(false);
        expect(await stored()).toMatchObject({ leaseOwner: 'me' });

        const before = await store.acquire(pair, acquisition());
        expect(await stored()).toMatchObject({ leaseOwner: 'me', fence: (before?.fence ?? Number.NaN) + 1 });
      });
    });

    describe('publishing', () => {
      it('stores all of the token and what is known of its life, and ends the lease', async () => {
        const fence = await take();
        const publication = { ...examplePublication(), earlyRefusals: 1, assumedLifetimeMs: 150_000 };
        expect(await store.publish(pair, fence, publication)).toBe(true);
        const record = await stored();
        expect(record).toEqual({
          ...EMPTY_RECORD,
          ...{ fence, attemptedAt: START, leaseOwner: undefined, leaseUntil: 0 },
          ...publication,
          token: expect.anything(),
        });
        expect(revealed(record.token)).toEqual(revealed(exampleToken()));
      });

      it.each([
        ['without a scope', { scope: undefined }],
        ['with members passed through', { passThrough: { données: [1, null, { ok: true }], empty: '' } }],
        ['of which nothing was known before it came', { expirySource: 'assumed', tokenType: 'example' }],
        ['that was refused in vain', { refusalIsIdle: true }],
      ] as const)('keeps a token %s', async (_what, changes) => {
        const token = exampleToken(changes);
        await store.publish(pair, await take(), examplePublication(token));
        expect(revealed((await stored()).token)).toEqual(revealed(token));
      });

      it('replaces the token before it', async () => {
        await store.publish(pair, await take(), examplePublication());
        const next = exampleToken({ scope: undefined, fingerprint: 'fedcba9876543210' });
        await store.publish(pair, await take(), { ...examplePublication(next), lifetimeSeenMs: 7_200_000 });
        expect(revealed((await stored()).token)).toEqual(revealed(next));
        expect(await stored()).toMatchObject({ lifetimeSeenMs: 7_200_000 });
      });

      it('ends the pause, and the latch of the version that brought the token', async () => {
        await store.reject(pair, await take(), { version: 'v1', at: START, goneVersions: [] });
        await store.reject(pair, await take(), { version: 'v2', at: START, goneVersions: [] });
        await store.pause(pair, await take(), examplePause());
        await store.publish(pair, await take(), examplePublication(exampleToken({ credentialVersion: 'v1' })));
        expect(counts(await stored())).toEqual({ v2: 1 });
        expect((await stored()).pause).toBeUndefined();
      });

      it('still counts when the lease is over, as long as nobody took it', async () => {
        const fence = await take({ until: START - 1 });
        expect(await store.publish(pair, fence, examplePublication())).toBe(true);
        expect((await stored()).token).toBeDefined();
      });

      it('comes too late when somebody else has the lease', async () => {
        const fence = await take();
        await take({ owner: 'other' });
        await changesNothing(async () => {
          expect(await store.publish(pair, fence, examplePublication())).toBe(false);
        });
      });
    });

    describe('pausing', () => {
      it('stores the pause with its problem, and ends the lease', async () => {
        const fence = await take();
        expect(await store.pause(pair, fence, examplePause())).toBe(true);
        const { leaseOwner, leaseUntil, pause } = await stored();
        expect({ leaseOwner, leaseUntil, pause }).toEqual({
          leaseOwner: undefined,
          leaseUntil: 0,
          pause: examplePause(),
        });
      });

      it('keeps a problem without a shape, and the token', async () => {
        await store.publish(pair, await take(), examplePublication());
        const pause: Pause = { ...examplePause(), problem: { type: 'token-endpoint-timeout', detail: 'Too slow.' } };
        await store.pause(pair, await take(), pause);
        expect((await stored()).pause).toEqual(pause);
        expect((await stored()).token).toBeDefined();
      });

      it('comes too late when somebody else has the lease', async () => {
        const fence = await take();
        await take({ owner: 'other' });
        await changesNothing(async () => {
          expect(await store.pause(pair, fence, examplePause())).toBe(false);
        });
      });
    });

    describe('rejecting', () => {
      it('counts the request and ends my lease', async () => {
        await store.reject(pair, await take(), { version: 'v1', at: START + 150, goneVersions: [] });
        const { rejected, leaseOwner, leaseUntil } = await stored();
        expect([...rejected]).toEqual([['v1', { count: 1, at: START + 150, fence: 1 }]]);
        expect({ leaseOwner, leaseUntil }).toEqual({ leaseOwner: undefined, leaseUntil: 0 });
      });

      it('counts the request of a lease that somebody else took over, and leaves that lease alone', async () => {
        const fence = await take();
        await take({ owner: 'other', until: START + 6_000 });
        await store.reject(pair, fence, { version: 'v1', at: START, goneVersions: [] });
        expect(counts(await stored())).toEqual({ v1: 1 });
        expect(await stored()).toMatchObject({ fence: 2, leaseOwner: 'other', leaseUntil: START + 6_000 });
      });

      it('counts one request once, however often it is told, and also when its lease was charged for it', async () => {
        const rejection = { version: 'v1', at: START, goneVersions: [] };
        await store.reject(pair, await take(), rejection);
        await store.reject(pair, 1, rejection);
        expect(counts(await stored())).toEqual({ v1: 1 });

        await store.reject(pair, await take({ chargedVersion: 'v1' }), rejection);
        await store.reject(pair, 2, rejection);
        expect(counts(await stored())).toEqual({ v1: 2 });
      });

      it('counts every lease and every version for itself, also at the same time', async () => {
        const fences = [await take(), await take(), await take()];
        await Promise.all(
          fences.flatMap((fence) =>
            ['v1', 'v2'].map((version) => store.reject(pair, fence, { version, at: START, goneVersions: [] })),
          ),
        );
        expect(counts(await stored())).toEqual({ v1: 3, v2: 3 });
      });

      it('forgets the latches of versions that are gone, and only those', async () => {
        for (const version of ['v1', 'v2', 'v3']) {
          await store.reject(pair, await take(), { version, at: START, goneVersions: [] });
        }
        await store.reject(pair, await take(), { version: 'v4', at: START, goneVersions: ['v1', 'v3', 'unknown'] });
        expect(counts(await stored())).toEqual({ v2: 1, v4: 1 });
        await store.reject(pair, await take(), { version: 'v5', at: START, goneVersions: ['v5'] });
        expect(counts(await stored())).toEqual({ v2: 1, v4: 1 });
      });

      it('counts even where the record is gone', async () => {
        await store.reject(pair, 7, { version: 'v1', at: START, goneVersions: [] });
        expect(counts(await stored())).toEqual({ v1: 1 });
        expect(await stored()).toMatchObject({ fence: 0, leaseOwner: undefined });
      });
    });

    describe('releasing', () => {
      it('ends my lease, and nothing else', async () => {
        await store.publish(pair, await take(), examplePublication());
        const before = await stored();
        const fence = await take({ now: START + 5 });
        await store.release(pair, fence);
        expect(await stored()).toEqual({ ...before, fence, attemptedAt: START + 5 });
      });

      it('ends the latch of the version that has just worked', async () => {
        for (const version of ['v1', 'v2']) {
          await store.reject(pair, await take(), { version, at: START, goneVersions: [] });
        }
        await store.release(pair, await take({ chargedVersion: 'v1' }), 'v1');
        expect(counts(await stored())).toEqual({ v2: 1 });
      });

      it('leaves the lease of another alone', async () => {
        const fence = await take();
        await take({ owner: 'other' });
        await changesNothing(() => store.release(pair, fence, 'v1'));
      });
    });

    describe('a write whose answer is lost', () => {
      const rejection = { version: 'v1', at: START, goneVersions: [] };
      it.each<[string, (fence: number) => Promise<unknown>]>([
        ['a publication', (fence) => store.publish(pair, fence, examplePublication())],
        ['a pause', (fence) => store.pause(pair, fence, examplePause())],
        ['a rejection', (fence) => store.reject(pair, fence, rejection)],
        ['a release', (fence) => store.release(pair, fence)],
      ])('has happened, and can happen again without a difference: %s', async (_what, write) => {
        const fence = await take();
        underTest.loseAnswers(true);
        await expect(write(fence)).rejects.toThrow(StoreUnavailable);
        underTest.loseAnswers(false);
        expect(await stored()).toMatchObject({ fence, leaseOwner: undefined });
        await changesNothing(() => write(fence));
      });
    });
  });
}

/** A first attempt at the empty record, at `START` for six seconds. */
function acquisition(changes: Partial<Acquisition> = {}): Acquisition {
  const now = changes.now ?? START;
  return {
    seenFence: 0,
    owner: 'me',
    now,
    until: now + 6_000,
    outwaited: false,
    forced: false,
    chargedVersion: undefined,
    ...changes,
  };
}

function examplePause(): Pause {
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
