import { describe, expect, it } from 'vitest';
import type { SecretReading } from '../../../../functions/broker/credential/secret.ts';
import type { Step, View } from '../../../../functions/broker/pair/decision.ts';
import { found, SECRETS_DOWN } from '../../../support/broker-world.ts';
import { HOUR_MS, MINUTE_MS, START } from '../../../support/example.ts';
import { exampleCall, exampleToken, exampleWait, latches } from '../../../support/pair/pair-examples.ts';
import {
  answer,
  createPairWorld,
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
  THROTTLED,
} from './pair-world.ts';

const WAIT: Step<string> = { kind: 'wait' };
/** Waits as long as another call holds the lease. */
const whenFree = ({ leaseIsOver }: View) => (leaseIsOver ? answer('free') : WAIT);
const leaseFor = (ms: number, id = 'another') => ({ lease: { id, until: START + ms } });

describe('a call that waits', () => {
  it.each([
    [0, [25, 50, 100, 200, 250, 250]],
    [0.5, [37.5, 75, 150, 300, 375, 375]],
  ])('looks again after 25 to 50 ms, doubling up to 250 to 500 ms (%d)', async (random, pace) => {
    const { slept, acquire } = createPairWorld({ record: LIVE, random });
    await acquire([WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, answer('token')]);

    expect(slept).toEqual(pace);
  });

  it('is awake soon after the lease ends, and not all at once', async () => {
    const { slept, acquire } = createPairWorld({ record: leaseFor(60), random: 0.9 });

    expect(await acquire(whenFree)).toBe('free');
    expect(slept).toEqual([47.5, 60 - 47.5 + 45]);
  });

  it('sleeps no longer than its call, and hears to come back in a second', async () => {
    const { slept, tableReads, acquire } = createPairWorld({ record: LIVE });
    const problem = { type: 'token-endpoint-timeout', detail: 'No token came in time.', retryAfterSeconds: 1 };

    expect(await acquire([WAIT], exampleCall({ deadline: START + 60 }))).toMatchObject(problem);
    expect(slept).toEqual([25, 35]);
    expect(tableReads).toEqual([START + 60, START + 60]);
  });
});

describe('the lease of another call', () => {
  it.each([
    ['whose time has passed is over', 0, 0],
    ['is over at its time', 4_000, 4_000],
    ['of a fast clock is over when it was watched for its length', LEASE_MS + MINUTE_MS, LEASE_MS],
    ['of a clock that is further ahead than a clock can be off is none', LEASE_MS + MINUTE_MS + 1, 0],
  ])('%s', async (_, lengthMs, endMs) => {
    const { clock, acquire } = createPairWorld({ record: leaseFor(lengthMs) });

    expect(await acquire(whenFree)).toBe('free');
    expect(clock.now - START).toBe(endMs);
  });
});

it('a version is sent only if it was read after the end of the look, not while the look was under way', async () => {
  let version = 'v1';
  let looks = 0;
  const { acquire, clock, shared, versionsSent } = createPairWorld({
    renewals: [FAILED],
    secret: (stage) => found(version, undefined, stage),
    store: {
      async read(which, terms) {
        looks += 1;
        if (looks === 1) {
          await acquire([REQUEST]);
          version = 'v2';
          clock.now += 1;
        }
        return shared.read(which, terms);
      },
    },
  });
  await acquire([REQUEST]);

  expect(versionsSent()).toEqual(['v1', 'v2']);
});

it.each<[string, PairWorldOptions]>([
  ['fails', { renewals: [FAILED] }],
  ['is rejected', { renewals: [REJECTED] }],
  ['gets no secret', { secret: () => SECRETS_DOWN }],
  ['has a version that is held', { record: { held: new Map([['v1:0000000000000000', exampleWait(START + 1)]]) } }],
  ['loses its lease', { store: { replace: async () => undefined } }],
  ['gets no answer from the table', { store: { replace: SILENT } }],
  ['meets a busy table', { store: { replace: THROTTLED } }],
])('a renewal that %s leaves the old token, without another look', async (_, options) => {
  const { tableReads, acquire, sent, slept } = createPairWorld(options);

  expect(await acquire(({ record }) => (record.attemptedAt < START ? RENEW : answer('old token')))).toBe('old token');
  expect([tableReads.length, slept]).toEqual([1, []]);
  expect(sent.length).toBeLessThanOrEqual(1);
});

it('a renewal whose living token has ended meanwhile is followed by another look', async () => {
  const { acquire, tableReads } = createPairWorld({ onReplace: async (write, { n }) => (n > 1 ? write() : undefined) });

  expect(await acquire([RENEW, REQUEST])).toBe(FINGERPRINT);
  expect(tableReads).toHaveLength(2);
});

it.each([
  [undefined, START],
  ['AWSCURRENT', 0],
] as const)(
  'the lease of a call about %s counts as an attempt at %i, and a forced one as forced',
  async (stage, at) => {
    const { acquire, recordNow } = createPairWorld({ renewals: [FAILED] });
    await acquire([{ ...REQUEST, forced: true }], exampleCall({ stage }));
    expect(recordNow()).toMatchObject({ attemptedAt: at, forcedAt: START });
  },
);

it('a token that ended while its instance was frozen is for no caller', async () => {
  const { acquire, recordNow } = createPairWorld({
    onReplace: async (write, { n, clock }) => {
      const written = await write();
      if (n === 2) clock.now += HOUR_MS;
      return written;
    },
  });
  expect(await acquire([REQUEST])).toMatchObject({ type: 'token-endpoint-timeout', retryAfterSeconds: 1 });
  expect(recordNow().token?.fingerprint).toBe(FINGERPRINT);
});

