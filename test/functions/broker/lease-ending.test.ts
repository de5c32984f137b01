import { describe, expect, it } from 'vitest';
import type { SecretVersion } from '../../../functions/broker/credential/secret.ts';
import { createLeaseEnding, type HeldLease } from '../../../functions/broker/pair/lease-ending.ts';
import { createPairMemory } from '../../../functions/broker/pair/memory.ts';
import { EMPTY_RECORD, type PairRecord, type Pause } from '../../../functions/broker/pair/record.ts';
import { type PairStore, StoreUnavailable } from '../../../functions/broker/pair/store.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { START } from '../../support/example.ts';
import { exampleCall, examplePublication } from '../../support/pair-examples.ts';
import { createReferencePairStore } from '../../support/reference-pair-store.ts';

const HOUR_MS = 60 * 60_000;
const LEASE_END = START + 6_000;
const { pair } = exampleCall();
const MINE: PairRecord = {
  ...EMPTY_RECORD,
  fence: 5,
  leaseOwner: 'me',
  leaseUntil: LEASE_END,
  attemptedAt: START,
};
const V1: SecretVersion = { versionId: 'v1', stage: 'AWSCURRENT', text: new Redacted('{}') };
const PAUSE: Pause = {
  until: START + 15_000,
  step: 1,
  problem: { type: 'token-endpoint-unavailable', detail: 'down' },
};
const PUBLICATION = examplePublication();

/** The ways of the call `me` to end its lease; `staged` are the versions with a stage. */
function setUp({ mine = MINE, staged, random = 0 }: Options = {}) {
  const clock = { now: START };
  const memory = createPairMemory(() => clock.now);
  const shared = createReferencePairStore();
  shared.change(pair, () => mine);
  const ending = createLeaseEnding({
    memory,
    store: shared,
    stagedVersions: async () => staged,
    random: () => random,
    now: () => clock.now,
  });
  const call = exampleCall();
  return {
    clock,
    memory,
    shared,
    ending,
    call,
    lease: { store: shared, mine } satisfies HeldLease,
    warnings: () => [...call.trace.warnings],
    stored: () => shared.peek(pair).latest,
    /** Somebody else has the lease by now. */
    lose: () => shared.change(pair, (record) => ({ ...record, fence: 6, leaseOwner: 'another' })),
  };
}

interface Options {
  readonly mine?: PairRecord;
  readonly staged?: ReadonlySet<string>;
  readonly random?: number;
}

/** A store of which one operation fails. */
function failing(store: PairStore, operation: keyof PairStore, error: unknown): PairStore {
  return { ...store, [operation]: () => Promise.reject(error) };
}

function latches(...entries: readonly (readonly [version: string, at: number])[]): PairRecord['rejected'] {
  return new Map(entries.map(([version, at]) => [version, { count: 1, at, fence: 1 }]));
}

describe('a lease that brought nothing', () => {
  it('is over for everybody at once', async () => {
    const { ending, call, lease, stored } = setUp();
    await ending.release(call, lease);

    expect(stored()).toMatchObject({ fence: 5, leaseOwner: undefined, leaseUntil: 0 });
  });

  it('stays another’s when it is another’s by now', async () => {
    const { ending, call, lease, stored, lose } = setUp();
    lose();
    await ending.release(call, lease);

    expect(stored()).toMatchObject({ fence: 6, leaseOwner: 'another' });
  });
});

