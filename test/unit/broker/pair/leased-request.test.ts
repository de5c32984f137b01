import { describe, expect, it } from 'vitest';
import type { Call, Step } from '../../../../functions/broker/pair/decision.ts';
import type { PairRecord, Wait } from '../../../../functions/broker/pair/record.ts';
import type { Renewal } from '../../../../functions/broker/pair/renew-token.ts';
import { Problem, type ShapeReport } from '../../../../functions/broker/problem.ts';
import type { ProblemType } from '../../../../functions/contract.ts';
import { HOUR_MS, MINUTE_MS, START } from '../../../support/example.ts';
import { exampleCall, exampleToken, exampleWait } from '../../../support/pair/pair-examples.ts';
import {
  answer,
  createPairWorld,
  FAILED,
  FINGERPRINT,
  PAIR,
  type PairWorldOptions,
  REJECTED,
  RENEW,
  REQUEST,
  SILENT,
} from '../../../support/pair/pair-world.ts';

const LEASE_END = START + 6_000;
const KEY = 'v1:0000000000000000';
const FREE = { leaseOwner: undefined, leaseUntil: 0 };
const MINE = { fence: 5, leaseOwner: 'me', leaseUntil: LEASE_END };
const FORCE = { kind: 'request', forced: true } as const;
const WITHDRAW = { kind: 'withdraw', answer: 'gone' } as const;
const LOST = 'looked again';
const TOKEN = exampleToken();
const HELD: Renewal = { outcome: 'held', problem: new Problem('token-endpoint-error', 'down', { cause: 'why' }) };
const latches = (entries: Record<string, number>): PairRecord['rejected'] =>
  new Map(Object.entries(entries).map(([version, at]) => [version, { count: 1, at, fence: 1 }]));

interface Options extends PairWorldOptions {
  readonly step?: Step<string>;
  /** What is decided once more, under the lease. */
  readonly again?: Step<string>;
  readonly call?: Partial<Call>;
}

/** One try for the lease after fence 4; what comes of it, unless that is an answer or a problem, is `LOST`. */
async function run({ step = REQUEST, again = step, call = {}, ...options }: Options = {}) {
  const world = createPairWorld({ ...options, record: { fence: 4, ...options.record } });
  const made = exampleCall(call);
  const outcome = await world.acquire([step, again, answer(LOST)], made);
  return { ...world, outcome, call: made };
}

describe('a call with little time left', () => {
  it('takes no lease with less than a quarter of a second, and makes its request with just that', async () => {
    const late = await run({ call: { deadline: START + 249 } });
    expect([late.outcome, late.recordNow().fence, late.readStages]).toEqual([LOST, 4, []]);

    const { sent } = await run({ call: { deadline: START + 250 } });
    expect(sent).toMatchObject([{ deadline: START + 250 }]);
  });
});

describe('the lease', () => {
  const usual = { seenFence: 4, owner: 'me', now: START, until: LEASE_END, observedExpired: false, isCheck: false };
  const rejected = latches({ v1: 0 });

  it.each<[string, Options, object]>([
    ['is that of the fence that was seen', {}, { ...usual, forced: false, chargedVersion: undefined }],
    ['says that a refused token is replaced', { step: FORCE }, { forced: true }],
    ['charges a version that was rejected before', { record: { rejected } }, { chargedVersion: 'v1' }],
    ['charges no other', { record: { rejected: latches({ v2: 0 }) } }, { chargedVersion: undefined }],
    ['charges nothing for a withdrawal', { step: WITHDRAW, record: { rejected } }, { chargedVersion: undefined }],
    ['is one of a check', { call: { stage: 'AWSCURRENT' } }, { isCheck: true }],
  ])('%s', async (_, options, expected) => {
    const asked: unknown[] = [];
    const acquire = async (...args: unknown[]) => void asked.push(...args);
    await run({ ...options, store: { acquire: acquire as () => Promise<undefined> } });

    expect(asked.slice(0, 3)).toMatchObject([PAIR, expected, START + 10_000]);
  });
});

