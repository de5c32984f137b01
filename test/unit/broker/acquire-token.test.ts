import { describe, expect, it } from 'vitest';
import type { SecretReading } from '../../../functions/broker/credential/secret.ts';
import { createSecretCache } from '../../../functions/broker/credential/secret.ts';
import { createAcquireToken } from '../../../functions/broker/pair/acquire-token.ts';
import type { Call, Step, View } from '../../../functions/broker/pair/decision.ts';
import { PairMemory } from '../../../functions/broker/pair/memory.ts';
import { EMPTY_RECORD, type PairRecord, StoreUnavailable } from '../../../functions/broker/pair/record.ts';
import type { PairStore } from '../../../functions/broker/pair/store.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import type { Renewal } from '../../../functions/broker/token-request/renew-token.ts';
import type { SecretStage } from '../../../functions/contract.ts';
import { found } from '../../support/broker-world.ts';
import { START } from '../../support/example.ts';
import { exampleCall, exampleToken } from '../../support/pair-examples.ts';
import { createReferencePairStore } from '../../support/reference-pair-store.ts';

const { pair } = exampleCall();
const MINUTE_MS = 60_000;
const LEASE_MS = 6_000;
const LIVE = { fence: 4, leaseOwner: 'another', leaseUntil: START + LEASE_MS };
const DOWN = 'down';
const SECRETS_DOWN: SecretReading = { outcome: 'unavailable', cause: 'TimeoutError' };
const SILENT = () => Promise.reject(new StoreUnavailable('TimeoutError'));
const WAIT: Step<string> = { kind: 'wait' };
const REQUEST: Step<string> = { kind: 'request', forced: false };
const RENEW: Step<string> = { kind: 'renew', answer: 'old token', timeoutMs: 1_000 };
const answer = (text: string): Step<string> => ({ kind: 'answer', answer: text });
const TOKEN: Renewal = { outcome: 'token', token: exampleToken() };
const REJECTED: Renewal = { outcome: 'rejected' };
const FAILED: Renewal = { outcome: 'failed', problem: new Problem('token-endpoint-unavailable', 'down') };
/** Waits as long as another call holds the lease. */
const whenFree = ({ leaseIsOver }: View) => (leaseIsOver ? answer('free') : WAIT);

interface Options {
  readonly random?: number;
  /** What the table holds. */
  readonly record?: Partial<PairRecord>;
  /** What the reads of the table show one after the other, the last one again and again; `down`: the store is out of reach. */
  readonly reads?: readonly (Partial<PairRecord> | typeof DOWN)[];
  readonly store?: Partial<PairStore>;
  /** What the token requests bring, the last one again and again. */
  readonly renewals?: readonly Renewal[];
  readonly secret?: (stage: SecretStage, n: number) => SecretReading;
}

