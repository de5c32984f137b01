import { describe, expect, it } from 'vitest';
import { EMPTY_RECORD } from '../../../../functions/broker/pair/record.ts';
import { found } from '../../../support/broker-world.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../../../support/example.ts';
import { closedToken, exampleCall, exampleToken, latches } from '../../../support/pair/pair-examples.ts';
import {
  answer,
  BUSY,
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
  THROTTLED,
} from './pair-world.ts';

describe('a store that is out of reach', () => {
  it('leaves the instance to what it knows, in spite of any lease that it saw before, and warns the operator', async () => {
    const call = exampleCall();
    const { acquire, memory, views, slept } = createPairWorld({ reads: [DOWN] });
    await memory.remember(PAIR, async () => ({ record: { ...EMPTY_RECORD, ...LIVE, forcedAt: START - 1 }, tag: 'a' }));

    expect(await acquire([answer('known')], call)).toBe('known');
    const listing = { outcome: 'found', secret: { versionId: 'v1' } };
    const versions = { name: 'token-broker/test/acme', stage: 'AWSCURRENT', listing };
    expect(views).toMatchObject([{ isAlone: true, leaseIsOver: true, record: { forcedAt: START - 1 }, versions }]);
    expect([slept, [...call.trace.warnings]]).toEqual([[], ['table-unavailable']]);
  });

  it('for two writes of a lease leaves the instance alone for the rest of the call', async () => {
    const { acquire, views, slept, tableReads } = createPairWorld({ store: { replace: SILENT } });

    expect(await acquire([REQUEST])).toBe(FINGERPRINT);
    expect(views.map(({ isAlone }) => isAlone)).toEqual([false, false, true]);
    expect([tableReads.length, slept]).toEqual([2, []]);
  });

  it.each<[string, PairWorldOptions, number, number]>([
    // The lease and the outcome: an instance that is alone writes neither.
    ['that it is busy', { reads: [DOWN, BUSY, BUSY, DOWN, {}] }, 1, 2],
    // The rejection, the lease of the previous version, and its outcome.
    ['to the rejection', { reads: [DOWN, DOWN, {}, DOWN, {}], renewals: [REJECTED, undefined], secret: rotated }, 2, 3],
    ['that another call was faster', { reads: [DOWN, {}, DOWN, LIVE], onReplace: async () => undefined }, 0, 1],
  ])('has a patient look again after it answered %s', async (_, options, requests, writesOfAll) => {
    const { acquire, sent, writes } = createPairWorld(options);
    await acquire(requestWhenFree, exampleCall({ deadline: START + 3 * SECOND_MS }));
    expect([sent.length, writes()]).toEqual([requests, writesOfAll]);
  });

  it.each(['read', 'replace'])('differs from a bug of the store, which is not hidden: %s', async (operation) => {
    const bug = new TypeError('not the requested item');
    const call = exampleCall();
    const { acquire } = createPairWorld({ store: { [operation]: () => Promise.reject(bug) } });

    expect(await acquire([RENEW], call)).toBe(bug);
    expect(call.trace.warnings.size).toBe(0);
  });
});

it('an instance that is alone sends a version three times in a day, as with the table', async () => {
  const { ask, clock, sent } = createPairWorld({ reads: [DOWN], renewals: [REJECTED] });
  for (let n = 0; n < 24 * 12; n += 1) {
    expect(await ask()).toBe('credential-rejected');
    clock.now += 5 * MINUTE_MS;
  }
  expect(sent).toHaveLength(3);
});

it.each([
  ['silent', SILENT],
  ['busy', THROTTLED],
])('a withdrawn token does not come back by an outcome whose write was lost: %s', async (_, lost) => {
  let version = 'v1';
  const { ask, shared, clock } = createPairWorld({
    record: { token: exampleToken({ refreshAt: START }) },
    renewals: [FAILED],
    onReplace: (write, { n }) => (version === 'v1' && n >= 2 ? lost() : write()),
    secret: (stage) => found(version, undefined, stage),
  });
  expect(await ask()).toBe(FINGERPRINT);

  // A check elsewhere withdraws the token, and an operator stores another version.
  version = 'v2';
  clock.now += 2 * MINUTE_MS;
  shared.change(PAIR, (record) => ({ ...record, lease: undefined, token: undefined }));
  expect(await ask()).toBe('token-endpoint-unavailable');
});

