import { describe, expect, it } from 'vitest';
import type { StagedVersions } from '../../../functions/broker/credential/secret.ts';
import type { Call, Decide, Step, View } from '../../../functions/broker/pair/decision.ts';
import { createLeasedRequest, type LeaseStep } from '../../../functions/broker/pair/leased-request.ts';
import { PairMemory } from '../../../functions/broker/pair/memory.ts';
import { EMPTY_RECORD, type PairRecord, StoreUnavailable, type Wait } from '../../../functions/broker/pair/record.ts';
import type { PairStore } from '../../../functions/broker/pair/store.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import type { Renewal, RenewToken } from '../../../functions/broker/token-request/renew-token.ts';
import { found } from '../../support/broker-world.ts';
import { START } from '../../support/example.ts';
import { exampleCall, exampleToken } from '../../support/pair-examples.ts';
import { createReferencePairStore } from '../../support/reference-pair-store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const LEASE_END = START + 6_000;
const KEY = 'v1:0000000000000000';
const { pair } = exampleCall();
const SEEN: PairRecord = { ...EMPTY_RECORD, fence: 4 };
const FREE = { leaseOwner: undefined, leaseUntil: 0 };
const MINE = { fence: 5, leaseOwner: 'me', leaseUntil: LEASE_END };
const LOST = { kind: 'lost' };
const REQUEST: LeaseStep<string> = { kind: 'request', forced: false };
const RENEW: LeaseStep<string> = { kind: 'renew', answer: 'old token', timeoutMs: 1_000 };
const WITHDRAW: LeaseStep<string> = { kind: 'withdraw', answer: 'gone' };
const TOKEN: Renewal = { outcome: 'token', token: exampleToken() };
const REJECTED: Renewal = { outcome: 'rejected' };
const SILENT = () => Promise.reject(new StoreUnavailable('TimeoutError'));
const failed = (changes = {}): Renewal => ({
  outcome: 'failed',
  problem: new Problem('token-endpoint-unavailable', 'down', changes),
});
const held: Renewal = { outcome: 'held', problem: new Problem('token-endpoint-error', 'status 404', { cause: 'why' }) };
const versionsOf = (...ids: readonly [string, ...string[]]): StagedVersions => {
  const candidates = ids.map((id, n) => found(id, undefined, n === 0 ? 'AWSCURRENT' : 'AWSPREVIOUS'));
  const [listing = found(ids[0])] = candidates;
  return { name: 'token-broker/test/acme', stage: 'AWSCURRENT', listing, candidates };
};
const latches = (entries: Record<string, number>, count = 1): PairRecord['rejected'] =>
  new Map(Object.entries(entries).map(([version, at]) => [version, { count, at, fence: 1 }]));

interface Options {
  /** What differs in the record that this call has read. */
  readonly seen?: Partial<PairRecord>;
  /** What differs in that by now. */
  readonly stored?: Partial<PairRecord>;
  readonly view?: Partial<View>;
  readonly step?: LeaseStep<string>;
  /** What is decided once more, under the lease. */
  readonly again?: (view: View) => Step<string>;
  readonly renew?: Renewal | (() => Promise<Renewal>);
  readonly readVersions?: (n: number, readSince: number) => StagedVersions | Promise<StagedVersions>;
  readonly staged?: ReadonlySet<string>;
  readonly store?: Partial<PairStore>;
  readonly random?: number;
}

/** Takes the lease of a record that is as it was seen, and sends version v1. */
function setUp(options: Options = {}) {
  const { step = REQUEST, renew = TOKEN, random = 0 } = options;
  const seen: PairRecord = { ...SEEN, ...options.seen };
  const stored: PairRecord = { ...seen, ...options.stored };
  const clock = { now: START };
  const memory = new PairMemory(() => clock.now);
  const shared = createReferencePairStore();
  shared.change(pair, () => stored);
  const sent: Parameters<RenewToken>[0][] = [];
  const reads: number[] = [];
  const views: View[] = [];
  const leasedRequest = createLeasedRequest({
    memory,
    store: { ...shared, ...options.store },
    renewToken: async (order) => {
      sent.push(order);
      return typeof renew === 'function' ? renew() : renew;
    },
    readVersions: async (_call, _record, readSince) => {
      reads.push(readSince);
      return options.readVersions?.(reads.length, readSince) ?? versionsOf('v1');
    },
    withoutStage: async (_call, versions) =>
      versions.filter((version) => options.staged && !options.staged.has(version)),
    random: () => random,
    now: () => clock.now,
  });
  const decide: Decide<string> = (view) => {
    views.push(view);
    return options.again?.(view) ?? step;
  };
  const view: View = {
    record: seen,
    isAlone: false,
    leaseIsOver: true,
    observedExpired: false,
    mayRenew: true,
    ...options.view,
  };
  return {
    clock,
    memory,
    sent,
    reads,
    views,
    shared,
    run: (call: Call = exampleCall()) => leasedRequest(call, decide, view, step, -Infinity),
    recordNow: () => shared.peek(pair),
  };
}

