import { describe, expect, it } from 'vitest';
import { EMPTY_RECORD } from '../../../../functions/broker/pair/record.ts';
import { MINUTE_MS, START } from '../../../support/example.ts';
import { exampleCall, exampleToken } from '../../../support/pair/pair-examples.ts';
import {
  answer,
  createPairWorld,
  DOWN,
  FINGERPRINT,
  LEASE_MS,
  LIVE,
  PAIR,
  REJECTED,
  RENEW,
  REQUEST,
  requestWhenFree,
  rotated,
  SILENT,
} from '../../../support/pair/pair-world.ts';

describe('a store that is out of reach', () => {
  it('leaves the environment to what it knows, in spite of any lease that it saw, and tells the operator', async () => {
    const call = exampleCall();
    const { acquire, memory, views, slept } = createPairWorld({ reads: [DOWN], renewals: [REJECTED] });
    memory.remember(PAIR, { ...EMPTY_RECORD, ...LIVE, forcedAt: START + 1 }, START);

    expect(await acquire([REQUEST, answer('known')], call)).toBe('known');
    expect(views[0]).toMatchObject({ isAlone: true, leaseIsOver: true, record: { fence: 4, forcedAt: START } });
    expect(slept).toEqual([]);
    const listing = { outcome: 'found', secret: { versionId: 'v1' } };
    expect(views[0]?.versions).toMatchObject({ name: 'token-broker/test/acme', stage: 'AWSCURRENT', listing });
    expect([...call.trace.warnings]).toEqual(['shared-cache-unavailable']);
  });

  it.each([
    [MINUTE_MS, 1],
    [MINUTE_MS + 1, 2],
  ])('has it look at the secret once in a minute (after %i ms: %i reads)', async (laterMs, reads) => {
    const { clock, acquire, readStages } = createPairWorld({ reads: [DOWN] });
    const call = () => exampleCall({ startedAt: clock.now, deadline: clock.now + 1_000 });
    await acquire([answer('known')], call());
    clock.now += laterMs;
    await acquire([answer('known')], call());

    expect(readStages).toHaveLength(reads);
  });

  it('when the lease is to be taken is asked once more, then the environment goes alone', async () => {
    const { acquire, views, slept } = createPairWorld({ store: { acquire: SILENT } });

    expect(await acquire([REQUEST])).toBe(FINGERPRINT);
    expect(views.map(({ isAlone }) => isAlone)).toEqual([false, false, true]);
    expect(slept).toEqual([]);
  });

  it('which has given the lease although its answer was lost gives it once more', async () => {
    let asked = 0;
    const { acquire, shared, versionsSent, views, recordNow } = createPairWorld({
      store: {
        acquire: async (...args) => {
          const before = await shared.acquire(...args);
          asked += 1;
          return asked === 1 ? SILENT() : before;
        },
      },
    });

    expect(await acquire(requestWhenFree)).toBe(FINGERPRINT);
    expect(versionsSent()).toEqual(['v1']);
    expect(views.map(({ isAlone, leaseIsOver }) => isAlone || !leaseIsOver)).toEqual([false, false, false]);
    expect(recordNow()).toMatchObject({ fence: 2, token: { fingerprint: FINGERPRINT }, leaseUntil: 0 });
  });

  it('that could not be told of a rejection is not asked in the same call: its table would let the version be sent', async () => {
    const { acquire, views, versionsSent, tableReads } = createPairWorld({
      store: { reject: SILENT },
      renewals: [REJECTED, undefined],
      secret: rotated,
    });

    expect(await acquire([REQUEST])).toBe(FINGERPRINT);
    expect(versionsSent()).toEqual(['v2', 'v1']);
    expect(views.map(({ isAlone, record }) => [isAlone, record.rejected.size])).toEqual([
      [false, 0],
      [false, 0],
      [true, 1],
    ]);
    expect(tableReads).toHaveLength(1);

    expect(await acquire([REQUEST])).toBe(FINGERPRINT);
    expect(versionsSent()).toEqual(['v2', 'v1', 'v1']);
  });

  it.each(['read', 'acquire'])('differs from a bug of the store, which is not hidden: %s', async (operation) => {
    const bug = new TypeError('not the item that was asked for');
    const call = exampleCall();

    expect(await createPairWorld({ store: { [operation]: () => Promise.reject(bug) } }).acquire([RENEW], call)).toBe(
      bug,
    );
    expect(call.trace.warnings.size).toBe(0);
  });
});

