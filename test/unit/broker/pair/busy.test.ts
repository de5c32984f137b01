import { describe, expect, it } from 'vitest';
import type { View } from '../../../../functions/broker/pair/decision.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import type { SecretStage } from '../../../../functions/vocabulary.ts';
import { found, SECRETS_DOWN } from '../../../support/broker-world.ts';
import { MINUTE_MS, SECOND_MS, START } from '../../../support/example.ts';
import { exampleCall, exampleToken, exampleWait, latches } from '../../../support/pair/pair-examples.ts';
import {
  answer,
  BUSY,
  createPairWorld,
  DOWN,
  FINGERPRINT,
  LIVE,
  PAIR,
  type PairWorldOptions,
  REJECTED,
  REQUEST,
  THROTTLED,
} from './pair-world.ts';

/** A store that throttles calls. It is there, so no instance may go alone, however long it lasts. */

const TIMED_OUT = { type: 'token-endpoint-timeout', retryAfterSeconds: 5 };
const KEY = 'v1:0000000000000000';

describe('a look that is busy', () => {
  /** A caller asks `ageMs` after memory read this record, and every look of it is busy. */
  async function busyAsk(
    record: Partial<PairRecord>,
    { ageMs = 0, refused, ...options }: PairWorldOptions & { ageMs?: number; refused?: string } = {},
  ) {
    const call = exampleCall({ deadline: START + ageMs + 10_000 });
    const world = createPairWorld({ reads: [BUSY], ...options });
    await world.memory.remember(PAIR, async () => ({ record: { ...EMPTY_RECORD, ...record }, tag: 'a' }));
    world.clock.now += ageMs;
    const told = await world.ask(refused, call);
    expect([world.sent.length, world.recordNow().lease]).toEqual([0, undefined]);
    expect(world.views.every(({ isAlone }) => isAlone)).toBe(true);
    expect(call.trace.warnings).toContain('table-busy');
    return { ...world, told, waitMs: world.clock.now - START - ageMs };
  }

  const latched = { rejected: latches({ v1: START }) };
  const held = { held: new Map([[KEY, exampleWait(START + 5 * MINUTE_MS, 'token-endpoint-error')]]) };
  const paused = { pause: exampleWait(START + 5 * MINUTE_MS) };
  const token = exampleToken({ refreshAt: START });

  it.each<[string, Partial<PairRecord>, object, string]>([
    ['issues a living token, however old memory is', { token }, { ageMs: 40 * MINUTE_MS }, FINGERPRINT],
    ['issues a living token while Secrets Manager is silent', { token }, { secret: () => SECRETS_DOWN }, FINGERPRINT],
    ['tells a latch of the last minute', latched, { ageMs: MINUTE_MS - 1 }, 'credential-rejected'],
    ['tells a hold of the last minute', held, { ageMs: MINUTE_MS - 1 }, 'token-endpoint-error'],
    ['tells a pause of the last minute', paused, { ageMs: MINUTE_MS - 1 }, 'token-endpoint-unavailable'],
    [
      'obeys a stop of the secret',
      { token },
      { secret: () => ({ outcome: 'stopped', cause: 'no' }) },
      'client-disabled',
    ],
    ['obeys the flag that memory has', { token, disabled: { since: START } }, {}, 'client-disabled'],
  ])('%s, at once', async (_, record, options, expected) => {
    const { told, waitMs } = await busyAsk(record, options);
    expect([told, waitMs]).toEqual([expected, 0]);
  });

  it.each<[string, Partial<PairRecord>, object]>([
    ['there is no token', {}, {}],
    ['the token was refused', { token }, { refused: FINGERPRINT }],
    ['the pause is older than a minute', { token, ...paused }, { refused: FINGERPRINT, ageMs: MINUTE_MS + 1 }],
    ['the latch is older than a minute', latched, { ageMs: MINUTE_MS + 1 }],
    ['the hold is older than a minute', held, { ageMs: MINUTE_MS + 1 }],
    ['the latch is of another version', { rejected: latches({ v0: START }) }, {}],
    ['Secrets Manager is silent', latched, { secret: () => SECRETS_DOWN }],
    [
      'the previous version cannot be read',
      latched,
      { secret: (stage: SecretStage) => (stage === 'AWSCURRENT' ? found('v1') : SECRETS_DOWN) },
    ],
    ['another call holds the lease', LIVE, {}],
  ])('waits until the deadline: %s', async (_, record, options) => {
    const { told, waitMs, slept } = await busyAsk(record, options);
    expect([told, waitMs, Math.max(...slept) <= 500]).toEqual([TIMED_OUT.type, 10_000, true]);
  });

  it('reads the secret once in a minute', async () => {
    expect((await busyAsk({})).readStages).toEqual(['AWSCURRENT']);
  });

  it('needs no reading of the secret while memory has nothing to tell', async () => {
    const { acquire, readStages } = createPairWorld({ reads: [BUSY, BUSY, BUSY, {}] });
    await acquire([answer('token')]);
    expect(readStages).toEqual([]);
  });
});

it('a lease whose write is busy is asked for again after a look, and the call never goes alone', async () => {
  const { acquire, views, sent, slept, tableReads } = createPairWorld({
    onReplace: (write, { n }) => (n <= 3 ? THROTTLED() : write()),
  });

  expect(await acquire([REQUEST])).toBe(FINGERPRINT);
  expect(views.map(({ isAlone }) => isAlone)).toEqual([false, false, false, false]);
  expect([sent.length, tableReads.length, slept]).toEqual([1, 4, [25, 50, 100]]);
});