describe('a call with little time left', () => {
  it('takes no lease and reads no secret', async () => {
    const { run, recordNow, reads } = setUp();

    expect(await run(exampleCall({ deadline: START + 249 }))).toEqual(LOST);
    expect(recordNow()).toEqual(SEEN);
    expect(reads).toEqual([]);
  });

  it('makes its request with a quarter of a second', async () => {
    const { run, sent } = setUp();

    expect(await run(exampleCall({ deadline: START + 250 }))).toMatchObject({ kind: 'token' });
    expect(sent).toMatchObject([{ deadline: START + 250 }]);
  });

  it('gives the lease back when reading the secret again took that time', async () => {
    const world = setUp({
      readVersions: (n) => {
        if (n === 2) world.clock.now += 1;
        return versionsOf('v1');
      },
    });

    expect(await world.run(exampleCall({ deadline: START + 250 }))).toEqual(LOST);
    expect(world.sent).toEqual([]);
    expect(world.recordNow()).toMatchObject({ fence: 5, ...FREE });
  });
});

describe('the lease', () => {
  it.each<[string, Options, Partial<Call>, object]>([
    ['is that of the fence that was seen', {}, {}, { seenFence: 4, owner: 'me', now: START, until: LEASE_END }],
    ['notes an attempt', {}, {}, { observedExpired: false, forced: false, chargedVersion: undefined, isCheck: false }],
    ['may follow one that was watched to its end', { view: { observedExpired: true } }, {}, { observedExpired: true }],
    ['says that a refused token is replaced', { step: { kind: 'request', forced: true } }, {}, { forced: true }],
    ['says that it renews', { step: RENEW }, {}, { forced: false }],
    [
      'charges a version that was rejected before',
      { seen: { rejected: latches({ v1: 0 }) } },
      {},
      { chargedVersion: 'v1' },
    ],
    ['charges no other', { seen: { rejected: latches({ v2: 0 }) } }, {}, { chargedVersion: undefined }],
    ['is one of a check', {}, { stage: 'AWSCURRENT' }, { isCheck: true }],
    [
      'charges nothing for a withdrawal',
      { step: WITHDRAW, seen: { rejected: latches({ v1: 0 }) } },
      {},
      { chargedVersion: undefined, forced: false },
    ],
  ])('%s', async (_, options, call, expected) => {
    const asked: unknown[] = [];
    const acquire: PairStore['acquire'] = async (_pair, acquisition, deadline) => {
      asked.push(acquisition, deadline);
      return undefined;
    };
    const { run } = setUp({ ...options, store: { acquire } });

    expect(await run(exampleCall(call))).toEqual(LOST);
    expect(asked).toMatchObject([expected, START + 10_000]);
  });
});

