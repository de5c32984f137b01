import { describe, expect, it } from 'vitest';
import type { Call } from '../../../../functions/broker/pair/call.ts';
import type { Step } from '../../../../functions/broker/pair/decision.ts';
import type { Obtained } from '../../../../functions/broker/pair/obtain-token.ts';
import type { Wait } from '../../../../functions/broker/pair/record.ts';
import { Problem } from '../../../../functions/broker/problem.ts';
import { SECRETS_DOWN } from '../../../support/broker-world.ts';
import { HOUR_MS, SECOND_MS, START } from '../../../support/example.ts';
import { exampleCall, exampleToken, exampleWait } from '../../../support/pair/pair-examples.ts';
import { answer, createPairWorld, FAILED, type PairWorldOptions, REJECTED, RENEW, REQUEST } from './pair-world.ts';

const KEY = 'v1:0000000000000000';
const FORCE = { kind: 'request', forced: true } as const;
const AGAIN = 'looked again';
const TOKEN = exampleToken();
const SHAPE = { status: 429, contentType: 'none', bytes: 0, members: [] };

const failed = (changes: { retryAfterSeconds?: number; shape?: typeof SHAPE } = {}): Obtained => ({
  outcome: 'failed',
  problem: new Problem('token-endpoint-unavailable', 'down', changes),
});
const HELD: Obtained = { outcome: 'held', problem: new Problem('token-endpoint-error', 'down', { cause: 'why' }) };
const UNHEARD: Obtained = {
  outcome: 'failed',
  isUnheard: true,
  problem: new Problem('token-endpoint-timeout', 'down', { retryAfterSeconds: 7 }),
};

interface Options extends PairWorldOptions {
  readonly step?: Step<string>;
  readonly call?: Partial<Call>;
}

/** One token request; what comes of it, unless that is a token or a problem, is `AGAIN`. */
async function run({ step = REQUEST, call = {}, ...options }: Options = {}) {
  const world = createPairWorld(options);
  const made = exampleCall(call);
  const outcome = await world.acquire([step, answer(AGAIN)], made);
  return { ...world, outcome, call: made };
}

it.each<[string, Options]>([
  ['neither reads the secret nor takes a lease', { call: { deadline: START + 249 }, secret: () => SECRETS_DOWN }],
  ['after it has read the secret takes no lease', { call: { deadline: START + 300 }, secretMs: 51 }],
])('a call with less than a quarter of a second %s', async (_, options) => {
  const { outcome, sent, recordNow } = await run(options);
  expect([outcome, sent, recordNow().lease]).toEqual([AGAIN, [], undefined]);
});

it('a call with a quarter of a second makes its request with just that', async () => {
  const { sent } = await run({ call: { deadline: START + 250 } });
  expect(sent).toMatchObject([{ deadline: START + 250 }]);
});

describe('the token request', () => {
  const token = TOKEN;
  const unheard = { ...exampleWait(START, 'token-endpoint-timeout'), unheard: true } as const;
  const checked = { version: 'v1', at: START, finding: 'accepted' } as const;
  const slowTable: Options['onReplace'] = (write, { clock }) => {
    clock.now += 3_000;
    return write();
  };

  it.each<[string, Options, number]>([
    ['with the time-out of its service', {}, 4_000],
    ['with its call', { call: { deadline: START + 3_999 } }, 3_999],
    ['650 ms before its lease: for clocks that differ, and to write its outcome', { onReplace: slowTable }, 5_350],
    ['after a second when it renews', { step: RENEW, record: { token } }, 1_000],
    ['after a second when the version was accepted in a check', { step: RENEW, record: { checked } }, 1_000],
    ['later with a version that is not proven', { step: RENEW, record: {} }, 4_000],
    ['later when the last one brought no answer', { step: RENEW, record: { token, pause: unheard } }, 4_000],
    ['after a second when it failed', { step: RENEW, record: { token, pause: exampleWait(START) } }, 1_000],
    ['with the time-out of its service when the token was refused', { step: FORCE, record: { token } }, 4_000],
  ])('ends %s', async (_, options, endMs) => {
    expect((await run(options)).sent.map(({ deadline }) => deadline - START)).toEqual([endMs]);
  });
});