describe('the token request', () => {
  const token = TOKEN;
  const timedOut = exampleWait(START, 'token-endpoint-timeout');

  it.each<[string, Options, number]>([
    ['with the time-out of its service', {}, 4_000],
    ['with its call', { call: { deadline: START + 3_999 } }, 3_999],
    ['after a second when it renews', { step: RENEW, record: { token } }, 1_000],
    ['later with a new version', { step: RENEW, record: { token: { ...token, credentialVersion: 'v0' } } }, 4_000],
    ['later when the last one was given up', { step: RENEW, record: { token, pause: timedOut } }, 4_000],
    ['after a second when it failed', { step: RENEW, record: { token, pause: exampleWait(START) } }, 1_000],
    ['with the time-out of its service when the token was refused', { step: FORCE, record: { token } }, 4_000],
  ])('ends %s', async (_, options, endMs) => {
    expect((await run(options)).sent.map(({ deadline }) => deadline - START)).toEqual([endMs]);
  });

  it.each([REQUEST, FORCE])('knows the version, the record under its lease, and why it is made: %o', async (step) => {
    const { sent, call } = await run({ step });
    const { service, trace } = call;

    expect(sent).toMatchObject([{ pair: PAIR, service, version: { versionId: 'v1' }, forced: step.forced, trace }]);
    expect(sent[0]?.record).toMatchObject({ ...MINE, attemptedAt: START, forcedAt: step.forced ? START : 0 });
    expect(sent[0]?.credential.authorization.reveal()).toBe(`Basic ${btoa('id:secret')}`);
  });
});

describe('under the lease, all is decided once more', () => {
  it('from the record before the lease, with a secret that was read since the call began', async () => {
    const dead = { leaseOwner: 'dead', leaseUntil: START, attemptedAt: 7 };
    const world = createPairWorld({ record: { fence: 4, ...dead } });
    await world.acquire([answer('warm')], exampleCall({ stage: 'AWSCURRENT' }));
    world.clock.now += 1;
    await world.acquire([answer('not first'), REQUEST], exampleCall({ startedAt: START + 1 }));

    expect(world.readStages).toEqual(['AWSCURRENT', 'AWSCURRENT']);
    expect(world.views.at(-1)).toMatchObject({ record: { ...dead, leaseUntil: 0 }, versions: undefined });
  });

  it('from what was written meanwhile when the answer to taking it was lost and the store was told again', async () => {
    const world = createPairWorld({
      record: { fence: 4, attemptedAt: 7 },
      store: {
        acquire: async (...args) => {
          await world.shared.acquire(...args);
          world.shared.change(PAIR, (record) => ({ ...record, disabled: true }));
          return world.shared.acquire(...args);
        },
      },
    });
    await world.acquire([REQUEST]);

    const record = { fence: 4, attemptedAt: 7, disabled: true, leaseOwner: undefined };
    expect(world.views[1]).toMatchObject({ record });
  });

  it.each<[string, Options]>([
    ['an answer', { again: answer('there is one') }],
    ['a pause', { again: { kind: 'fail', problem: new Problem('internal', '') } }],
    ['that a token is refused', { again: FORCE }],
    ['that no token is refused', { step: FORCE, again: REQUEST }],
    ['a token to renew', { again: RENEW }],
    ['no token to renew', { step: RENEW, again: REQUEST }],
    ['a token that cannot be opened', { reads: [{ fence: 4 }], record: { closedUntil: START + 1 } }],
    ['little time', { secretMs: 5, call: { startedAt: START + 1, deadline: START + 254 } }],
    ['that the secret is back', { step: WITHDRAW, again: REQUEST }],
    ['a version that it is not charged for', { reads: [{ fence: 4 }], record: { rejected: latches({ v1: 0 }) } }],
  ])('and when that shows %s, nothing is sent and the lease is free', async (_, options) => {
    const { outcome, sent, recordNow } = await run(options);

    expect([outcome, sent]).toEqual([LOST, []]);
    expect(recordNow()).toMatchObject({ ...options.record, ...FREE, fence: 5 });
  });

  it('and when no version may be sent before, none is taken', async () => {
    const { outcome, recordNow } = await run({ record: { rejected: latches({ v1: START }) } });
    expect([outcome, recordNow()]).toMatchObject([{ type: 'credential-rejected' }, { fence: 4 }]);
  });
});