/** Real parts around a table, a Secrets Manager and a service that are functions; time passes while a call sleeps. */
function setUp(options: Options = {}) {
  const {
    random = 0,
    record = {},
    reads,
    store = {},
    renewals = [TOKEN],
    secret = (stage) => found('v1', undefined, stage),
  } = options;
  const clock = { now: START };
  const slept: number[] = [];
  const readStages: SecretStage[] = [];
  const tableReads: number[] = [];
  const sent: string[] = [];
  const memory = new PairMemory(() => clock.now);
  const shared = createReferencePairStore();
  shared.change(pair, (empty) => ({ ...empty, ...record }));
  const acquireToken = createAcquireToken({
    environment: 'test',
    memory,
    store: {
      ...shared,
      async read(which, deadline) {
        tableReads.push(deadline);
        const shown = reads?.[Math.min(tableReads.length, reads.length) - 1];
        if (shown === DOWN) return SILENT();
        return shown === undefined ? shared.read(which, deadline) : { ...EMPTY_RECORD, ...shown };
      },
      ...store,
    },
    secrets: createSecretCache({
      now: () => clock.now,
      readSecret: async (_client, stage) => {
        readStages.push(stage);
        return secret(stage, readStages.length);
      },
    }),
    renewToken: async ({ version }) => {
      sent.push(version.versionId);
      clock.now += 1;
      const renewal = renewals[Math.min(sent.length, renewals.length) - 1] ?? TOKEN;
      if (renewal.outcome !== 'token') return renewal;
      return {
        outcome: 'token',
        token: exampleToken({ credentialVersion: version.versionId }),
      };
    },
    now: () => clock.now,
    sleep: async (ms) => {
      slept.push(ms);
      clock.now += ms;
    },
    random: () => random,
  });
  const views: View[] = [];
  return {
    clock,
    slept,
    memory,
    shared,
    sent,
    readStages,
    tableReads,
    /** `views` has what was decided on, looks under the lease too. */
    views,
    /** What the call ends with; the text of an answer, the fingerprint of a token, or what was thrown. */
    async acquire(decide: (view: View) => Step<string>, call: Call = exampleCall()): Promise<unknown> {
      const acquired = await acquireToken(call, (view) => {
        views.push(view);
        return decide(view);
      }).catch((error: unknown) => ({ kind: 'error' as const, error }));
      if (acquired.kind === 'error') return acquired.error;
      if (acquired.kind === 'failed') return acquired.problem;
      return acquired.kind === 'answer' ? acquired.answer : acquired.token.fingerprint;
    },
  };
}

const FINGERPRINT = exampleToken().fingerprint;

/** Decides so in this order, the last one again and again. */
function inOrder(...steps: readonly [Step<string>, ...Step<string>[]]) {
  let n = 0;
  return () => steps[Math.min(n++, steps.length - 1)] ?? steps[0];
}

describe('a call that waits', () => {
  it.each([
    [0, [25, 50, 100, 200, 250, 250]],
    [0.5, [37.5, 75, 150, 300, 375, 375]],
  ])(
    'looks again after 25 to 50 ms, then after twice as long each time, up to 250 to 500 ms (%d)',
    async (random, pace) => {
      const { slept, acquire } = setUp({ reads: [LIVE], random });
      await acquire(inOrder(WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, answer('token')));

      expect(slept).toEqual(pace);
    },
  );

  it('is awake soon after the lease ends, and not all at once', async () => {
    const { slept, acquire } = setUp({ reads: [{ ...LIVE, leaseUntil: START + 60 }], random: 0.9 });

    expect(await acquire(whenFree)).toBe('free');
    expect(slept).toEqual([47.5, 60 - 47.5 + 45]);
  });

  it('sleeps no longer than its call, and is told to come back in a second', async () => {
    const { clock, slept, tableReads, acquire } = setUp({ reads: [LIVE] });

    expect(await acquire(() => WAIT, exampleCall({ deadline: START + 60 }))).toMatchObject({
      type: 'token-endpoint-timeout',
      detail: 'No token came in time.',
      retryAfterSeconds: 1,
    });
    expect(slept).toEqual([25, 35]);
    expect(clock.now).toBe(START + 60);
    expect(tableReads).toEqual([START + 60, START + 60]);
  });
});

describe('the lease of another call', () => {
  it.each<[string, Partial<PairRecord>, number]>([
    ['that is free counts as ended', { fence: 4 }, 0],
    ['that is mine counts as ended for me', { ...LIVE, leaseOwner: 'me' }, 0],
    ['whose time has passed has ended', { ...LIVE, leaseUntil: START }, 0],
    ['ends at its time', { ...LIVE, leaseUntil: START + 4_000 }, 4_000],
    [
      'that was written by a fast clock ends when it was watched for its whole length',
      { ...LIVE, leaseUntil: START + 600_000 },
      LEASE_MS,
    ],
  ])('%s', async (_, record, endMs) => {
    const { clock, views, acquire } = setUp({ record });

    expect(await acquire(whenFree)).toBe('free');
    expect(clock.now - START).toBe(endMs);
    const last = views.at(-1);
    expect(last).toMatchObject({
      leaseIsOver: true,
      observedExpired: endMs === LEASE_MS,
      isAlone: false,
    });
    expect(views.slice(0, -1).every(({ leaseIsOver, observedExpired }) => !leaseIsOver && !observedExpired)).toBe(true);
  });

  it('that follows one which was watched is watched from its own beginning', async () => {
    const ahead = { ...LIVE, leaseUntil: START + 600_000 };
    const { clock, acquire } = setUp({ reads: [ahead, ahead, { ...ahead, fence: 5 }] });

    expect(await acquire(whenFree)).toBe('free');
    expect(clock.now - START).toBe(75 + LEASE_MS);
  });

  it('that was seen alive is waited for while the store is silent, then the environment is alone', async () => {
    const { clock, views, acquire } = setUp({ reads: [{ ...LIVE, leaseUntil: START + 4_000 }, DOWN] });

    expect(await acquire(whenFree)).toBe('free');
    expect(clock.now - START).toBe(4_000);
    expect(views.map(({ isAlone }) => isAlone)).toEqual([false, true]);
  });
});