it('a 500 holds a version that was never accepted, however short a wait it asks for, and says how to end that', async () => {
  const answered = failed({ shape: { ...SHAPE, status: 500 }, retryAfterSeconds: 1 });
  const { seconds, last, recordNow } = await waitsOf(answered, {}, 13);
  expect(seconds.slice(-2)).toEqual([2_048, 3_600]);
  const detail = expect.stringMatching(/^Not accepted yet: the service answered 500.*client retry ends the wait\.$/);
  expect(last?.problem).toMatchObject({ type: 'token-endpoint-unavailable', detail });
  expect(recordNow().pause).toBeUndefined();
});

it('a 403 that asks for a short wait holds a version that was never accepted, because it may be the fault', async () => {
  const answered = failed({ shape: { ...SHAPE, status: 403 }, retryAfterSeconds: 10 });
  const { seconds, recordNow } = await waitsOf(answered, {}, 13);
  expect(seconds).toEqual([10, 10, 10, 10, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 3_600]);
  expect(recordNow().pause).toBeUndefined();
});

it.each([
  ['half a second before the lease ends', 10_000, undefined, 5_500],
  ['200 ms after the call at the latest', 5_000, undefined, 5_200],
  ['200 ms after the call when it is a rejection, which counts under any lease', 10_000, REJECTED, 10_200],
])('an outcome is written until %s', async (_, deadlineMs, renewal, untilMs) => {
  const deadlines: number[] = [];
  const { acquire } = createPairWorld({
    renewals: [renewal],
    onReplace: (write, { deadline }) => {
      deadlines.push(deadline - START);
      return write();
    },
  });
  await acquire([REQUEST, answer(AGAIN)], exampleCall({ deadline: START + deadlineMs }));

  expect(deadlines).toEqual([deadlineMs, untilMs]);
});

it('a defect of the broker leaves the lease to run out, so that the fleet sends one request per lease', async () => {
  const bug = new TypeError('a bug');
  const { outcome, recordNow } = await run({ renewals: [bug] });
  expect([outcome, recordNow()]).toMatchObject([bug, { lease: { id: 'lease-1' }, pause: undefined }]);
});

/** The waits in whole seconds that follow so many failures, each asked for when the one before has ended. */
async function waitsOf(renewal: Obtained, options: Options, times = 14) {
  const waits: (Wait | undefined)[] = [];
  const world = createPairWorld({ ...options, renewals: [renewal] });
  while (waits.length < times) {
    const { now } = world.clock;
    const call = exampleCall({ ...options.call, deadline: now + 10_000 });
    await world.acquire([REQUEST, answer(AGAIN)], call);
    const { pause, held } = world.recordNow();
    waits.push(options.call?.stage !== undefined || held.has(KEY) ? held.get(KEY) : pause);
    world.clock.now = waits.at(-1)?.until ?? now;
  }
  const ends = [START, ...waits.map((wait) => wait?.until ?? 0)];
  const seconds = waits.map((_, n) => ((ends[n + 1] ?? 0) - (ends[n] ?? 0)) / SECOND_MS);
  return { ...world, seconds, last: waits.at(-1) };
}

