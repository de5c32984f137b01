import { describe, expect, it } from 'vitest';
import type { SecretReading } from '../../../../functions/broker/credential/secret.ts';
import type { View } from '../../../../functions/broker/pair/decision.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import type { SecretStage } from '../../../../functions/vocabulary.ts';
import { found, SECRETS_DOWN } from '../../../support/broker-world.ts';
import { MINUTE_MS, SECOND_MS, START } from '../../../support/example.ts';
import { exampleCall, exampleToken, exampleWait, latches } from '../../../support/pair/pair-examples.ts';
import {
  answer,
  createPairWorld,
  FINGERPRINT,
  LIVE,
  NO_KEY,
  OPEN,
  PAIR,
  type PairWorldOptions,
  REJECTED,
  RENEW,
  REQUEST,
  SILENT,
  THROTTLED,
} from './pair-world.ts';

/** Without the table memory serves, and nothing is sent: whatever kept a look from its answer, and however long. */

const KEY = 'v1:0000000000000000';
const STOPPED = () => ({ outcome: 'stopped', cause: 'no' }) as const;
const CURRENT_ALONE = (stage: SecretStage) => (stage === 'AWSCURRENT' ? found('v1') : SECRETS_DOWN);
const DENIED = () => ({ outcome: 'denied', cause: 'no' }) as const;

const latched = { rejected: latches({ v1: START }) };
const held = { held: new Map([[KEY, exampleWait(START + 5 * MINUTE_MS, 'token-endpoint-error')]]) };
const paused = { pause: exampleWait(START + 5 * MINUTE_MS) };
const token = exampleToken({ refreshAt: START });
const disabled = { since: START };