describe('what this environment remembers', () => {
  it('is the token that it published', async () => {
    const { ending, call, lease, memory, stored } = setUp();
    await ending.publish(call, lease, PUBLICATION);

    expect(stored()).toMatchObject({ token: PUBLICATION.token, leaseUntil: 0 });
    expect(memory.recall(pair)).toMatchObject({ token: PUBLICATION.token, leaseUntil: 0 });
  });

  it('is the pause that it began', async () => {
    const { ending, call, lease, memory, stored } = setUp();
    await ending.pause(call, lease, PAUSE);

    expect(stored()).toMatchObject({ pause: PAUSE, leaseUntil: 0 });
    expect(memory.recall(pair)).toMatchObject({ pause: PAUSE, leaseUntil: 0 });
  });

  it('is neither when the lease was another’s by then: that one knows better', async () => {
    const { ending, call, lease, memory, lose } = setUp();
    lose();
    await ending.publish(call, lease, PUBLICATION);
    await ending.pause(call, lease, PAUSE);

    expect(memory.recall(pair)).toBeUndefined();
  });

  it('is the token, and the pause, when nobody knows whether the store has them', async () => {
    const { ending, call, lease, memory, warnings } = setUp();
    const store = failing(lease.store, 'publish', new StoreUnavailable('TimeoutError'));
    await ending.publish(call, { ...lease, store }, PUBLICATION);
    expect(memory.recall(pair)?.token).toBe(PUBLICATION.token);
    expect(warnings()).toEqual(['shared-cache-unavailable']);

    const silent = failing(lease.store, 'pause', new StoreUnavailable('TimeoutError'));
    await ending.pause(call, { ...lease, store: silent }, PAUSE);
    expect(memory.recall(pair)?.pause).toBe(PAUSE);
  });

  it('is that a version works which was only tried out', async () => {
    const mine = { ...MINE, rejected: latches(['v1', START], ['v2', START]) };
    const { ending, call, lease, memory, stored } = setUp({ mine });
    await ending.prove(call, lease, 'v1');

    expect([...stored().rejected.keys()]).toEqual(['v2']);
    expect([...(memory.recall(pair)?.rejected.keys() ?? [])]).toEqual(['v2']);
  });

  it('is as old as its lease, whatever time the request took', async () => {
    const { clock, ending, call, lease, memory } = setUp();
    clock.now += 3_000;
    await ending.publish(call, lease, PUBLICATION);
    clock.now = START + 60_000;

    expect(memory.recall(pair)).toBeUndefined();
  });
});

describe('a rejection', () => {
  it('is remembered and told, once', async () => {
    const { ending, call, lease, memory, stored } = setUp();
    await ending.reject(call, lease, V1);

    const rejection = { count: 1, at: START, fence: 5 };
    expect(stored()).toMatchObject({ leaseUntil: 0, rejected: new Map([['v1', rejection]]) });
    expect(memory.recall(pair)?.rejected).toEqual(new Map([['v1', rejection]]));
  });

  it('that the others know is latched by what they know alone, so that an operator can end it for all', async () => {
    const { ending, call, lease, memory } = setUp();
    await ending.reject(call, lease, V1);

    expect(memory.withOwnLatches(pair, EMPTY_RECORD).rejected.size).toBe(0);
  });

  it('that nobody could be told is latched by this environment itself', async () => {
    const { ending, call, lease, memory, warnings } = setUp();
    const store = failing(lease.store, 'reject', new StoreUnavailable('TimeoutError'));
    await ending.reject(call, { ...lease, store }, V1);

    expect([...memory.withOwnLatches(pair, EMPTY_RECORD).rejected.keys()]).toEqual(['v1']);
    expect(warnings()).toEqual(['shared-cache-unavailable']);
  });

  it.each([0, 0.5, 1 - 2 ** -50])(
    'of an environment that went by itself is told to the others under no lease of theirs (%d)',
    async (random) => {
      const { ending, call, lease, memory, stored } = setUp({ random });
      await ending.reject(call, { ...lease, store: memory }, V1);

      expect(stored().rejected.get('v1')).toMatchObject({ count: 1, fence: expect.toSatisfy((fence) => fence < 0) });
      expect(stored()).toMatchObject({ leaseOwner: 'me', leaseUntil: LEASE_END });
    },
  );

  it('counts for each environment that went by itself', async () => {
    const { ending, call, lease, memory, shared, stored } = setUp({ random: 0.25 });
    await ending.reject(call, { ...lease, store: memory }, V1);
    const another = createLeaseEnding({
      memory,
      store: shared,
      stagedVersions: async () => undefined,
      random: () => 0.75,
      now: () => START,
    });
    await another.reject(call, { ...lease, store: memory }, V1);

    expect(stored().rejected.get('v1')).toMatchObject({ count: 2 });
  });
});