describe('a token request that is rejected', () => {
  it('is followed by another look and another lease, with a secret that was read after it', async () => {
    const call = exampleCall();
    const leases = new Set<string | undefined>();
    const { versionsSent, readStages, acquire, slept } = createPairWorld({
      renewals: [REJECTED, undefined],
      requestMs: 1,
      secret: (stage, n) => found(n <= 1 ? 'v1' : 'v2', undefined, stage),
      onReplace: (write, { next }) => {
        leases.add(next.lease?.id);
        return write();
      },
    });

    expect(await acquire([REQUEST], call)).toBe(FINGERPRINT);
    expect([...call.trace.warnings]).toEqual([]);
    expect(versionsSent()).toEqual(['v1', 'v2']);
    expect([...leases]).toEqual(['lease-1', undefined, 'lease-2']);
    expect(readStages).toEqual(['AWSCURRENT', 'AWSCURRENT']);
    expect(slept).toEqual([]);
  });

  it('has the predecessor sent, and none twice, also with a table that confirms writes and forgets them', async () => {
    const call = exampleCall();
    const { acquire, versionsSent } = createPairWorld({
      requestMs: 5,
      renewals: [REJECTED],
      store: { replace: async (_pair, _seen, record) => ({ record, tag: 'forgotten' }) },
      secret: rotated,
    });

    expect(await acquire([REQUEST], call)).toMatchObject({ type: 'credential-rejected' });
    expect(versionsSent()).toEqual(['v2', 'v1']);
    expect([...call.trace.warnings]).toEqual(['previous-version']);
  });
});

describe('a lease whose write went unanswered', () => {
  it('is found at the next look, and used for the one request that it is for', async () => {
    const { acquire, versionsSent, views, slept, recordNow } = createPairWorld({
      onReplace: async (write, { n }) => {
        const written = await write();
        return n === 1 ? SILENT() : written;
      },
    });

    expect(await acquire(requestWhenFree)).toBe(FINGERPRINT);
    expect([versionsSent(), views.length, slept]).toEqual([['v1'], 1, [25]]);
    expect(recordNow()).toMatchObject({ lease: undefined, token: { fingerprint: FINGERPRINT } });
  });

  it('that is found after its version was sent under another one is left to run out', async () => {
    const { acquire, versionsSent, shared } = createPairWorld({
      renewals: [REJECTED],
      onReplace: async (write, { n }) => {
        if (n === 1) late = write;
        if (n === 1) return SILENT();
        const written = await write();
        // The item is restored after the rejection was written.
        if (n === 3) shared.restore(PAIR, start);
        if (n === 3) await late();
        return written;
      },
    });
    let late: () => Promise<unknown> = SILENT;
    const start = await shared.read(PAIR, exampleCall());

    expect(await acquire([REQUEST, REQUEST, answer('enough')])).toBe('enough');
    expect(versionsSent()).toEqual(['v1']);
  });

  it('that is found with too little time to send in is left to run out, and the call takes another at once', async () => {
    const { acquire, sent, slept, clock } = createPairWorld({
      onReplace: async (write, { n, clock }) => {
        const written = await write();
        if (n > 1) return written;
        clock.now += LEASE_MS - 800;
        return SILENT();
      },
    });

    expect(await acquire(requestWhenFree)).toBe(FINGERPRINT);
    expect(sent).toMatchObject([{ deadline: clock.now + 4_000 }]);
    // It does not wait for the end of a lease of its own.
    expect(slept).toEqual([25, 50]);
  });

  it('is not used once an operator has disabled the client', async () => {
    const { acquire, sent } = createPairWorld({
      onReplace: async (write, { shared }) => {
        await write();
        shared.change(PAIR, (record) => ({ ...record, disabled: { since: START } }));
        return SILENT();
      },
    });

    expect(await acquire(({ record }) => (record.disabled ? answer('stopped') : REQUEST))).toBe('stopped');
    expect(sent).toEqual([]);
  });
});

it.each([
  ['AWSCURRENT', 'AWSCURRENT', ['AWSCURRENT']],
  ['AWSPENDING', 'AWSPENDING', ['AWSPENDING']],
  ['AWSPREVIOUS', 'AWSCURRENT', ['AWSPREVIOUS', 'AWSCURRENT']],
] as const)(
  'a check of %s reads that version, its services from %s, and no predecessor',
  async (stage, servicesFrom, reads) => {
    const { acquire, views, readStages } = createPairWorld({
      record: { rejected: latches({ AWSCURRENT: START }, 3) },
      secret: (one) => found(one, undefined, one),
    });
    await acquire([answer('found')], exampleCall({ stage }));

    const idOf = (reading: SecretReading | undefined) => (reading?.outcome === 'found' ? reading.secret.versionId : '');
    const versions = views[0]?.versions;
    const read = [versions?.stage, idOf(versions?.servicesFrom), versions?.candidates.map(idOf)];
    expect(read).toEqual([stage, servicesFrom, [stage]]);
    expect(readStages).toEqual(reads);
  },
);

it('an answer from the table needs no secret', async () => {
  const record = { forcedAt: START + HOUR_MS, attemptedAt: START, token: exampleToken() };
  const { acquire, readStages, views } = createPairWorld({ record });
  await acquire([answer('token')]);

  expect(readStages).toEqual([]);
  expect(views).toMatchObject([{ cache: 'shared', versions: undefined, record: { forcedAt: 0, attemptedAt: START } }]);
});