describe.each([
  ['silent', SILENT],
  ['busy', THROTTLED],
  ['refusing', OPEN],
] as const)('a table that is %s', (kind, failing) => {
  const untilDeadline = kind === 'refusing' ? 0 : 10_000;

  /** A caller asks `ageMs` after memory read this record, and every look of it fails. */
  async function askWithout(
    record: Partial<PairRecord>,
    { ageMs = 0, refused, ...options }: PairWorldOptions & { ageMs?: number; refused?: string } = {},
  ) {
    const call = exampleCall({ deadline: START + ageMs + 10_000 });
    const world = createPairWorld({ reads: [failing], ...options });
    await world.memory.remember(PAIR, async () => ({ record: { ...EMPTY_RECORD, ...record }, tag: 'a' }));
    world.clock.now += ageMs;
    const answered = await world.ask(refused, call);
    expect([world.sent.length, world.writes(), world.recordNow().lease]).toEqual([0, 0, undefined]);
    expect(world.views.every(({ cache }) => cache === 'memory')).toBe(true);
    expect([...call.trace.warnings]).toContain(kind === 'busy' ? 'table-busy' : 'table-unavailable');
    return { ...world, answered, waitMs: world.clock.now - START - ageMs };
  }

  it.each<[string, Partial<PairRecord>, object, string]>([
    ['issues a living token, however old memory is', { token }, { ageMs: 40 * MINUTE_MS }, FINGERPRINT],
    ['issues a living token under another’s lease', { token, ...LIVE }, {}, FINGERPRINT],
    ['issues a living token while Secrets Manager is silent', { token }, { secret: () => SECRETS_DOWN }, FINGERPRINT],
    ['answers with a latch of the last minute', latched, { ageMs: MINUTE_MS - 1 }, 'credential-rejected'],
    ['answers with a hold of the last minute', held, { ageMs: MINUTE_MS - 1 }, 'token-endpoint-error'],
    ['answers with a hold for a refused token', { token, ...held }, { refused: FINGERPRINT }, 'token-endpoint-error'],
    ['answers with a pause of the last minute', paused, { ageMs: MINUTE_MS - 1 }, 'token-endpoint-unavailable'],
    ['reports a stop of the secret', { token }, { secret: STOPPED }, 'client-disabled'],
    ['reports a secret that is gone', { token }, { secret: () => ({ outcome: 'deleted' }) }, 'credential-missing'],
    ['answers with the flag', { token, disabled }, { ageMs: MINUTE_MS - 1, secret: DENIED }, 'client-disabled'],
    ['answers with the flag under another’s lease', { disabled, ...LIVE }, {}, 'client-disabled'],
  ])('%s, at once', async (_, record, options, expected) => {
    const { answered, waitMs } = await askWithout(record, options);
    expect([answered, waitMs]).toEqual([expected, 0]);
  });

  it.each<[string, Partial<PairRecord>, object]>([
    ['there is no token', {}, {}],
    ['the token was refused', { token }, { refused: FINGERPRINT }],
    ['the pause is older than a minute', { token, ...paused }, { refused: FINGERPRINT, ageMs: MINUTE_MS }],
    ['the latch is older than a minute', latched, { ageMs: MINUTE_MS }],
    ['the hold is older than a minute', held, { ageMs: MINUTE_MS }],
    ['the hold is older and the token was refused', { token, ...held }, { refused: FINGERPRINT, ageMs: MINUTE_MS }],
    ['the latch is older and the token was refused', { token, ...latched }, { refused: FINGERPRINT, ageMs: MINUTE_MS }],
    ['the flag is older than a minute', { token, disabled }, { ageMs: MINUTE_MS }],
    ['the latch is of another version', { rejected: latches({ v0: START }) }, {}],
    ['Secrets Manager is silent', latched, { secret: () => SECRETS_DOWN }],
    ['the broker may not read the secret', { token }, { secret: DENIED }],
    ['the previous version cannot be read', latched, { secret: CURRENT_ALONE }],
    ['another call holds the lease', LIVE, {}],
  ])('has no answer: %s', async (_, record, options) => {
    const { answered, waitMs, slept } = await askWithout(record, options);
    expect([answered, waitMs, Math.max(0, ...slept) <= 500]).toEqual(['table-unavailable', untilDeadline, true]);
  });

  it('reads the secret once in a minute, also while Secrets Manager is silent, and never for a pair it does not know, or whose token has ended', async () => {
    const refused = { token, refused: FINGERPRINT };
    expect((await askWithout({}, refused)).readStages).toEqual([]);
    expect((await askWithout({ token }, { ageMs: 60 * MINUTE_MS })).readStages).toEqual([]);
    expect((await askWithout({ token }, refused)).readStages).toEqual(['AWSCURRENT']);
    expect((await askWithout({ token }, { ...refused, secret: () => SECRETS_DOWN })).readStages).toHaveLength(1);
  });

  it('takes no withdrawal', async () => {
    const { acquire, recordNow, clock } = createPairWorld({ record: { token }, onReplace: failing });
    const withdraw = { kind: 'withdraw', answer: 'missing' } as const;

    expect(await acquire([withdraw], exampleCall({ stage: 'AWSCURRENT' }))).toMatchObject({
      type: 'table-unavailable',
    });
    expect([recordNow().token, clock.now - START]).toEqual([token, untilDeadline]);
  });

  it.each(['AWSPENDING', 'AWSPREVIOUS'] as const)('answers no check of %s from memory', async (stage) => {
    const { acquire, memory } = createPairWorld({ reads: [failing] });
    await memory.remember(PAIR, async () => ({ record: { ...EMPTY_RECORD, token }, tag: 'a' }));
    expect(await acquire([answer('accepted')], exampleCall({ stage }))).toMatchObject({ type: 'table-unavailable' });
  });
});

it('the secret of the last minute counts for a token without the table, and no older one', async () => {
  const reads: (typeof SILENT)[] = [SILENT];
  const { ask, memory, readStages, clock } = createPairWorld({ reads });
  await memory.remember(PAIR, async () => ({ record: { ...EMPTY_RECORD, token }, tag: 'a' }));
  for (const laterMs of [0, MINUTE_MS, 1]) {
    clock.now += laterMs;
    expect(await ask()).toBe(FINGERPRINT);
  }
  expect(readStages).toHaveLength(2);
});