describe('latches to forget', () => {
  const HOUR_AGO = START - HOUR_MS;
  const many = (at: number) => latches(['gone', at], ['staged', at], ['other', at], ['another', at]);
  const keptOf = async (rejected: PairRecord['rejected'], staged?: ReadonlySet<string>) => {
    const { ending, call, lease, stored } = setUp({ mine: { ...MINE, rejected }, ...(staged && { staged }) });
    await ending.reject(call, lease, V1);
    return [...stored().rejected.keys()];
  };

  it('are those of versions without a stage, older than an hour, when there are four', async () => {
    expect(await keptOf(many(HOUR_AGO - 1), new Set(['staged', 'v1']))).toEqual(['staged', 'v1']);
  });

  it('are none in their first hour', async () => {
    expect(await keptOf(many(HOUR_AGO), new Set(['staged', 'v1']))).toHaveLength(5);
  });

  it('are none as long as there are three', async () => {
    const three = latches(['gone', 0], ['other', 0], ['another', 0]);
    expect(await keptOf(three, new Set(['v1']))).toHaveLength(4);
  });

  it('are none when nobody knows which versions have a stage', async () => {
    expect(await keptOf(many(HOUR_AGO - 1))).toHaveLength(5);
  });

  it('are named to the store, and nothing else is', async () => {
    const { ending, call, lease, shared } = setUp();
    const told: (readonly string[])[] = [];
    const store: PairStore = { ...shared, reject: async (_, __, { goneVersions }) => void told.push(goneVersions) };
    await ending.reject(call, { ...lease, store }, V1);

    expect(told).toEqual([[]]);
  });
});

describe('the store for the last write', () => {
  /** A store with more time for a call, which notes who was asked and until when. */
  function timed() {
    const world = setUp();
    const asked: string[] = [];
    const notingAs = (name: string): PairStore => ({
      ...world.shared,
      until: (deadline) => ({ ...world.shared, publish: async () => asked.push(`${name} ${deadline - START}`) > 0 }),
    });
    const ending = createLeaseEnding({
      memory: world.memory,
      store: notingAs('shared'),
      stagedVersions: async () => undefined,
      random: () => 0,
      now: () => world.clock.now,
    });
    return { ...world, ending, asked, patient: notingAs('patient') };
  }

  it('is the patient one while a second and a half of the lease is left, and has 200 ms after the call', async () => {
    const { clock, ending, call, asked, patient } = timed();
    clock.now = LEASE_END - 1_500;
    await ending.publish(call, { store: patient, mine: MINE }, PUBLICATION);
    clock.now += 1;
    await ending.publish(call, { store: patient, mine: MINE }, PUBLICATION);

    expect(asked).toEqual(['patient 10200', 'shared 10200']);
  });

  it('is never the shared one for a lease that this environment gave to itself', async () => {
    const { clock, ending, call, asked, memory } = timed();
    memory.remember(pair, MINE);
    clock.now = LEASE_END - 1;
    await ending.publish(call, { store: memory, mine: MINE }, PUBLICATION);

    expect(asked).toEqual([]);
    expect(memory.recall(pair)?.token).toBe(PUBLICATION.token);
  });
});

it('hides no bug of a store', async () => {
  const { ending, call, lease, warnings } = setUp();
  const bug = new TypeError('not the item that was asked for');

  await expect(ending.release(call, { ...lease, store: failing(lease.store, 'release', bug) })).rejects.toBe(bug);
  expect(warnings()).toEqual([]);
});