describe('a lost lease', () => {
  it('costs another look in the pace of those who wait, and asks for no newer secret', async () => {
    const { slept, readStages, acquire } = setUp({ store: { acquire: async () => undefined } });

    expect(await acquire(inOrder(REQUEST, REQUEST, REQUEST, answer('token')))).toBe('token');
    expect(slept).toEqual([25, 50, 100]);
    expect(readStages).toEqual(['AWSCURRENT']);
  });
});

describe('a renewal', () => {
  const renewOnce = ({ mayRenew }: View) => (mayRenew ? RENEW : answer('old token'));

  it.each<[string, Options]>([
    ['fails', { renewals: [FAILED] }],
    ['is rejected', { renewals: [REJECTED] }],
    ['gets no secret', { secret: () => SECRETS_DOWN }],
    ['gets no lease', { store: { acquire: SILENT } }],
  ])('that %s leaves the old token, without another look', async (_, options) => {
    const { tableReads, acquire, sent } = setUp(options);

    expect(await acquire(renewOnce)).toBe('old token');
    expect(tableReads).toHaveLength(1);
    expect(sent.length).toBeLessThanOrEqual(1);
  });

  it('that was rejected when the old token had no time left looks again, and does not try again', async () => {
    const { tableReads, views, acquire } = setUp({ renewals: [REJECTED] });

    expect(await acquire(inOrder(RENEW, RENEW, WAIT, answer('another')))).toBe('another');
    expect(tableReads).toHaveLength(2);
    expect(views.map(({ mayRenew }) => mayRenew)).toEqual([true, true, false, false]);
  });
});

describe('a token request', () => {
  it.each<[string, Options, object]>([
    ['that fails is told', { renewals: [FAILED] }, { type: 'token-endpoint-unavailable', retryAfterSeconds: 1 }],
    ['that gets no secret is told', { secret: () => SECRETS_DOWN }, { type: 'secrets-unavailable' }],
  ])('%s', async (_, options, problem) => {
    expect(await setUp(options).acquire(() => REQUEST)).toMatchObject(problem);
  });

  it('that is rejected is followed by another look, with a secret that was read after it', async () => {
    const { sent, readStages, views, acquire, slept } = setUp({
      renewals: [REJECTED, TOKEN],
      secret: (stage, n) => found(n <= 1 ? 'v1' : 'v2', undefined, stage),
    });

    expect(await acquire(() => REQUEST)).toBe(FINGERPRINT);
    expect(sent).toEqual(['v1', 'v2']);
    expect(readStages).toEqual(['AWSCURRENT', 'AWSCURRENT']);
    expect(views.map(({ isAlone }) => isAlone)).toEqual([false, false, false, false]);
    expect(slept).toEqual([]);
  });

  it('that is rejected has the predecessor sent when there is no newer version, and a warning', async () => {
    const call = exampleCall();
    const { sent, readStages, acquire } = setUp({
      renewals: [REJECTED, TOKEN],
      secret: (stage) => found(stage === 'AWSCURRENT' ? 'v2' : 'v1', undefined, stage),
    });

    expect(await acquire(() => REQUEST, call)).toBe(FINGERPRINT);
    expect(sent).toEqual(['v2', 'v1']);
    expect(readStages).toEqual(['AWSCURRENT', 'AWSCURRENT', 'AWSPREVIOUS']);
    expect([...call.trace.warnings]).toEqual(['previous-version']);
  });
});

