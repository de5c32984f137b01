import { describe, expect, it } from 'vitest';
import type { SecretReading } from '../../../../functions/broker/credential/secret.ts';
import type { Step, View } from '../../../../functions/broker/pair/decision.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import type { SecretStage } from '../../../../functions/contract.ts';
import { found, SECRETS_DOWN } from '../../../support/broker-world.ts';
import { MINUTE_MS, START } from '../../../support/example.ts';
import { exampleCall } from '../../../support/pair/pair-examples.ts';
import {
  answer,
  createPairWorld,
  DOWN,
  FAILED,
  FINGERPRINT,
  LEASE_MS,
  LIVE,
  PAIR,
  type PairWorldOptions,
  REJECTED,
  RENEW,
  REQUEST,
  requestWhenFree,
  rotated,
  SILENT,
} from '../../../support/pair/pair-world.ts';

const WAIT: Step<string> = { kind: 'wait' };
/** Waits as long as another call holds the lease. */
const whenFree = ({ leaseIsOver }: View) => (leaseIsOver ? answer('free') : WAIT);

describe('a call that waits', () => {
  it.each([
    [0, [25, 50, 100, 200, 250, 250]],
    [0.5, [37.5, 75, 150, 300, 375, 375]],
  ])('looks again after 25 to 50 ms, doubling up to 250 to 500 ms (%d)', async (random, pace) => {
    const { slept, acquire } = createPairWorld({ reads: [LIVE], random });
    await acquire([WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, answer('token')]);

    expect(slept).toEqual(pace);
  });

  it('is awake soon after the lease ends, and not all at once', async () => {
    const { slept, acquire } = createPairWorld({ reads: [{ ...LIVE, leaseUntil: START + 60 }], random: 0.9 });

    expect(await acquire(whenFree)).toBe('free');
    expect(slept).toEqual([47.5, 60 - 47.5 + 45]);
  });

  it('sleeps no longer than its call, and is told to come back in a second', async () => {
    const { slept, tableReads, acquire } = createPairWorld({ reads: [LIVE] });
    const problem = { type: 'token-endpoint-timeout', detail: 'No token came in time.', retryAfterSeconds: 1 };

    expect(await acquire([WAIT], exampleCall({ deadline: START + 60 }))).toMatchObject(problem);
    expect(slept).toEqual([25, 35]);
    expect(tableReads).toEqual([START + 60, START + 60]);
  });
});

describe('the lease of another call', () => {
  it.each<[string, Partial<PairRecord>, number]>([
    ['that is mine counts as ended for me', { ...LIVE, leaseOwner: 'me' }, 0],
    ['whose time has passed has ended', { ...LIVE, leaseUntil: START }, 0],
    ['ends at its time', { ...LIVE, leaseUntil: START + 4_000 }, 4_000],
    ['of a fast clock ends when it was watched for its length', { ...LIVE, leaseUntil: START + 600_000 }, LEASE_MS],
  ])('%s', async (_, record, endMs) => {
    const { clock, views, acquire } = createPairWorld({ record });

    expect(await acquire(whenFree)).toBe('free');
    expect(clock.now - START).toBe(endMs);
    expect(views.at(-1)).toMatchObject({ observedExpired: endMs === LEASE_MS, isAlone: false });
    expect(views.slice(0, -1).some(({ observedExpired }) => observedExpired)).toBe(false);
  });

  it('that follows one which was watched is watched from its own beginning', async () => {
    const ahead = { ...LIVE, leaseUntil: START + 600_000 };
    const { clock, acquire } = createPairWorld({ reads: [ahead, ahead, { ...ahead, fence: 5 }] });

    expect(await acquire(whenFree)).toBe('free');
    expect(clock.now - START).toBe(75 + LEASE_MS);
  });

  it.each<[string, NonNullable<PairWorldOptions['reads']>, number, boolean[]]>([
    ['alive is waited for', [{ ...LIVE, leaseUntil: START + 4_000 }, DOWN], 4_000, [false, true]],
    ['to end is waited for no longer', [LIVE, { fence: 4 }, DOWN], 25, [false, false, true]],
  ])('that was seen %s while the store is silent, then the environment is alone', async (_, reads, waitMs, alone) => {
    const { clock, views, acquire } = createPairWorld({ reads, store: { acquire: SILENT } });

    expect(await acquire(requestWhenFree)).toBe(FINGERPRINT);
    expect(clock.now - START).toBe(waitMs);
    expect(views.map(({ isAlone }) => isAlone)).toEqual(alone);
  });
});

it('a lost lease costs another look in the pace of those who wait, and asks for no newer secret', async () => {
  const { slept, readStages, acquire } = createPairWorld({ store: { acquire: async () => undefined } });

  expect(await acquire([REQUEST, REQUEST, REQUEST, answer('token')])).toBe('token');
  expect(slept).toEqual([25, 50, 100]);
  expect(readStages).toEqual(['AWSCURRENT']);
});

describe('a renewal', () => {
  it.each<[string, PairWorldOptions]>([
    ['fails', { renewals: [FAILED] }],
    ['is rejected', { renewals: [REJECTED] }],
    ['gets no secret', { secret: () => SECRETS_DOWN }],
    ['gets no lease', { store: { acquire: SILENT } }],
  ])('that %s leaves the old token, without another look', async (_, options) => {
    const { tableReads, acquire, sent } = createPairWorld(options);

    expect(await acquire(({ mayRenew }) => (mayRenew ? RENEW : answer('old token')))).toBe('old token');
    expect(tableReads).toHaveLength(1);
    expect(sent.length).toBeLessThanOrEqual(1);
  });

  it('that was rejected when the old token had no time left looks again, and does not try again', async () => {
    const { tableReads, views, acquire } = createPairWorld({ renewals: [REJECTED] });

    expect(await acquire([RENEW, RENEW, WAIT, answer('another')])).toBe('another');
    expect(tableReads).toHaveLength(2);
    expect(views.map(({ mayRenew }) => mayRenew)).toEqual([true, true, false, false]);
  });
});