describe('a record whose token this environment cannot open', () => {
  const own = { ...EMPTY_RECORD, token: exampleToken({ fingerprint: 'own' }) };
  const closed = { fence: 4, disabled: true, closedUntil: START + 1 };

  it('serves with the own token, and its flags count', async () => {
    const { acquire, memory, views } = createPairWorld({ record: closed });
    memory.remember(PAIR, own);
    await acquire([answer('own token')]);

    expect(views).toMatchObject([{ isAlone: false, record: { ...closed, token: own.token } }]);
    expect(memory.trusted(PAIR)).toMatchObject({ ...closed, token: own.token });
  });

  it('leaves the environment alone when it has none: its flags count, and memory is left as it is', async () => {
    const { acquire, memory, views } = createPairWorld({ record: { ...closed, ...LIVE } });
    await acquire([answer('none')]);

    const versions = { stage: 'AWSCURRENT' };
    expect(views).toMatchObject([{ isAlone: true, leaseIsOver: true, record: closed, versions }]);
    expect(memory.last(PAIR)).toEqual(EMPTY_RECORD);
  });

  it('has it make a request of its own also when it has a token that does not serve, which replaces nothing', async () => {
    const record = { ...closed, closedUntil: Infinity };
    const { acquire, memory, readStages, recordNow } = createPairWorld({ record });
    await acquire([answer('warm')], exampleCall({ stage: 'AWSCURRENT' }));
    memory.remember(PAIR, own);

    expect(await acquire([answer('not first'), REQUEST], exampleCall({ startedAt: START + 1 }))).toBe(FINGERPRINT);
    expect(readStages).toEqual(['AWSCURRENT', 'AWSCURRENT']);
    expect(recordNow()).toMatchObject({ fence: 4, closedUntil: Infinity, token: undefined });
    expect(memory.last(PAIR).token?.fingerprint).toBe(FINGERPRINT);
    expect(memory.trusted(PAIR)).toBeUndefined();
  });

  it('is replaced under the lease when its time is over', async () => {
    const { acquire, recordNow } = createPairWorld({ record: { ...closed, closedUntil: START } });

    expect(await acquire([REQUEST])).toBe(FINGERPRINT);
    expect(recordNow()).toMatchObject({ fence: 5, closedUntil: 0, token: { fingerprint: FINGERPRINT } });
  });
});

describe('an environment that is alone', () => {
  it('makes its request without a lease, and remembers the token by itself', async () => {
    const { acquire, sent, recordNow, memory } = createPairWorld({ reads: [DOWN] });

    expect(await acquire([REQUEST, answer('decided again')])).toBe(FINGERPRINT);
    expect(sent[0]?.record).toMatchObject({ leaseOwner: 'me', leaseUntil: START + LEASE_MS, attemptedAt: START });
    expect(recordNow()).toEqual(EMPTY_RECORD);
    expect(memory.last(PAIR)).toMatchObject({ leaseUntil: 0, token: { fingerprint: FINGERPRINT } });
    expect(memory.trusted(PAIR)).toBeUndefined();
  });

  it('withdraws the token that it knows, and no other', async () => {
    const token = exampleToken();
    const { acquire, recordNow, memory } = createPairWorld({ reads: [DOWN], record: { token } });
    memory.remember(PAIR, { ...EMPTY_RECORD, token });

    expect(await acquire([{ kind: 'withdraw', answer: 'gone' }])).toBe('gone');
    expect([recordNow().token, memory.last(PAIR).token]).toEqual([token, undefined]);
  });

  it.each([0, 0.5, 1 - 2 ** -50])('tells the others of a rejection under no lease of theirs (%d)', async (random) => {
    const record = { fence: 1, leaseOwner: 'me', leaseUntil: START + LEASE_MS };
    const { acquire, recordNow, memory } = createPairWorld({ reads: [DOWN], renewals: [REJECTED], record, random });
    await acquire([REQUEST, answer('enough')]);

    const rejected = new Map([['v1', { count: 1, at: START, fence: -1 - Math.floor(random * 2 ** 40) }]]);
    expect(recordNow()).toMatchObject({ ...record, rejected });
    expect(memory.last(PAIR).rejected).toEqual(rejected);
  });
});