describe('a store that is out of reach', () => {
  it('leaves the environment to what it knows, in spite of any lease that it saw, and tells the operator', async () => {
    const call = exampleCall();
    const { acquire, memory, views, readStages } = setUp({ reads: [DOWN] });
    memory.remember(pair, { ...EMPTY_RECORD, ...LIVE, forcedAt: START + 1 }, START);

    expect(await acquire(() => answer('known'), call)).toBe('known');
    expect(views).toMatchObject([{ isAlone: true, leaseIsOver: true, record: { fence: 4, forcedAt: START } }]);
    expect(views[0]?.versions).toMatchObject({
      name: 'token-broker/test/acme',
      stage: 'AWSCURRENT',
      listing: { outcome: 'found', secret: { versionId: 'v1' } },
    });
    expect(readStages).toEqual(['AWSCURRENT']);
    expect([...call.trace.warnings]).toEqual(['shared-cache-unavailable']);
  });

  it.each([
    [MINUTE_MS, 1],
    [MINUTE_MS + 1, 2],
  ])('has it look at the secret once in a minute (after %i ms: %i reads)', async (laterMs, reads) => {
    const { clock, acquire, readStages } = setUp({ reads: [DOWN] });
    const call = () => exampleCall({ startedAt: clock.now, deadline: clock.now + 1_000 });
    await acquire(() => answer('known'), call());
    clock.now += laterMs;
    await acquire(() => answer('known'), call());

    expect(readStages).toHaveLength(reads);
  });

  it('when the lease is to be taken is asked once more, then the environment goes alone', async () => {
    const call = exampleCall();
    const { acquire, views, slept } = setUp({ store: { acquire: SILENT } });

    expect(await acquire(() => REQUEST, call)).toBe(FINGERPRINT);
    expect(views.map(({ isAlone }) => isAlone)).toEqual([false, false, true]);
    expect(slept).toEqual([]);
    expect([...call.trace.warnings]).toEqual(['shared-cache-unavailable']);
  });

  it('which has given the lease although its answer was lost gives it once more', async () => {
    let asked = 0;
    const { acquire, shared, sent, views } = setUp({
      store: {
        acquire: async (...args) => {
          const before = await shared.acquire(...args);
          asked += 1;
          return asked === 1 ? SILENT() : before;
        },
      },
    });

    expect(await acquire(whenFreeRequest)).toBe(FINGERPRINT);
    expect(sent).toEqual(['v1']);
    expect(views.map(({ isAlone, leaseIsOver }) => isAlone || !leaseIsOver)).toEqual([false, false, false]);
    expect(shared.peek(pair)).toMatchObject({ fence: 2, token: { fingerprint: FINGERPRINT }, leaseUntil: 0 });
  });

  it('that could not be told of a rejection is not asked again: its table would let the version be sent', async () => {
    const { acquire, views, sent, tableReads, readStages } = setUp({
      store: { reject: SILENT },
      renewals: [REJECTED, TOKEN],
      secret: (stage) => found(stage === 'AWSCURRENT' ? 'v2' : 'v1', undefined, stage),
    });

    expect(await acquire(() => REQUEST)).toBe(FINGERPRINT);
    expect(sent).toEqual(['v2', 'v1']);
    expect(views.map(({ isAlone, record }) => [isAlone, record.rejected.size])).toEqual([
      [false, 0],
      [false, 0],
      [true, 1],
    ]);
    expect(tableReads).toHaveLength(1);
    expect(readStages).toContain('AWSPREVIOUS');
  });

  it('is not waited for by a call that goes alone, even when it has seen a lease', async () => {
    const reads = [LIVE, { fence: 4 }, DOWN] as const;
    const { acquire, slept, views } = setUp({ reads, store: { acquire: SILENT } });

    expect(await acquire(whenFreeRequest)).toBe(FINGERPRINT);
    expect(views.map(({ isAlone }) => isAlone)).toEqual([false, false, true]);
    expect(slept.length).toBeGreaterThan(1);
  });

  it('is printed as what it is, with the name of what went wrong', () => {
    expect(String(new StoreUnavailable('TimeoutError'))).toBe('StoreUnavailable: TimeoutError');
  });

  it('differs from a bug of the store, which is not hidden', async () => {
    const bug = new TypeError('not the item that was asked for');
    const call = exampleCall();

    expect(await setUp({ store: { read: () => Promise.reject(bug) } }).acquire(() => REQUEST, call)).toBe(bug);
    expect(await setUp({ store: { acquire: () => Promise.reject(bug) } }).acquire(() => REQUEST, call)).toBe(bug);
    expect(call.trace.warnings.size).toBe(0);
  });
});