describe('an outcome whose write is busy', () => {
  /** The lease is written, and then so many writes are throttled. */
  const busyOutcomes =
    (times: number): NonNullable<PairWorldOptions['onReplace']> =>
    (write, { n }) =>
      n > 1 && n <= 1 + times ? THROTTLED() : write();

  it.each([
    [0, 50],
    [0.999, 99.95],
  ])('is written again from the same record after 50 to 100 ms, without a look (%d)', async (random, pauseMs) => {
    const { acquire, tableReads, slept, recordNow } = createPairWorld({ onReplace: busyOutcomes(3), random });

    expect(await acquire([REQUEST])).toBe(FINGERPRINT);
    expect([tableReads.length, slept]).toEqual([1, [pauseMs, pauseMs, pauseMs]]);
    expect(recordNow()).toMatchObject({ lease: undefined, token: { fingerprint: FINGERPRINT } });
  });

  it('is looked at again when another write came first, also if that look is busy', async () => {
    const { acquire, recordNow } = createPairWorld({
      renewals: [REJECTED],
      reads: [{}, BUSY, BUSY, {}],
      onReplace: (write, { n, shared }) => {
        if (n === 2) shared.change(PAIR, (record) => ({ ...record, forcedAt: START }));
        return write();
      },
    });
    await acquire([REQUEST, answer('enough')]);
    expect(recordNow()).toMatchObject({ forcedAt: START, rejected: new Map([['v1', { count: 1 }]]) });
  });

  it('brings a rejected caller its own answer at the end of its time', async () => {
    const { acquire, clock, sent } = createPairWorld({ renewals: [REJECTED], onReplace: busyOutcomes(Infinity) });
    const call = exampleCall();

    expect(await acquire([REQUEST], call)).toMatchObject({ type: 'credential-rejected' });
    expect([sent.length, clock.now <= call.deadline + 200]).toEqual([1, true]);
  });

  it('is given up half a second before the lease ends', async () => {
    const { acquire, clock } = createPairWorld({ onReplace: busyOutcomes(Infinity), random: 0.3 });
    await acquire([REQUEST, answer('enough')]);
    expect(clock.now - START).toBe(5_500);
  });

  it('reaches the caller after a second, if it is a rejection and the instance was alone', async () => {
    const { ask, clock, sent } = createPairWorld({ renewals: [REJECTED], reads: [DOWN, DOWN, BUSY] });
    expect([await ask(), sent.length, clock.now - START]).toEqual(['credential-rejected', 1, SECOND_MS]);
  });

  it.each<[string, PairWorldOptions]>([
    ['reads', { reads: [DOWN, DOWN, BUSY] }],
    ['writes', { reads: [DOWN, DOWN, {}], onReplace: THROTTLED }],
  ])('takes a second in all of an instance that is alone, and is not written after it: busy %s', async (_, options) => {
    const { acquire, clock, sent } = createPairWorld({ renewals: [REJECTED], ...options });
    await acquire([REQUEST, REQUEST, answer('enough')]);
    expect([sent.length, clock.now - START]).toEqual([1, SECOND_MS]);
  });
});

describe('a check while the store is busy', () => {
  it('decides on a secret that is no older than itself', async () => {
    let version = 'v1';
    const { acquire, clock } = createPairWorld({
      reads: [{}, BUSY],
      record: { rejected: latches({ v1: START }) },
      secret: (stage) => found(version, undefined, stage),
    });
    const decide = ({ versions }: View) => {
      const reading = versions?.candidates[0];
      return answer(reading?.outcome === 'found' ? reading.secret.versionId : 'none');
    };
    const check = () => acquire(decide, exampleCall({ stage: 'AWSCURRENT', deadline: clock.now + 10 * SECOND_MS }));
    await check();
    clock.now += 30 * SECOND_MS;
    version = 'v2';
    expect(await check()).toBe('v2');
  });

  it('of a version that was rejected has its finding', async () => {
    const { acquire } = createPairWorld({ reads: [{}, BUSY], renewals: [REJECTED] });
    const decide = ({ record }: View) => (record.rejected.has('v1') ? answer('rejected') : REQUEST);
    expect(await acquire(decide, exampleCall({ stage: 'AWSPENDING' }))).toBe('rejected');
  });

  it('withdraws nothing, and waits until the deadline', async () => {
    const token = exampleToken();
    const { acquire, recordNow } = createPairWorld({ record: { token }, onReplace: THROTTLED });
    const withdraw = { kind: 'withdraw', answer: 'missing' } as const;

    expect(await acquire([withdraw], exampleCall({ stage: 'AWSCURRENT' }))).toMatchObject(TIMED_OUT);
    expect(recordNow().token).toBe(token);
  });

  it.each(['AWSPENDING', 'AWSPREVIOUS'] as const)('of %s is not answered from memory', async (stage) => {
    const { acquire, memory } = createPairWorld({ reads: [BUSY] });
    await memory.remember(PAIR, async () => ({ record: { ...EMPTY_RECORD, token: exampleToken() }, tag: 'a' }));
    expect(await acquire([answer('accepted')], exampleCall({ stage }))).toMatchObject(TIMED_OUT);
  });
});