describe('the outcome of the token request', () => {
  const hold = exampleWait(START - 1, 'token-endpoint-error', 3);
  const heldAs = (waits: Record<string, Wait>) => ({ held: new Map(Object.entries(waits)) });
  const both = { [KEY]: hold, 'v0:old': { ...hold, until: START - 24 * HOUR_MS - 1 } };

  it('is a token: the table has it, and memory for as long as from the beginning of the lease', async () => {
    const world = createPairWorld({
      record: { fence: 4, ...heldAs(both) },
      onRequest: () => {
        world.clock.now += 3_000;
      },
    });
    const stored = {
      fence: 5,
      ...FREE,
      attemptedAt: START,
      ...heldAs({ 'v0:old': both['v0:old'] }),
      token: { fingerprint: FINGERPRINT },
    };

    expect(await world.acquire([REQUEST])).toBe(FINGERPRINT);
    expect(world.recordNow()).toMatchObject(stored);
    world.clock.now = START + MINUTE_MS - 1;
    expect(world.memory.trusted(PAIR)).toMatchObject(stored);
    world.clock.now += 1;
    expect(world.memory.trusted(PAIR)).toBeUndefined();
  });

  it.each<[string, Partial<PairRecord>, Renewal, object, Partial<PairRecord>]>([
    [
      'a failure after others: all environments pause for longer',
      { pause: exampleWait(START, undefined, 2) },
      FAILED,
      { detail: 'down', retryAfterSeconds: 4, cause: 'why' },
      { pause: exampleWait(START + 4_000, undefined, 3) },
    ],
    [
      'a refusal silent about the credential: the version is held, with these settings, and old holds are dropped',
      heldAs({ ...both, 'v1:other': hold }),
      HELD,
      { detail: 'down', retryAfterSeconds: 8, cause: 'why' },
      { ...heldAs({ 'v1:other': hold, [KEY]: { ...hold, until: START + 8_000, step: 4 } }), pause: undefined },
    ],
  ])('is %s', async (_, record, renewal, told, stored) => {
    const { outcome, recordNow, memory } = await run({ record, renewals: [renewal] });

    expect(outcome).toMatchObject(told);
    const kept = { ...stored, fence: 5, ...FREE };
    expect([recordNow(), memory.trusted(PAIR)]).toMatchObject([kept, kept]);
  });

  it('is a defect of the broker: the lease runs out, so that the fleet sends one request per lease', async () => {
    const bug = new TypeError('a bug');
    const { outcome, recordNow } = await run({ renewals: [bug] });
    expect([outcome, recordNow()]).toMatchObject([bug, { ...MINE, pause: undefined }]);
  });

  it('of a late writer, whose lease is another’s by then, is not even remembered', async () => {
    const { memory } = await run({ store: { end: async () => false } });
    expect(memory.last(PAIR)).toMatchObject({ fence: 4, token: undefined });
  });

  it('is left to this environment, which never trusts it, when the store does not say whether it has it', async () => {
    const { memory, call } = await run({ store: { end: SILENT } });

    expect(memory.last(PAIR)).toMatchObject({ token: { fingerprint: FINGERPRINT }, ...FREE });
    expect(memory.trusted(PAIR)).toBeUndefined();
    expect([...call.trace.warnings]).toEqual(['shared-cache-unavailable']);
  });

  it.each([
    ['half a second before the lease ends', 10_000, [], 5_500],
    ['200 ms after the call at the latest', 5_000, [], 5_200],
    ['200 ms after the call when it is a rejection, which counts under any lease', 10_000, [REJECTED], 10_200],
  ])('is written until %s', async (_, deadlineMs, renewals, untilMs) => {
    const until: number[] = [];
    const end = async (_pair: unknown, _lease: unknown, _outcome: unknown, by: number) => until.push(by - START) > 0;
    const reject = async (...args: Parameters<typeof end>) => void (await end(...args));
    await run({ renewals, call: { deadline: START + deadlineMs }, store: { end, reject } });

    expect(until).toEqual([untilMs]);
  });
});

const failedWith = (type: ProblemType, shape?: ShapeReport): Renewal => ({
  outcome: 'failed',
  problem: new Problem(type, '', { shape }),
});

it.each<[string, Renewal | undefined]>([
  ['accepted', undefined],
  ['rejected', REJECTED],
  ['misconfigured', HELD],
  ['unreachable', failedWith('token-endpoint-error')],
  ['throttled', failedWith('token-endpoint-unavailable', { status: 429, contentType: 'none', bytes: 0, members: [] })],
])(
  'a check of a version that is not in use writes what it found, and nothing for callers: %s',
  async (finding, renewal) => {
    const record = { token: TOKEN, held: new Map([[KEY, exampleWait(0)]]) };
    for (const stage of ['AWSPENDING', 'AWSPREVIOUS'] as const) {
      const { recordNow, call } = await run({ record, renewals: [renewal], call: { stage } });

      expect(recordNow()).toMatchObject({ ...FREE, token: TOKEN, checked: { version: 'v1', at: START, finding } });
      if (finding === 'accepted') expect(recordNow().held.size).toBe(0);
      expect(call.trace.warnings.size).toBe(0);
    }
  },
);