/** Waits for the lease of another call, then makes a token request. */
function whenFreeRequest({ leaseIsOver }: View): Step<string> {
  return leaseIsOver ? REQUEST : WAIT;
}

describe('what was read from the table', () => {
  it('is remembered for a minute from the start of the read, with its times capped', async () => {
    const { clock, memory, acquire } = setUp({
      store: {
        read: async () => {
          clock.now += 5;
          return { ...EMPTY_RECORD, fence: 7, forcedAt: START + MINUTE_MS };
        },
      },
    });
    await acquire(() => answer('token'));

    clock.now = START + MINUTE_MS - 1;
    expect(memory.trusted(pair)).toMatchObject({ fence: 7, forcedAt: START + 5 });
    clock.now += 1;
    expect(memory.trusted(pair)).toBeUndefined();
  });

  it('needs no secret', async () => {
    const { readStages, acquire, views } = setUp();
    await acquire(() => answer('token'));

    expect(readStages).toEqual([]);
    expect(views).toMatchObject([{ isAlone: false, versions: undefined }]);
  });
});

describe('a record whose token this environment cannot open', () => {
  const own = { ...EMPTY_RECORD, token: exampleToken({ fingerprint: 'own' }) };
  const closed = { fence: 4, disabled: true, closedUntil: START + 1 };

  it('serves with the own token, and its flags count', async () => {
    const { acquire, memory, views } = setUp({ record: closed });
    memory.remember(pair, own);
    await acquire(() => answer('own token'));

    expect(views).toMatchObject([{ isAlone: false, record: { ...closed, token: own.token } }]);
    expect(memory.trusted(pair)).toMatchObject({ ...closed, token: own.token });
  });

  it('leaves the environment alone when it has none: its flags count, and memory is left as it is', async () => {
    const { acquire, memory, views } = setUp({ record: { ...closed, ...LIVE } });
    await acquire(() => answer('none'));

    expect(views).toMatchObject([
      { isAlone: true, leaseIsOver: true, record: closed, versions: { stage: 'AWSCURRENT' } },
    ]);
    expect(memory.last(pair)).toBe(EMPTY_RECORD);
  });

  it('has it make a request of its own also when it has a token that does not serve, which replaces nothing', async () => {
    const { acquire, memory, shared, slept } = setUp({ record: { ...closed, closedUntil: Infinity } });
    memory.remember(pair, own);

    expect(await acquire(() => REQUEST)).toBe(FINGERPRINT);
    expect(slept).toEqual([]);
    expect(shared.peek(pair)).toMatchObject({ fence: 4, closedUntil: Infinity, token: undefined });
    expect(memory.last(pair).token?.fingerprint).toBe(FINGERPRINT);
    expect(memory.trusted(pair)).toBeUndefined();
  });

  it('is replaced under the lease when its time is over', async () => {
    const { acquire, shared, views } = setUp({ record: { ...closed, closedUntil: START } });

    expect(await acquire(() => REQUEST)).toBe(FINGERPRINT);
    expect(views[0]).toMatchObject({ isAlone: false });
    expect(shared.peek(pair)).toMatchObject({ fence: 5, closedUntil: 0, token: { fingerprint: FINGERPRINT } });
  });

  it('is watched by no call that is alone: the lease in it is not waited for when the store goes silent', async () => {
    const { acquire, slept } = setUp({
      reads: [{ ...LIVE, closedUntil: Infinity }, DOWN],
      renewals: [REJECTED, TOKEN],
    });
    await acquire(inOrder(REQUEST, answer('known')));

    expect(slept).toEqual([]);
  });
});

