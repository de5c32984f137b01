import { describe, expect, it } from 'vitest';
import { createPursuit } from '../../../functions/broker/pair/acquire-token.ts';
import type { Goal, Move, Round } from '../../../functions/broker/pair/goal.ts';
import { createPairMemory } from '../../../functions/broker/pair/memory.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../functions/broker/pair/record.ts';
import { type PairStore, StoreUnavailable } from '../../../functions/broker/pair/store.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { Renewal } from '../../../functions/broker/token-request/renew-token.ts';
import { START } from '../../support/example.ts';
import { exampleCall, examplePublication, exampleToken } from '../../support/pair-examples.ts';
import { createReferencePairStore } from '../../support/reference-pair-store.ts';

const call = exampleCall();
const { pair } = call;
const LEASE_MS = 6_000;
const DOWN = () => Promise.reject(new StoreUnavailable('TimeoutError'));
const WAIT: Move<string> = { kind: 'wait' };
const done = (result: string): Move<string> => ({ kind: 'done', result });

function lease(changes: Partial<Extract<Move<string>, { kind: 'lease' }>> = {}): Move<string> {
  const version = { versionId: 'v1', stage: 'AWSCURRENT', text: new Redacted('{}') } as const;
  return {
    kind: 'lease',
    version,
    forced: false,
    patienceMs: 4_000,
    publishes: true,
    confirm: async () => version,
    onToken: ({ fingerprint }) => fingerprint,
    ...changes,
  };
}

/** Time passes while somebody sleeps, and only then. */
function setUp({ random = 0, store = {}, renewal = examplePublication() }: Options = {}) {
  const clock = { now: START };
  const slept: number[] = [];
  const memory = createPairMemory(() => clock.now);
  const shared = createReferencePairStore();
  const reads: string[] = [];
  const read: PairStore['read'] = (which, consistency) => {
    reads.push(consistency);
    return (store.read ?? shared.read)(which, consistency);
  };
  const pursue = createPursuit({
    memory,
    store: { ...shared, ...store, read },
    renewToken: async () => renewal,
    stagedVersions: async () => undefined,
    now: () => clock.now,
    sleep: async (ms) => {
      slept.push(ms);
      clock.now += ms;
    },
    random: () => random,
  });
  return {
    clock,
    slept,
    memory,
    shared,
    reads,
    /** `moves`: what each look leads to; the last one again and again. */
    async follow(moves: readonly (Move<string> | (() => Move<string>))[], by = call) {
      const rounds: Round<number>[] = [];
      const goal: Goal<string, number> = {
        prepare: async (readSince) => readSince,
        async look(round) {
          rounds.push(round);
          const move = moves[rounds.length - 1] ?? moves.at(-1) ?? WAIT;
          return typeof move === 'function' ? move() : move;
        },
      };
      const result = await pursue(by, goal).catch((error: unknown) => error);
      return { result, rounds };
    },
  };
}

interface Options {
  readonly random?: number;
  /** The operations of the store that are not as usual. */
  readonly store?: Partial<PairStore>;
  readonly renewal?: Renewal;
}

/** A store whose reads go one after the other as given, the last one again and again. */
function readsOf(...answers: readonly (Partial<PairRecord> | typeof DOWN)[]): Partial<PairStore> {
  let n = 0;
  return {
    read: async () => {
      const answer = answers[Math.min(n++, answers.length - 1)];
      return typeof answer === 'function' ? answer() : { ...EMPTY_RECORD, ...answer };
    },
  };
}

const LIVE = { fence: 4, leaseOwner: 'another', leaseUntil: START + LEASE_MS };