describe('the token request', () => {
  const token = exampleToken();
  const pause = (type: Problem['type']) => ({ until: START, step: 1, problem: { type, detail: 'odd' } });

  it.each<[string, Options, Partial<Call>, number]>([
    ['with the time-out of its service', {}, {}, 4_000],
    ['with its call', {}, { deadline: START + 3_999 }, 3_999],
    ['after a second when it renews', { step: RENEW, seen: { token } }, {}, 1_000],
    [
      'later when it renews with a new version',
      { step: RENEW, seen: { token: { ...token, credentialVersion: 'v0' } } },
      {},
      4_000,
    ],
    [
      'later when the last renewal was given up',
      { step: RENEW, seen: { token, pause: pause('token-endpoint-timeout') } },
      {},
      4_000,
    ],
    [
      'after a second when the last renewal failed otherwise',
      { step: RENEW, seen: { token, pause: pause('token-endpoint-unavailable') } },
      {},
      1_000,
    ],
    [
      'with the time-out of its service when the token was refused',
      { step: { kind: 'request', forced: true }, seen: { token } },
      {},
      4_000,
    ],
  ])('ends %s', async (_, options, changes, endMs) => {
    const { run, sent } = setUp(options);
    await run(exampleCall(changes));

    expect(sent.map(({ deadline }) => deadline - START)).toEqual([endMs]);
  });

  it('knows the version, the record under its lease, and whether it replaces a refused token', async () => {
    const call = exampleCall();
    for (const forced of [true, false]) {
      const { run, sent } = setUp({ step: { kind: 'request', forced } });
      await run(call);

      expect(sent).toMatchObject([
        { pair, service: call.service, version: { versionId: 'v1' }, forced, trace: call.trace },
      ]);
      expect(sent[0]?.record).toEqual({ ...SEEN, ...MINE, attemptedAt: START, forcedAt: forced ? START : 0 });
      expect(sent[0]?.credential.authorization.reveal()).toBe(`Basic ${btoa('id:secret')}`);
    }
  });

  it('of a check is no attempt of callers', async () => {
    const { run, recordNow } = setUp({ seen: { attemptedAt: 7 } });
    await run(exampleCall({ stage: 'AWSCURRENT' }));

    expect(recordNow()).toMatchObject({ fence: 5, attemptedAt: 7 });
  });

  it.each<[string, readonly [string, ...string[]], Partial<Call>, readonly string[]]>([
    ['with the current version tells nothing', ['v1', 'v0'], {}, []],
    ['with its predecessor tells it', ['latched', 'v0'], {}, ['previous-version']],
    ['of a check of the predecessor does not', ['latched', 'v0'], { stage: 'AWSPREVIOUS' }, []],
  ])('%s', async (_, ids, changes, warnings) => {
    const seen = { ...SEEN, rejected: latches({ latched: START }) };
    const { run } = setUp({ seen, readVersions: () => versionsOf(...ids) });
    const call = exampleCall(changes);
    await run(call);

    expect([...call.trace.warnings]).toEqual(warnings);
  });
});

describe('under the lease, all is decided once more', () => {
  it('from the record before the lease, with a secret that was read since the call began', async () => {
    const stored = { ...SEEN, leaseOwner: 'dead', leaseUntil: START, attemptedAt: 7, forcedAt: START + 1 };
    const { run, views, reads, clock } = setUp({ stored });
    clock.now += 5;
    await run(exampleCall({ startedAt: START }));

    expect(reads).toEqual([-Infinity, START]);
    expect(views).toMatchObject([{ record: { ...stored, leaseUntil: 0 }, mayRenew: true, versions: undefined }]);
  });

  it('from what was written meanwhile when the answer to taking it was lost and the store was told again', async () => {
    const world = setUp({
      seen: { attemptedAt: 7 },
      store: {
        acquire: async (...args) => {
          await world.shared.acquire(...args);
          world.shared.change(pair, (record) => ({ ...record, disabled: true }));
          return world.shared.acquire(...args);
        },
      },
    });
    await world.run();

    expect(world.views).toMatchObject([
      { record: { fence: 4, attemptedAt: 7, disabled: true, leaseOwner: undefined } },
    ]);
  });

  it.each<[string, Options]>([
    ['an answer', { again: () => ({ kind: 'answer', answer: 'there is one' }) }],
    ['a pause', { again: () => ({ kind: 'fail', problem: new Problem('internal', '') }) }],
    ['that a token is refused', { again: () => ({ kind: 'request', forced: true }) }],
    ['that no token is refused', { step: { kind: 'request', forced: true }, again: () => REQUEST }],
    ['a token to renew', { again: () => RENEW }],
    ['no token to renew', { step: RENEW, again: () => REQUEST }],
    ['a token that cannot be opened', { stored: { closedUntil: START + 1 } }],
    ['that the secret is back', { step: WITHDRAW, again: () => REQUEST }],
  ])('and when that shows %s, nothing is sent and the lease is free', async (_, options) => {
    const { run, sent, recordNow, memory } = setUp(options);

    expect(await run()).toEqual(LOST);
    expect(sent).toEqual([]);
    expect(recordNow()).toEqual({
      ...SEEN,
      ...options.stored,
      ...FREE,
      fence: 5,
      attemptedAt: START,
      forcedAt: expect.any(Number),
    });
    expect(memory.last(pair)).toBe(EMPTY_RECORD);
  });

  it('and when no version may be sent before, none is taken', async () => {
    const seen = { ...SEEN, rejected: latches({ v1: START }) };
    const { run, recordNow } = setUp({ seen });

    await expect(run()).rejects.toMatchObject({ type: 'credential-rejected' });
    expect(recordNow()).toEqual(seen);
  });
});