describe('the versions for a check', () => {
  const readBy = async (stage: SecretStage) => {
    const { acquire, views, readStages } = setUp({
      record: { rejected: new Map([['AWSCURRENT', { count: 3, at: START, fence: 1 }]]) },
      secret: (one) => found(one, undefined, one),
    });
    await acquire(() => answer('found'), exampleCall({ stage }));
    const [view] = views;
    const idOf = (reading: SecretReading | undefined) => (reading?.outcome === 'found' ? reading.secret.versionId : '');
    return {
      stage: view?.versions?.stage,
      listing: idOf(view?.versions?.listing),
      candidates: view?.versions?.candidates.map(idOf),
      readStages,
    };
  };

  it.each(['AWSCURRENT', 'AWSPENDING'] as const)(
    'are the one that it asks for, %s, and no predecessor',
    async (stage) => {
      expect(await readBy(stage)).toEqual({ stage, listing: stage, candidates: [stage], readStages: [stage] });
    },
  );

  it('are AWSPREVIOUS with the list of services of AWSCURRENT', async () => {
    const [stage, listing] = ['AWSPREVIOUS', 'AWSCURRENT'] as const;
    expect(await readBy(stage)).toEqual({ stage, listing, candidates: [stage], readStages: [stage, listing] });
  });
});

describe('a check that withdraws', () => {
  it('removes the token and gives its answer', async () => {
    const { acquire, shared, sent } = setUp({
      record: { token: exampleToken() },
      secret: () => ({ outcome: 'missing' }),
    });

    expect(await acquire(() => ({ kind: 'withdraw', answer: 'gone' }), exampleCall({ stage: 'AWSCURRENT' }))).toBe(
      'gone',
    );
    expect([shared.peek(pair).token, sent]).toEqual([undefined, []]);
  });
});

describe('latches are forgotten', () => {
  const at = START - 61 * MINUTE_MS;
  const rejected = new Map(['v3', 'v4', 'v5', 'gone'].map((version) => [version, { count: 3, at, fence: 1 }]));
  const IDS = { AWSCURRENT: 'v1', AWSPREVIOUS: 'v4', AWSPENDING: 'v5' };
  const keptWith = async (secret: NonNullable<Options['secret']>, warm?: SecretStage) => {
    const world = setUp({ record: { rejected }, renewals: [REJECTED], secret });
    if (warm !== undefined) {
      await world.acquire(() => answer(''), exampleCall({ stage: warm }));
      world.clock.now += 1;
    }
    const call = exampleCall({ startedAt: world.clock.now });
    await world.acquire(({ record }) => (record.rejected.has('v1') ? answer('') : REQUEST), call);
    return [...world.shared.peek(pair).rejected.keys()];
  };
  const ALL = [...rejected.keys(), 'v1'];

  it('when they are of versions without any stage', async () => {
    expect(await keptWith((stage) => found(IDS[stage], undefined, stage))).toEqual(['v4', 'v5', 'v1']);
  });

  it('also when there is nothing with a stage', async () => {
    const secret: Options['secret'] = (stage) => (stage === 'AWSCURRENT' ? found('v1') : { outcome: 'missing' });
    expect(await keptWith(secret)).toEqual(['v1']);
  });

  it.each<SecretReading>([SECRETS_DOWN, { outcome: 'denied', cause: 'no' }, { outcome: 'binary' }])(
    'never while one stage cannot be read ($outcome)',
    async (reading) => {
      expect(
        await keptWith((stage) => (stage === 'AWSPENDING' ? reading : found(IDS[stage], undefined, stage))),
      ).toEqual(ALL);
    },
  );
});