describe('the wait after a request in vain', () => {
  const proven = { record: { token: exampleToken({ expiresAt: START }) } };
  const trial = { call: { stage: 'AWSPENDING' } } as const;
  const [PAUSES, HOLDS] = ['pauses the pair', 'holds the version'];
  const TO_15_S = [1, 2, 4, 8, 15, 15, 15];
  const TO_1_MIN = [1, 2, 4, 8, 16, 32, 60, 60];
  const TO_5_MIN = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300];
  const TO_1_H = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 3_600, 3_600];

  it.each<[string, string, Obtained, Options, number[]]>([
    ['that says nothing of the credential', PAUSES, failed(), {}, TO_15_S],
    ['for which the service asks for a wait', PAUSES, failed({ retryAfterSeconds: 60 }), {}, [60, 60]],
    ['for which it asks for too much', PAUSES, failed({ retryAfterSeconds: 301 }), {}, [300, 300]],
    ['of a 429 that names no time', PAUSES, failed({ shape: SHAPE }), {}, TO_5_MIN],
    ['of a 429 that asks for an hour', PAUSES, failed({ shape: SHAPE, retryAfterSeconds: 3_600 }), {}, [300]],
    // @see ging/fiware-idm#43
    ['of a 500, with a proven version,', PAUSES, failed({ shape: { ...SHAPE, status: 500 } }), proven, TO_15_S],
    // @see mastodon/mastodon#5111, spring-attic/spring-security-oauth#1007
    ['of a 302, such as one to a log-in page,', HOLDS, failed({ shape: { ...SHAPE, status: 302 } }), {}, TO_1_H],
    ['of a 307', HOLDS, failed({ shape: { ...SHAPE, status: 307 } }), {}, TO_1_H],
    ['of a 502', PAUSES, failed({ shape: { ...SHAPE, status: 502 } }), {}, TO_15_S],
    ['that was refused', HOLDS, HELD, proven, TO_1_H],
    ['that brought no answer, with a version that is not proven,', HOLDS, UNHEARD, {}, TO_1_H],
    ['that brought no answer, with a proven version,', PAUSES, UNHEARD, proven, TO_1_MIN],
    ['of a trial', HOLDS, failed(), trial, TO_15_S],
    ['of a trial for which the service asks for a wait', HOLDS, failed({ retryAfterSeconds: 301 }), trial, [300]],
    ['of a trial that brought no answer', HOLDS, UNHEARD, trial, TO_1_H],
    ['of a trial that brought no answer, with a proven version,', HOLDS, UNHEARD, { ...trial, ...proven }, TO_1_MIN],
  ])('%s %s', async (_, whose, renewal, options, seconds) => {
    const world = await waitsOf(renewal, options, seconds.length);
    const { pause, held, lease } = world.recordNow();

    expect(world.seconds).toEqual(seconds);
    expect([pause !== undefined, held.has(KEY)]).toEqual([whose === PAUSES, whose === HOLDS]);
    expect(lease).toBeUndefined();
    expect(world.last).toMatchObject({ step: seconds.length, problem: { detail: 'down' } });
    expect(world.last?.unheard).toBe(renewal === UNHEARD || undefined);
  });

  it('is five minutes for a proven version from the 31st request in a row that brought no answer', async () => {
    const { seconds } = await waitsOf(UNHEARD, proven, 33);
    expect(seconds.slice(28)).toEqual([60, 60, 300, 300, 300]);
  });

  it('counts as the first unheard one after any number of answers in vain', async () => {
    const pause = exampleWait(START, 'token-endpoint-unavailable', 40);
    const { recordNow } = await run({ record: { ...proven.record, pause }, renewals: [UNHEARD] });
    expect(recordNow().pause).toMatchObject({ step: 1, until: START + SECOND_MS, unheard: true });
  });

  it.each<[string, Obtained, object]>([
    ['a pause', FAILED, {}],
    ['a hold', HELD, proven.record],
  ])('begins anew after %s that ended more than a day ago', async (_, renewal, record) => {
    const old = exampleWait(START - 24 * HOUR_MS - 1, 'token-endpoint-error', 9);
    const stored = { ...record, pause: old, held: new Map([[KEY, old]]) };
    const { pause, held } = (await run({ record: stored, renewals: [renewal] })).recordNow();

    expect(renewal === HELD ? held.get(KEY) : pause).toMatchObject({ step: 1, until: START + SECOND_MS });
  });

  it.each<[string, Obtained, object]>([
    ['a pause', FAILED, { type: 'token-endpoint-unavailable', detail: 'down', retryAfterSeconds: 1, cause: 'why' }],
    ['a hold', HELD, { type: 'token-endpoint-error', detail: 'down', retryAfterSeconds: 1, cause: 'why' }],
  ])('reaches the caller with the problem, in whole seconds: %s', async (_, renewal, told) => {
    const { outcome } = await run({ renewals: [renewal] });
    expect(outcome).toBeInstanceOf(Problem);
    expect(outcome).toMatchObject(told);
  });
});

it.each<[string, Obtained | undefined]>([
  ['accepted', undefined],
  ['rejected', REJECTED],
  ['misconfigured', HELD],
  ['unreachable', failed()],
  ['throttled', failed({ shape: SHAPE })],
])('a trial writes what it found, and nothing for callers: %s', async (finding, renewal) => {
  const pause = exampleWait(START - 1);
  for (const stage of ['AWSPENDING', 'AWSPREVIOUS'] as const) {
    const { recordNow, call } = await run({ record: { token: TOKEN, pause }, renewals: [renewal], call: { stage } });

    const checked = { version: 'v1', at: START, finding };
    expect(recordNow()).toMatchObject({ lease: undefined, token: TOKEN, pause, attemptedAt: 0, checked });
    expect(call.trace.warnings.size).toBe(0);
  }
});