describe('a version that was rejected before', () => {
  const rejected = latches({ v1: START - 16 * MINUTE_MS });

  it('is sent under the lease that used up its next chance', async () => {
    const { run, sent } = setUp({ seen: { rejected } });
    await run();

    expect(sent[0]?.record.rejected.get('v1')).toEqual({ count: 2, at: START, fence: 5 });
  });

  it.each<[string, Options]>([
    ['was taken before the rejection was known', { stored: { rejected } }],
    [
      'was charged for another version',
      {
        seen: { rejected: latches({ v1: 0, v2: 0 }) },
        readVersions: (n) => versionsOf(n === 1 ? 'v2' : 'v1'),
      },
    ],
  ])('is not sent under a lease that %s', async (_, options) => {
    const { run, sent, recordNow } = setUp(options);

    expect(await run()).toEqual(LOST);
    expect(sent).toEqual([]);
    expect(recordNow()).toMatchObject({ fence: 5, ...FREE });
  });
});

describe('the outcome of the token request', () => {
  const hold: Wait = { until: START - 1, step: 3, problem: { type: 'token-endpoint-error', detail: 'old' } };
  const bothHeld = (mine: Wait) => new Map([[KEY, mine] as const, ['v1:other', hold] as const]);
  const wait = (ms: number, step: number): Wait => ({
    until: START + ms,
    step,
    problem: { type: 'token-endpoint-unavailable', detail: 'down' },
  });

  it('is a token: the table has it, and memory for as long as from the beginning of the lease', async () => {
    const world = setUp({
      seen: { held: new Map([[KEY, hold]]) },
      renew: async () => {
        world.clock.now += 3_000;
        return TOKEN;
      },
    });
    const stored = { ...SEEN, fence: 5, attemptedAt: START, token: exampleToken() };

    expect(await world.run()).toMatchObject({ kind: 'token', token: { fingerprint: exampleToken().fingerprint } });
    expect(world.recordNow()).toMatchObject({ ...stored, held: new Map(), checked: undefined });
    world.clock.now = START + MINUTE_MS - 1;
    expect(world.memory.trusted(pair)).toMatchObject({ ...stored, ...FREE });
    world.clock.now += 1;
    expect(world.memory.trusted(pair)).toBeUndefined();
  });

  it('is a rejection: the version is latched, and the table says so', async () => {
    const { run, recordNow, memory } = setUp({ renew: REJECTED });

    expect(await run()).toEqual({ kind: 'rejected', isTold: true });
    expect(recordNow()).toMatchObject({
      fence: 5,
      ...FREE,
      rejected: new Map([['v1', { count: 1, at: START, fence: 5 }]]),
    });
    expect(memory.last(pair)).toBe(EMPTY_RECORD);
  });

  it.each<[string, Partial<PairRecord>, Renewal, object, Partial<PairRecord>]>([
    [
      'a failure: all environments pause',
      {},
      failed({ cause: 'ECONNREFUSED' }),
      { type: 'token-endpoint-unavailable', detail: 'down', retryAfterSeconds: 1, cause: 'ECONNREFUSED' },
      { pause: wait(1_000, 1) },
    ],
    [
      'another failure: they pause for longer',
      { pause: wait(0, 2) },
      failed(),
      { retryAfterSeconds: 4 },
      { pause: wait(4_000, 3) },
    ],
    [
      'a refusal silent about the credential: the version is held, with these settings, and old ones are dropped',
      { held: new Map([...bothHeld(hold), ['v0:old', { ...hold, until: START - 24 * HOUR_MS - 1 }]]) },
      held,
      { type: 'token-endpoint-error', detail: 'status 404', retryAfterSeconds: 8, cause: 'why' },
      {
        held: bothHeld({ ...wait(8_000, 4), problem: { type: 'token-endpoint-error', detail: 'status 404' } }),
        pause: undefined,
      },
    ],
  ])('is %s', async (_, seen, renew, problem, stored) => {
    const { run, recordNow, memory } = setUp({ seen: { ...seen }, renew });

    expect(await run()).toMatchObject({ kind: 'failed', version: 'v1', problem });
    expect(recordNow()).toMatchObject({ ...stored, fence: 5, ...FREE });
    expect(memory.trusted(pair)).toMatchObject({ ...stored, fence: 5, ...FREE });
  });

  it('is a defect of the broker: the lease runs out, so that the fleet sends one request per lease', async () => {
    const bug = new TypeError('a bug');
    const { run, recordNow, memory } = setUp({ renew: () => Promise.reject(bug) });

    await expect(run()).rejects.toBe(bug);
    expect(recordNow()).toMatchObject({ ...MINE, pause: undefined });
    expect(memory.last(pair)).toBe(EMPTY_RECORD);
  });
});