describe('whoever waits', () => {
  it('looks again after 25 to 50 ms, then after twice as long each time, up to 250 to 500 ms', async () => {
    const first = setUp({ store: readsOf(LIVE) });
    await first.follow([WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, done('token')]);
    expect(first.slept).toEqual([25, 50, 100, 200, 250, 250]);

    const last = setUp({ store: readsOf(LIVE), random: 0.5 });
    await last.follow([WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, done('token')]);
    expect(last.slept).toEqual([37.5, 75, 150, 300, 375, 375]);
  });

  it('keeps that pace while the store cannot be read', async () => {
    const { slept, follow } = setUp({ store: readsOf(LIVE, DOWN, DOWN, DOWN, LIVE) });
    const { result, rounds } = await follow([WAIT, done('token')]);

    expect(result).toBe('token');
    expect(rounds).toHaveLength(2);
    expect(slept).toEqual([25, 50, 100, 200]);
  });

  it('is awake soon after the lease ends, and not all at once', async () => {
    const { slept, follow } = setUp({ store: readsOf({ ...LIVE, leaseUntil: START + 60 }), random: 0.9 });
    await follow([WAIT, WAIT, done('token')]);

    expect(slept).toEqual([47.5, 60 - 47.5 + 45]);
  });

  it('sleeps no longer than its call lasts', async () => {
    const { clock, slept, follow } = setUp({ store: readsOf(LIVE) });
    await follow([WAIT], exampleCall({ deadline: START + 60 }));

    expect(slept).toEqual([25, 35]);
    expect(clock.now).toBe(START + 60);
  });
});

describe('a call whose time is over', () => {
  const late = exampleCall({ deadline: START + 20 });

  it('looks once more, at what this environment knows by itself', async () => {
    const { memory, follow } = setUp({ store: readsOf(LIVE, DOWN) });
    const known = { ...EMPTY_RECORD, fence: 7, leaseOwner: 'me', leaseUntil: START + LEASE_MS };
    const another = () => {
      memory.remember(pair, known);
      return WAIT;
    };
    const { result, rounds } = await follow([another, done('what memory has')], late);

    expect(result).toBe('what memory has');
    expect(rounds).toMatchObject([
      { isAlone: false, leaseIsOver: false, record: { fence: 4 } },
      { isAlone: true, leaseIsOver: true, record: { fence: 7 } },
    ]);
  });

  it('has what serves when no lease brings anything', async () => {
    const { follow } = setUp({ store: readsOf(LIVE) });

    expect((await follow([WAIT, lease({ otherwise: () => 'the old token' })], late)).result).toBe('the old token');
  });

  it.each([
    ['only wait', WAIT],
    ['only take a lease', lease()],
    ['find that the old token has lapsed as well', lease({ otherwise: () => undefined })],
  ])('is told to come back in a second when it could %s', async (_, move) => {
    const { follow } = setUp({ store: readsOf(LIVE) });

    expect((await follow([WAIT, move], late)).result).toMatchObject({
      type: 'token-endpoint-timeout',
      detail: expect.stringContaining('in time'),
      retryAfterSeconds: 1,
    });
  });

  it('looks at nothing when there was no time for a single look', async () => {
    const { reads, follow } = setUp();
    const { result, rounds } = await follow([done('token')], exampleCall({ deadline: START }));

    expect(result).toMatchObject({ type: 'token-endpoint-timeout' });
    expect(rounds).toEqual([]);
    expect(reads).toEqual([]);
  });
});

describe('a lost lease', () => {
  it('costs a strong look at once, three times; from then on there is a breath in between', async () => {
    const { slept, reads, follow } = setUp({ store: { acquire: async () => undefined } });
    await follow([lease(), lease(), lease(), lease(), lease(), lease(), done('token')]);

    expect(slept).toEqual([25, 50, 100]);
    expect(reads).toEqual(['eventual', 'strong', 'strong', 'strong', 'strong', 'strong', 'strong']);
  });

  it('asks for no newer secret', async () => {
    const { follow } = setUp({ store: { acquire: async () => undefined } });
    const { rounds } = await follow([lease(), done('token')]);

    expect(rounds.map(({ prepared }) => prepared)).toEqual([-Infinity, -Infinity]);
  });

  it('is of no interest to whoever has another token', async () => {
    const { follow } = setUp({ store: { acquire: DOWN } });
    const { result, rounds } = await follow([lease({ otherwise: () => 'the old token' })]);

    expect(result).toBe('the old token');
    expect(rounds).toHaveLength(1);
  });
});

describe('a rejection', () => {
  it('asks for a secret that was read after it', async () => {
    const { follow } = setUp({ renewal: 'rejected' });
    const { rounds } = await follow([lease(), done('token')]);

    expect(rounds.map(({ prepared, readSince }) => [prepared, readSince])).toEqual([
      [-Infinity, -Infinity],
      [START, START],
    ]);
  });
});