it.each<SecretReading>([STOPPED(), { outcome: 'missing' }, { outcome: 'deleted' }])(
  'a secret that was %o takes the token from memory',
  async (stop) => {
    const { ask, memory } = createPairWorld({ reads: [SILENT], secret: () => stop });
    await memory.remember(PAIR, async () => ({ record: { ...EMPTY_RECORD, token }, tag: 'a' }));
    expect(await ask()).toMatch(/^(client-disabled|credential-missing)$/);
    expect(memory.last(PAIR).token).toBeUndefined();
  },
);

it('a check of AWSPENDING that finds none takes no token from memory', async () => {
  const { acquire, memory } = createPairWorld({ record: { token }, secret: () => ({ outcome: 'missing' }) });
  await acquire([answer('missing')], exampleCall({ stage: 'AWSPENDING' }));
  expect(memory.last(PAIR).token).toBe(token);
});

describe('a call that needs the table', () => {
  it.each([
    ['the circuit is open', OPEN, 9, /its table: DynamoDB does not answer\.$/],
    ['the sealing key cannot be read', NO_KEY, 5, /sealing key/],
  ])('hears at once that %s, and when to come back', async (_, failing, retryAfterSeconds, detail) => {
    const { acquire, slept } = createPairWorld({ reads: [failing] });
    const problem = { type: 'table-unavailable', retryAfterSeconds, detail: expect.stringMatching(detail) };
    expect(await acquire([REQUEST])).toMatchObject(problem);
    expect(slept).toEqual([]);
  });

  it.each<[string, string, PairWorldOptions]>([
    ['whose looks fail to the end', 'table-unavailable', { reads: [SILENT] }],
    ['whose last look fails', 'table-unavailable', { reads: [LIVE, LIVE, SILENT] }],
    ['whose lease is never confirmed', 'table-unavailable', { onReplace: SILENT }],
    ['that waits for a lease after a failed look', 'token-endpoint-timeout', { reads: [SILENT, LIVE] }],
    [
      'that is overtaken after a failed write',
      'token-endpoint-timeout',
      { onReplace: async (_, { n }) => (n === 1 ? SILENT() : undefined) },
    ],
  ])('%s ends with %s', async (_, type, options) => {
    const { ask, clock } = createPairWorld(options);
    const call = exampleCall({ deadline: START + 2 * SECOND_MS });
    expect([await ask(undefined, call), clock.now]).toEqual([type, START + 2 * SECOND_MS]);
  });

  it.each(['read', 'replace'])('meets a bug of the store, which is not hidden: %s', async (operation) => {
    const bug = new TypeError('not the requested item');
    const call = exampleCall();
    const { acquire } = createPairWorld({ store: { [operation]: () => Promise.reject(bug) } });

    expect(await acquire([RENEW], call)).toBe(bug);
    expect(call.trace.warnings.size).toBe(0);
  });

  it('that was rejected has its own answer, also when no look succeeds any more', async () => {
    const { ask, sent, clock } = createPairWorld({ reads: [{}, SILENT], renewals: [REJECTED] });
    expect([await ask(), sent.length, clock.now]).toEqual(['credential-rejected', 1, START]);
  });
});

it('a renewal that cannot have a lease costs one write and one read of the secret in 15 s, not one per call', async () => {
  let writes = 0;
  const { ask, clock, readStages } = createPairWorld({
    record: { token },
    store: { replace: () => SILENT().finally(() => (writes += 1)) },
  });
  for (let n = 0; n < 60; n += 1) {
    expect(await ask()).toBe(FINGERPRINT);
    clock.now += SECOND_MS;
  }
  expect([writes, readStages.length]).toEqual([60 / 15, 60 / 15]);
});

it('a renewal obeys a flag that another call has seen meanwhile', async () => {
  const world = createPairWorld({
    record: { token },
    onReplace: async (_, { clock }) => {
      clock.now += 1;
      await world.memory.remember(PAIR, async () => ({ record: { ...EMPTY_RECORD, token, disabled }, tag: 'b' }));
      return SILENT();
    },
  });
  expect(await world.ask()).toBe('client-disabled');
});