describe('what a check of a version that is not in use found', () => {
  const shape = { status: 429, contentType: 'none', bytes: 0, members: [] };
  const seen = {
    ...SEEN,
    token: exampleToken({ fingerprint: 'of callers' }),
    held: new Map([[KEY, { until: 0, step: 1, problem: { type: 'internal', detail: '' } as const }]]),
  };

  it.each<[string, Renewal]>([
    ['accepted', TOKEN],
    ['rejected', REJECTED],
    ['misconfigured', held],
    ['unreachable', failed()],
    ['unreachable', { outcome: 'failed', problem: new Problem('token-endpoint-error', 'status 302') }],
    ['throttled', failed({ shape })],
  ])('is written with the outcome of its request, and does not concern callers: %s', async (finding, renew) => {
    for (const stage of ['AWSPENDING', 'AWSPREVIOUS'] as const) {
      const { run, recordNow, memory } = setUp({ seen, renew });
      await run(exampleCall({ stage })).catch(() => undefined);

      expect(recordNow()).toMatchObject({ ...FREE, token: seen.token, checked: { version: 'v1', at: START, finding } });
      if (finding === 'accepted') expect(recordNow().held.size).toBe(0);
      if (finding !== 'rejected') expect(memory.trusted(pair)).toEqual(recordNow());
    }
  });
});

describe('a withdrawal', () => {
  const seen = { ...SEEN, token: exampleToken() };

  it('by an environment that is alone is its own', async () => {
    const { run, recordNow, memory } = setUp({ seen, step: WITHDRAW, view: { isAlone: true } });

    expect(await run()).toEqual({ kind: 'answer', answer: 'gone' });
    expect(recordNow()).toEqual(seen);
    expect(memory.last(pair).token).toBeUndefined();
    expect(memory.trusted(pair)).toBeUndefined();
  });
});

describe('a late writer, whose lease is another’s by then,', () => {
  const next = { fence: 6, leaseOwner: 'another', leaseUntil: LEASE_END };

  it.each<[string, Renewal]>([
    ['publishes nothing', TOKEN],
    ['begins no pause', failed()],
    ['holds no version', held],
  ])('%s and remembers nothing', async (_, renew) => {
    const world = setUp({
      renew: async () => {
        world.shared.change(pair, (record) => ({ ...record, ...next }));
        return renew;
      },
    });
    await world.run().catch(() => undefined);

    expect(world.recordNow()).toEqual({ ...SEEN, ...next, attemptedAt: START });
    expect(world.memory.last(pair)).toBe(EMPTY_RECORD);
  });
});