describe('a store that is out of reach', () => {
  it('leaves the environment to itself, and says so to the operator', async () => {
    const { follow, memory } = setUp({ store: readsOf(DOWN) });
    const by = exampleCall();
    memory.remember(pair, { ...EMPTY_RECORD, fence: 3 });
    const { result, rounds } = await follow([done('token')], by);

    expect(result).toBe('token');
    expect(rounds).toMatchObject([{ isAlone: true, record: { fence: 3 } }]);
    expect([...by.trace.warnings]).toEqual(['shared-cache-unavailable']);
  });

  it('does so as well when only the lease cannot be taken', async () => {
    const { follow } = setUp({ store: { acquire: DOWN } });
    const by = exampleCall();
    const { result, rounds } = await follow([lease()], by);

    expect(result).toBe(exampleToken().fingerprint);
    expect(rounds.map(({ isAlone }) => isAlone)).toEqual([false, false, true]);
    expect([...by.trace.warnings]).toEqual(['shared-cache-unavailable']);
  });

  it('makes what memory has no younger', async () => {
    const { clock, follow, memory } = setUp({ store: readsOf(DOWN) });
    memory.remember(pair, EMPTY_RECORD);
    clock.now += 59_999;
    await follow([done('token')], exampleCall({ deadline: clock.now + 1_000 }));
    clock.now += 1;

    expect(memory.recall(pair)).toBeUndefined();
  });

  it('is printed as what it is, with the name of what went wrong', () => {
    expect(String(new StoreUnavailable('TimeoutError'))).toBe('StoreUnavailable: TimeoutError');
  });

  it('hides no bug of a store', async () => {
    const bug = new TypeError('not the item that was asked for');
    const { follow } = setUp({ store: { read: () => Promise.reject(bug) } });

    expect((await follow([done('token')])).result).toBe(bug);
  });
});

describe('a token that this environment cannot open', () => {
  it('is left alone until its refresh, by whoever goes by itself', async () => {
    const { follow, memory } = setUp({ store: readsOf({ fence: 4, foreignUntil: START + 1, disabled: true }) });
    const { rounds } = await follow([done('token')]);

    expect(rounds).toMatchObject([{ isAlone: true, record: { fence: 0, disabled: true } }]);
    expect(memory.recall(pair)).toMatchObject({ foreignUntil: 0 });
  });

  it('is nothing special from then on', async () => {
    const { follow } = setUp({ store: readsOf({ fence: 4, foreignUntil: START }) });

    expect((await follow([done('token')])).rounds).toMatchObject([{ isAlone: false, record: { fence: 4 } }]);
  });

  it('keeps nobody going round when a clock is set back', async () => {
    const { clock, follow } = setUp({ store: readsOf({ fence: 4, foreignUntil: START }, DOWN) });
    await follow([done('token')]);
    clock.now -= 1_000;

    expect((await follow([done('token')], exampleCall({ deadline: clock.now + 1_000 }))).result).toBe('token');
  });

  it('for lack of a key is waited for once, by whoever has no token of its own', async () => {
    const { slept, follow, memory } = setUp({ store: readsOf({ fence: 4, isLocked: true }) });
    memory.remember(pair, { ...EMPTY_RECORD, token: exampleToken({ expiresAt: START }) });
    const { rounds } = await follow([lease(), lease(), done('token')]);

    expect(rounds.map(({ isAlone }) => isAlone)).toEqual([false, false, true]);
    expect(slept).toEqual([25]);
  });

  it('for lack of a key is not waited for by whoever has one of its own', async () => {
    const { slept, follow, memory } = setUp({ store: readsOf({ fence: 4, isLocked: true }) });
    memory.remember(pair, { ...EMPTY_RECORD, token: exampleToken({ expiresAt: START + 1 }) });
    const { rounds } = await follow([done('token')]);

    expect(rounds.map(({ isAlone }) => isAlone)).toEqual([true]);
    expect(slept).toEqual([]);
  });

  it('is waited for in the pace of all others when its key comes late', async () => {
    const { slept, follow } = setUp({ store: readsOf({ ...LIVE, leaseUntil: 0, isLocked: true }, LIVE) });
    await follow([lease(), WAIT, done('token')]);

    expect(slept).toEqual([25, 50]);
  });
});
