import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type CircuitBreaker, createCircuitBreaker } from '../../functions/aws/pair-table/circuit-breaker.ts';
import { EMPTY_RECORD, type PairRecord } from '../../functions/broker/pair/record.ts';
import { type PairStore, StoreUnavailable, type TaggedRecord } from '../../functions/broker/pair/store.ts';
import { type Pair, pairKey } from '../../functions/broker/pair.ts';
import { START } from '../support/example.ts';
import { exampleToken, exampleWait, fullRecord, oldToken, revealed, WAIT } from '../support/pair/pair-examples.ts';
import { connectPairTable, IN_TIME, TABLE } from '../support/pair/pair-table.ts';

/** A store, and what happens to its items beside the store's own calls. */
export interface StoreUnderTest {
  readonly store: PairStore;
  /** While it lasts, calls are carried out and their answers are lost. */
  readonly loseAnswers: (isLosing: boolean) => void;
  /** An operator's stop, and its end. */
  readonly disable: (pair: Pair) => Promise<void>;
  readonly enable: (pair: Pair) => Promise<void>;
  readonly deleteItem: (pair: Pair) => Promise<void>;
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
    let pair: Pair;
    let pairs = 0;
    beforeAll(async () => {
      underTest = await start();
    });
    afterAll(() => underTest.close());
    beforeEach(() => {
      pairs += 1;
      pair = { client: `client-${pairs}`, service: 'customer-insights' };
    });

    const read = () => underTest.store.read(pair, IN_TIME);
    const replace = (seen: TaggedRecord, next: PairRecord) => underTest.store.replace(pair, seen, next, IN_TIME);
    /** Changes some members of the record that is there now. */
    const write = async (changes: Partial<PairRecord> = {}): Promise<TaggedRecord> => {
      const seen = await read();
      const written = await replace(seen, { ...seen.record, ...changes });
      if (written === undefined) throw new Error('another write came first');
      return written;
    };

    it('finds the empty record and no tag where nothing was written, for another pair too', async () => {
      const empty = { record: EMPTY_RECORD, tag: undefined };
      expect(await read()).toEqual(empty);
      await write({ attemptedAt: START });
      for (const other of [
        { ...pair, service: 'merchant-payment-cleansing' },
        { ...pair, client: `${pair.client}0` },
      ])
        expect(await underTest.store.read(other, IN_TIME)).toEqual(empty);
    });

    describe('a replaced record', () => {
      it.each<[string, PairRecord]>([
        ['with every member', fullRecord()],
        ['with a lease alone', { ...EMPTY_RECORD, lease: { id: 'a', until: START + 0.5 } }],
        ['with a token without a scope alone', { ...EMPTY_RECORD, token: oldToken() }],
        ['with nothing', EMPTY_RECORD],
      ])('is read as it was written, in place of all that was there before: %s', async (_what, next) => {
        for (const before of [EMPTY_RECORD, fullRecord()]) {
          await write(before);
          const written = await replace(await read(), next);
          expect(shown(written?.record)).toEqual(shown(next));
          expect(shown((await read()).record)).toEqual(shown(next));
          expect((await read()).tag).toBe(written?.tag);
        }
      });

      it('keeps a token that is the seen one, whatever else changes, and takes it away by name', async () => {
        await write({ token: exampleToken() });
        const seen = await read();
        await replace(seen, { ...seen.record, pause: WAIT });
        expect(shown((await read()).record)).toEqual(shown({ ...EMPTY_RECORD, token: exampleToken(), pause: WAIT }));
        await write({ token: undefined });
        expect((await read()).record).toEqual({ ...EMPTY_RECORD, pause: WAIT });
      });

      it('keeps versions and keys of any spelling apart', async () => {
        const names = ['v1:a', 'v1:b', '__proto__', 'v 1', ''];
        const held = new Map(names.map((key, step) => [key, exampleWait(START, 'internal', step)]));
        const rejected = new Map(names.map((version, at) => [version, { count: 1, at, by: 'a' }]));
        await write({ held, rejected });
        expect((await read()).record).toEqual({ ...EMPTY_RECORD, held, rejected });
      });
    });