describe('a store that does not say whether it has the outcome of a lease', () => {
  it.each<[string, Renewal, Partial<PairRecord>]>([
    ['the token', TOKEN, { token: exampleToken() }],
    ['the pause', failed(), { pause: expect.objectContaining({ step: 1 }) }],
    ['the hold', held, { held: new Map([[KEY, expect.objectContaining({ step: 1 })]]) }],
  ])('leaves %s to this environment, which never trusts it', async (_, renew, known) => {
    const { run, memory } = setUp({ renew, store: { end: SILENT } });
    const call = exampleCall();
    await run(call).catch(() => undefined);

    expect(memory.last(pair)).toMatchObject({ ...known, ...FREE });
    expect(memory.trusted(pair)).toBeUndefined();
    expect([...call.trace.warnings]).toEqual(['shared-cache-unavailable']);
  });

  it('leaves the rejection to it, and the caller’s loop knows', async () => {
    const { run, memory } = setUp({ renew: REJECTED, store: { reject: SILENT } });
    const call = exampleCall();

    expect(await run(call)).toEqual({ kind: 'rejected', isTold: false });
    expect(memory.last(pair).rejected).toEqual(new Map([['v1', { count: 1, at: START, fence: 5 }]]));
    expect([...call.trace.warnings]).toEqual(['shared-cache-unavailable']);
  });
});

describe('the outcome of a lease is written', () => {
  const written = async (deadline: number, renew: Renewal) => {
    const until: number[] = [];
    const { run } = setUp({
      renew,
      store: {
        end: async (_pair, _lease, _ending, by) => until.push(by) > 0,
        reject: async (_pair, _lease, _rejection, by) => {
          until.push(by);
        },
      },
    });
    await run(exampleCall({ deadline }));
    return until.map((by) => by - START);
  };

  it('until half a second before the lease ends, or 200 ms after the call at the latest', async () => {
    expect(await written(START + 10_000, TOKEN)).toEqual([5_500]);
    expect(await written(START + 5_000, TOKEN)).toEqual([5_200]);
  });

  it('until 200 ms after the call when it is a rejection, which counts under any lease', async () => {
    expect(await written(START + 10_000, REJECTED)).toEqual([10_200]);
  });
});

describe('an environment that is alone', () => {
  const alone = { isAlone: true };

  it('makes its request without a lease, and remembers the token by itself', async () => {
    const { run, sent, views, reads, recordNow, memory } = setUp({
      view: alone,
      store: { acquire: SILENT, end: SILENT },
    });

    expect(await run()).toMatchObject({ kind: 'token' });
    expect(sent[0]?.record).toMatchObject({ ...MINE, attemptedAt: START });
    expect([views, reads]).toEqual([[], [-Infinity]]);
    expect(recordNow()).toEqual(SEEN);
    expect(memory.last(pair)).toMatchObject({ ...FREE, token: exampleToken() });
    expect(memory.trusted(pair)).toBeUndefined();
  });

  it.each([0, 0.5, 1 - 2 ** -50])('tells the others of a rejection under no lease of theirs (%d)', async (random) => {
    const taken = { ...SEEN, fence: 5, leaseOwner: 'me', leaseUntil: LEASE_END };
    const { run, recordNow, memory } = setUp({ view: alone, renew: REJECTED, stored: taken, random });

    expect(await run()).toEqual({ kind: 'rejected', isTold: true });
    const fence = -1 - Math.floor(random * 2 ** 40);
    expect(recordNow()).toEqual({ ...taken, rejected: new Map([['v1', { count: 1, at: START, fence }]]) });
    expect(memory.last(pair).rejected.get('v1')).toEqual({ count: 1, at: START, fence });
  });
});

describe('latches to forget', () => {
  const HOUR_AGO = START - HOUR_MS;
  const many = (at: number) => latches({ gone: at, staged: at, other: at, another: at });
  const keptOf = async (rejected: PairRecord['rejected'], staged?: ReadonlySet<string>) => {
    const { run, recordNow } = setUp({ seen: { rejected }, renew: REJECTED, ...(staged && { staged }) });
    await run();
    return [...recordNow().rejected.keys()];
  };

  it('are those of versions without a stage, older than an hour, when there are four', async () => {
    expect(await keptOf(many(HOUR_AGO - 1), new Set(['staged', 'v1']))).toEqual(['staged', 'v1']);
  });

  it('are none in their first hour', async () => {
    expect(await keptOf(many(HOUR_AGO), new Set(['staged', 'v1']))).toHaveLength(5);
  });

  it('are none as long as there are three', async () => {
    expect(await keptOf(latches({ gone: 0, other: 0, another: 0 }), new Set(['v1']))).toHaveLength(4);
  });

  it('are none when not every stage could be read', async () => {
    expect(await keptOf(many(HOUR_AGO - 1))).toHaveLength(5);
  });
});