it('the token of an instance that was alone does not come back after the table has taken and lost another', async () => {
  const { ask, clock, sent, shared } = createPairWorld({ reads: [DOWN, DOWN, {}] });
  expect(await ask()).toBe(FINGERPRINT);
  clock.now += MINUTE_MS;
  expect(await ask(FINGERPRINT)).toBe(FINGERPRINT);
  shared.change(PAIR, (record) => ({ ...record, token: undefined }));
  clock.now += MINUTE_MS;
  await ask();
  expect(sent).toHaveLength(3);
});

describe('a table that can be read and takes no writes', () => {
  it.each<[string, PairWorldOptions['renewals'], string, string?]>([
    ['a token', undefined, FINGERPRINT],
    ['a token that is refused again', undefined, 'refused-again', FINGERPRINT],
    ['a failure', [FAILED], 'token-endpoint-unavailable'],
    ['a rejection', [REJECTED], 'credential-rejected'],
  ])('costs one token request in all, not one per call, when that brings %s', async (_, renewals, told, refused) => {
    const { ask, sent } = createPairWorld({ ...(renewals && { renewals }), store: { replace: SILENT } });
    const forced = refused === undefined ? 0 : 1;
    await ask();
    if (forced) await ask(refused);
    for (let n = 0; n < 10; n += 1) expect(await ask(refused)).toBe(told);

    expect(sent).toHaveLength(1 + forced);
  });

  it('leaves the instance the token that it requested, while the secret was there a minute ago', async () => {
    let isGone = false;
    const { ask, clock } = createPairWorld({
      store: { replace: SILENT },
      secret: (stage) => (isGone ? { outcome: 'missing' } : found('v1', undefined, stage)),
    });
    await ask();
    isGone = true;
    clock.now += MINUTE_MS;
    expect(await ask()).toBe(FINGERPRINT);
    clock.now += 1;
    expect(await ask()).toBe('credential-missing');
  });

  it('costs a renewal one write and one read of the secret in 15 s, not one per call', async () => {
    let writes = 0;
    const { ask, clock, readStages } = createPairWorld({
      record: { token: exampleToken({ refreshAt: START }) },
      store: { replace: () => SILENT().finally(() => (writes += 1)) },
    });
    for (let n = 0; n < 60; n += 1) {
      expect(await ask()).toBe(FINGERPRINT);
      clock.now += SECOND_MS;
    }
    expect([writes, readStages.length]).toEqual([60 / 15, 60 / 15]);
  });
});

describe('a token that this instance cannot open', () => {
  const noKey = { attemptedAt: START - MINUTE_MS, token: closedToken('no-key', { issuedAt: START - HOUR_MS }) };

  it('is never replaced while it may be in use: the instance requests one for itself, and keeps it', async () => {
    const { ask, recordNow, clock, sent, readStages } = createPairWorld({ record: noKey });

    expect(await ask()).toBe(FINGERPRINT);
    clock.now += 1;
    expect(await ask()).toBe(FINGERPRINT);
    expect([sent.length, readStages.length]).toEqual([1, 1]);
    expect(recordNow()).toEqual({ ...EMPTY_RECORD, ...noKey });
  });

  it('has another version sent under a lease of the table only, and that makes it proven', async () => {
    const token = { ...noKey.token, credentialVersion: 'v0' };
    const { ask, recordNow, clock, sent } = createPairWorld({ record: { ...noKey, token, ...LIVE } });

    expect(await ask()).toBe(FINGERPRINT);
    expect(clock.now).toBeGreaterThanOrEqual(START + LEASE_MS);
    const checked = { version: 'v1', at: clock.now, finding: 'accepted' };
    expect(recordNow()).toMatchObject({ lease: undefined, token, checked });
    expect(await ask()).toBe(FINGERPRINT);
    expect(sent).toHaveLength(1);
  });

  it('has a version that is proven sent without a lease, although another call holds one', async () => {
    const { acquire, clock, sent } = createPairWorld({ record: { ...noKey, ...LIVE } });

    expect(await acquire([REQUEST])).toBe(FINGERPRINT);
    expect([clock.now, sent.length]).toEqual([START, 1]);
  });

  it('does not keep latches, holds, pauses and the operator’s stop of its record from counting', async () => {
    const disabled = { since: START };
    expect(await createPairWorld({ record: { ...noKey, disabled } }).ask()).toBe('client-disabled');
    const latched = { ...noKey, rejected: latches({ v1: START }) };
    expect(await createPairWorld({ record: latched }).ask()).toBe('credential-rejected');
  });
});