describe('a token request', () => {
  it('that is rejected is followed by another look, with a secret that was read after it', async () => {
    const { versionsSent, readStages, acquire, slept, clock } = createPairWorld({
      renewals: [REJECTED, undefined],
      onRequest: () => {
        clock.now += 1;
      },
      secret: (stage, n) => found(n <= 1 ? 'v1' : 'v2', undefined, stage),
    });

    expect(await acquire([REQUEST])).toBe(FINGERPRINT);
    expect(versionsSent()).toEqual(['v1', 'v2']);
    expect(readStages).toEqual(['AWSCURRENT', 'AWSCURRENT']);
    expect(slept).toEqual([]);
  });

  it('that is rejected has the predecessor sent when there is no newer version, and a warning', async () => {
    const call = exampleCall();
    const { versionsSent, acquire } = createPairWorld({ renewals: [REJECTED, undefined], secret: rotated });

    expect(await acquire([REQUEST], call)).toBe(FINGERPRINT);
    expect(versionsSent()).toEqual(['v2', 'v1']);
    expect([...call.trace.warnings]).toEqual(['previous-version']);
  });
});

it('what was read from the table needs no secret, and is trusted for a minute from the start of the read', async () => {
  const { clock, memory, acquire, readStages } = createPairWorld({
    store: {
      read: async () => {
        clock.now += 5;
        return { ...EMPTY_RECORD, fence: 7, forcedAt: START + MINUTE_MS };
      },
    },
  });
  await acquire([answer('token')]);

  expect(readStages).toEqual([]);
  clock.now = START + MINUTE_MS - 1;
  expect(memory.trusted(PAIR)).toMatchObject({ fence: 7, forcedAt: START + 5 });
  clock.now += 1;
  expect(memory.trusted(PAIR)).toBeUndefined();
});

it.each([
  ['AWSCURRENT', 'AWSCURRENT', ['AWSCURRENT']],
  ['AWSPENDING', 'AWSPENDING', ['AWSPENDING']],
  ['AWSPREVIOUS', 'AWSCURRENT', ['AWSPREVIOUS', 'AWSCURRENT']],
] as const)(
  'a check of %s reads that version, its services from %s, and no predecessor',
  async (stage, listing, reads) => {
    const { acquire, views, readStages } = createPairWorld({
      record: { rejected: new Map([['AWSCURRENT', { count: 3, at: START, fence: 1 }]]) },
      secret: (one) => found(one, undefined, one),
    });
    await acquire([answer('found')], exampleCall({ stage }));

    const idOf = (reading: SecretReading | undefined) => (reading?.outcome === 'found' ? reading.secret.versionId : '');
    const versions = views[0]?.versions;
    const read = [versions?.stage, idOf(versions?.listing), versions?.candidates.map(idOf)];
    expect(read).toEqual([stage, listing, [stage]]);
    expect(readStages).toEqual(reads);
  },
);

describe('latches are forgotten', () => {
  const OLD = START - 60 * MINUTE_MS - 1;
  const IDS = { AWSCURRENT: 'v1', AWSPREVIOUS: 'v4', AWSPENDING: 'v5' };
  const many = { v3: OLD, v4: OLD, v5: OLD, gone: OLD };
  const told = (stage: SecretStage) => found(IDS[stage], undefined, stage);
  const unlessPending = (reading: SecretReading) => (stage: SecretStage) =>
    stage === 'AWSPENDING' ? reading : told(stage);
  const stale = { ...told('AWSPENDING'), isStale: true } as const;
  const onlyCurrent = (stage: SecretStage): SecretReading =>
    stage === 'AWSCURRENT' ? found('v1') : { outcome: 'missing' };

  it.each<[string, Record<string, number>, NonNullable<PairWorldOptions['secret']>, string[]]>([
    ['when they are of versions without a stage, older than an hour', many, told, ['v4', 'v5', 'v1']],
    ['also when there is nothing with a stage', many, onlyCurrent, ['v1']],
    ['not in their first hour', { ...many, gone: OLD + 1 }, told, ['v4', 'v5', 'gone', 'v1']],
    ['not as long as there are three', { v3: OLD, v4: OLD, gone: OLD }, told, ['v3', 'v4', 'gone', 'v1']],
    ['not while Secrets Manager is down', many, unlessPending(SECRETS_DOWN), [...Object.keys(many), 'v1']],
    ['not when one stage is stale', many, unlessPending(stale), [...Object.keys(many), 'v1']],
    ['not when one stage is binary', many, unlessPending({ outcome: 'binary' }), [...Object.keys(many), 'v1']],
  ])('%s', async (_, rejected, secret, kept) => {
    const latches = Object.entries(rejected).map(([version, at]) => [version, { count: 1, at, fence: 1 }] as const);
    const record = { rejected: new Map(latches) };
    const { acquire, recordNow } = createPairWorld({ record, renewals: [REJECTED], secret });
    await acquire([REQUEST, REQUEST, answer('enough')]);

    expect([...recordNow().rejected.keys()]).toEqual(kept);
  });
});