    describe('the tag', () => {
      it('is new with every write, also of the same record', async () => {
        const tags = [await write(fullRecord()), await write(), await write()].map(({ tag }) => tag);
        await underTest.disable(pair);
        tags.push((await read()).tag);
        await underTest.enable(pair);
        tags.push((await read()).tag);
        expect(new Set(tags.filter((tag) => tag !== undefined)).size).toBe(5);
      });

      it.each<[string, () => Promise<unknown>]>([
        ['another write', () => write({ attemptedAt: START + 1 })],
        ['a stop', () => underTest.disable(pair)],
        ['the end of a stop', async () => [await underTest.disable(pair), await underTest.enable(pair)]],
        ['its deletion', () => underTest.deleteItem(pair)],
        ['its deletion and as many writes as before', async () => [await underTest.deleteItem(pair), await write()]],
      ])('of a record does not fit any more after %s, and nothing is written', async (_what, happens) => {
        await write({ token: exampleToken() });
        const seen = await read();
        await happens();
        const before = await read();
        expect(await replace(seen, fullRecord())).toBeUndefined();
        expect(shown(await read())).toEqual(shown(before));
      });

      it('lets exactly one of many writes win that saw the same', async () => {
        for (const round of [1, 2]) {
          const seen = await read();
          const leases = Array.from({ length: 20 }, (_, index) => ({ id: `lease-${round}-${index}`, until: START }));
          const winners: unknown[] = [];
          const take = async (lease: (typeof leases)[number]) => {
            if ((await replace(seen, { ...seen.record, lease })) !== undefined) winners.push(lease);
          };
          // At once, or in turn where the store cannot do otherwise.
          if (isAtomic) await Promise.all(leases.map(take));
          else for (const lease of leases) await take(lease);
          expect(winners).toEqual([(await read()).record.lease]);
        }
      });
    });

    describe("an operator's stop", () => {
      it('is read with the record, leaves all else as it is, and is written and ended by operators alone', async () => {
        await write(fullRecord());
        await underTest.disable(pair);
        const stopped = await read();
        expect(shown(stopped.record)).toEqual(shown({ ...fullRecord(), disabled: { since: expect.any(Number) } }));

        const { disabled } = stopped.record;
        const next = { ...stopped.record, pause: undefined, disabled: undefined };
        expect((await replace(stopped, next))?.record).toMatchObject({ pause: undefined, disabled });
        expect((await read()).record).toMatchObject({ pause: undefined, disabled });

        await underTest.disable(pair);
        expect((await read()).record.disabled).toEqual(disabled);
        await underTest.enable(pair);
        const enabled = await write({ disabled: { since: START } });
        expect(enabled.record.disabled).toBeUndefined();
        expect((await read()).record.disabled).toBeUndefined();
      });

      it('ends together with token and lease, and only where it was set', async () => {
        await write(fullRecord());
        await underTest.enable(pair);
        expect(shown((await read()).record)).toEqual(shown(fullRecord()));
        await underTest.disable(pair);
        await underTest.enable(pair);
        expect(shown((await read()).record)).toEqual(shown({ ...fullRecord(), token: undefined, lease: undefined }));
      });

      it('holds for a pair without a record, and its end makes none', async () => {
        await underTest.enable(pair);
        expect(await read()).toEqual({ record: EMPTY_RECORD, tag: undefined });
        await underTest.disable(pair);
        expect((await read()).record).toEqual({ ...EMPTY_RECORD, disabled: { since: expect.any(Number) } });
      });
    });

    it('says when the answer to a write is lost, which has happened, and whose repetition is a conflict', async () => {
      const seen = await read();
      underTest.loseAnswers(true);
      await expect(replace(seen, fullRecord())).rejects.toThrow(StoreUnavailable);
      underTest.loseAnswers(false);
      const after = await read();
      expect(shown(after.record)).toEqual(shown(fullRecord()));
      expect(await replace(seen, EMPTY_RECORD)).toBeUndefined();
      expect(shown(await read())).toEqual(shown(after));
    });
  });
}

/** The pair table on a server of DynamoDB's API. */
export async function onServer(server: { readonly url: string; readonly close: () => Promise<void> }) {
  // Each call has a circuit of its own: a failure in one test does not open it for the next.
  const breaker: CircuitBreaker = (terms, call) =>
    createCircuitBreaker('UpdateItem', () => START, { timeoutMs: 10_000 })(terms, call);
  const { store, admin, clock, direct, endpoint, close } = await connectPairTable(server.url, { breaker });
  // The lease of a record has ended, so the end of a stop does not wait for it.
  clock.now += 60_000;
  return {
    store,
    loseAnswers: (isLosing) => {
      endpoint.failWith(isLosing ? 'lost-answer' : undefined);
      onTestFinished(() => endpoint.failWith(undefined));
    },
    async disable(pair) {
      clock.now += 1;
      await admin.disable(pair);
    },
    enable: (pair) => admin.enable(pair, () => undefined),
    async deleteItem(pair) {
      await direct.send(new DeleteItemCommand({ TableName: TABLE, Key: { pair: { S: pairKey(pair) } } }));
    },
    close: async () => {
      await close();
      await server.close();
    },
  } satisfies StoreUnderTest;
}

/** With the token in the open, to be compared. */
function shown(value: PairRecord | TaggedRecord | undefined): unknown {
  if (value === undefined || !('record' in value)) return value && { ...value, token: revealed(value.token) };
  return { ...value, record: shown(value.record) };
}