describe('an outcome whose write fails', () => {
  /** The lease is written, and then so many writes fail. */
  const failingOutcomes =
    (times: number, failing = THROTTLED): NonNullable<PairWorldOptions['onReplace']> =>
    (write, { n, settles }) => {
      expect(settles).toBe(n > 1);
      return n > 1 && n <= 1 + times ? failing() : write();
    };

  it.each([
    [0, 50, THROTTLED],
    [0.999, 99.95, THROTTLED],
    [0, 50, SILENT],
    [0, 50, OPEN],
  ])(
    'is written again from the same record after 50 to 100 ms, without a look (%d)',
    async (random, pauseMs, failing) => {
      const onReplace = failingOutcomes(3, failing);
      const { acquire, tableReads, slept, recordNow } = createPairWorld({ onReplace, random });

      expect(await acquire([REQUEST])).toBe(FINGERPRINT);
      expect([tableReads.length, slept]).toEqual([1, [pauseMs, pauseMs, pauseMs]]);
      expect(recordNow()).toMatchObject({ lease: undefined, token: { fingerprint: FINGERPRINT } });
    },
  );

  it('is looked at again when another write came first, also if that look fails', async () => {
    const { acquire, recordNow } = createPairWorld({
      renewals: [REJECTED],
      reads: [{}, THROTTLED, SILENT, {}],
      onReplace: (write, { n, shared }) => {
        if (n === 2) shared.change(PAIR, (record) => ({ ...record, forcedAt: START }));
        return write();
      },
    });
    await acquire([REQUEST, answer('enough')]);
    expect(recordNow()).toMatchObject({ forcedAt: START, rejected: new Map([['v1', { count: 1 }]]) });
  });

  it('is looked at again past a circuit that is open', async () => {
    const { acquire, shared, recordNow, clock } = createPairWorld({
      renewals: [REJECTED],
      onReplace: (write, { n }) => {
        if (n === 2) shared.change(PAIR, (record) => ({ ...record, forcedAt: START }));
        return write();
      },
      store: { read: (which, terms) => (recordNow().lease && !terms.settles ? OPEN() : shared.read(which, terms)) },
    });
    await acquire([REQUEST, answer('enough')]);
    expect(recordNow()).toMatchObject({ lease: undefined, rejected: new Map([['v1', { count: 1 }]]) });
    expect(clock.now).toBe(START);
  });

  it('brings a rejected caller its own answer at the end of its time', async () => {
    const { acquire, clock, sent } = createPairWorld({ renewals: [REJECTED], onReplace: failingOutcomes(Infinity) });
    const call = exampleCall();

    expect(await acquire([REQUEST], call)).toMatchObject({ type: 'credential-rejected' });
    expect([sent.length, clock.now]).toEqual([1, call.deadline + 200]);
  });

  it('brings its caller the token, and the instance remembers nothing of its own', async () => {
    const { ask, memory, clock } = createPairWorld({ onReplace: failingOutcomes(Infinity) });
    expect(await ask()).toBe(FINGERPRINT);
    clock.now += MINUTE_MS;
    expect(memory.last(PAIR).token).toBeUndefined();
  });
});

describe('a check without the table', () => {
  it('decides on a secret that is no older than itself', async () => {
    let version = 'v1';
    const { acquire, clock } = createPairWorld({
      reads: [{}, SILENT],
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
    const { acquire } = createPairWorld({ reads: [{}, SILENT], renewals: [REJECTED] });
    const decide = ({ record }: View) => (record.rejected.has('v1') ? answer('rejected') : REQUEST);
    expect(await acquire(decide, exampleCall({ stage: 'AWSPENDING' }))).toBe('rejected');
  });

  it('leaves a missing secret to the table, and says nothing of it', async () => {
    const { acquire, memory } = createPairWorld({ reads: [OPEN], secret: () => ({ outcome: 'missing' }) });
    await memory.remember(PAIR, async () => ({ record: { ...EMPTY_RECORD, token }, tag: 'a' }));
    const answered = await acquire([{ kind: 'wait' }], exampleCall({ stage: 'AWSCURRENT' }));
    expect(answered).toMatchObject({ type: 'table-unavailable' });
  });
});
