import { describe, expect, it } from 'vitest';
import { holdKey, type PairRecord } from '../../functions/broker/pair/record.ts';
import { Problem } from '../../functions/broker/problem.ts';
import type { TokenExchange } from '../../functions/broker/token-request/token-request.ts';
import { exchange, ISSUE_REQUEST, SETTINGS_DIGEST } from '../support/broker-world.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../support/example.ts';
import { fleetOf } from '../support/fleet/fleet.ts';
import { exampleWait, oldToken } from '../support/pair/pair-examples.ts';

/**
 * The ten rules of the shared cache, each as the failure that it prevents in a fleet. What a store does by itself stands in
 * the contract of the pair table, what is decided at which millisecond in the tests of decision and record.
 */

const LEASE_MS = 6 * SECOND_MS;
const TOKEN = oldToken();
const PUBLISHED = { fence: 1, token: TOKEN };
const REFUSED = { refused: TOKEN.fingerprint };
const FREE = { leaseOwner: undefined, leaseUntil: 0 };
const DOWN = () => new Problem('token-endpoint-unavailable', 'down');

type FleetChanges = NonNullable<Parameters<typeof fleetOf>[1]>;

/** Two environments on a shared record that differs from the empty one. */
function fleetWith(record: Partial<PairRecord>, changes: FleetChanges = {}) {
  const fleet = fleetOf(2, changes);
  fleet.shared.change(ISSUE_REQUEST.pair, (empty) => ({ ...empty, ...record }));
  return fleet;
}

describe('rule 1, taking the lease', () => {
  it('needs the fence that I read: a call that looked before another’s lease takes none after it', async () => {
    const { clock, shared, recordNow, askAll } = fleetWith({});
    const { acquire } = shared;
    shared.acquire = async (which, acquisition, deadline) => {
      if (acquisition.owner === 'call-2') await clock.sleep(SECOND_MS);
      return acquire(which, acquisition, deadline);
    };
    await askAll();

    expect(recordNow().fence).toBe(1);
  });

  it('for a refused token says when, so that half a minute passes until the next', async () => {
    const { requests, instances, askOne } = fleetWith(PUBLISHED);
    const { issue } = await askOne(REFUSED);

    expect((await askOne({ refused: issue?.token.fingerprint }, instances[1])).problem?.type).toBe('refused-again');
    expect(requests).toHaveLength(1);
  });

  it('works for a lease that I have watched for its whole length, however far ahead the clock is that wrote it', async () => {
    const { requests, askOne } = fleetWith({ fence: 4, leaseOwner: 'dead', leaseUntil: START + 10 * HOUR_MS });

    expect((await askOne()).waitMs).toBeLessThan(LEASE_MS + SECOND_MS);
    expect(requests).toHaveLength(1);
  });
});

it('rule 2, after a lost lease, reads again and decides anew whether the refused token is still the current one', async () => {
  const { requests, counts, askAll } = fleetWith(PUBLISHED);
  const answers = await askAll(REFUSED);

  expect([counts.storeCalls.acquire, requests.length]).toEqual([2, 1]);
  expect(answers.map(({ issue }) => issue?.token.fingerprint)).toEqual(['token-1000000000', 'token-1000000000']);
});

describe('a refused token', () => {
  it('is compared with the shared record, not with the token that this environment remembers', async () => {
    const { clock, instances, askOne } = fleetWith(PUBLISHED);
    await askOne();
    const second = (await askOne(REFUSED, instances[1])).issue?.token.fingerprint;
    await clock.advance(31 * SECOND_MS);
    const third = (await askOne({ refused: second })).issue?.token.fingerprint;

    expect([second, third]).toEqual(['token-1000000000', 'token-2000000000']);
  });

  it('is not replaced for a caller that refuses another at the same time', async () => {
    const { clock, instances } = fleetWith(PUBLISHED);
    const issue = instances[0]?.issue ?? expect.fail();
    const issues = await clock.run(Promise.all([issue(REFUSED), issue({ refused: 'another-token-00' })]));

    expect(issues.map(({ token }) => token.fingerprint)).toEqual(['token-1000000000', TOKEN.fingerprint]);
  });
});

describe('rule 3, under the lease', () => {
  it('a credential that was read before this call began is read again', async () => {
    const { clock, surroundings, requests, askOne } = fleetWith({}, { lifetimeSeconds: 60 });
    await askOne();
    Object.assign(surroundings, { stages: { AWSCURRENT: 'v2' }, accepted: new Set(['v2']) });
    await clock.advance(MINUTE_MS);
    await askOne();

    expect(requests.map(({ version }) => version)).toEqual(['v1', 'v2']);
  });

  const wait = exampleWait(START + MINUTE_MS);
  it.each<[string, Partial<PairRecord>, string]>([
    // A late holder's rejection: it counts with any fence and does not change the fence.
    ['a latch', { rejected: new Map([['v1', { count: 1, at: START, fence: 3 }]]) }, 'credential-rejected'],
    ['a pause', { pause: wait }, 'token-endpoint-unavailable'],
    ['a hold', { held: new Map([[holdKey('v1', SETTINGS_DIGEST), wait]]) }, 'token-endpoint-unavailable'],
  ])('%s that was recorded since I looked keeps the version from being sent', async (_, recorded, type) => {
    const { shared, requests, recordNow, askOne } = fleetWith({ fence: 4 });
    const { acquire } = shared;
    shared.acquire = (which, acquisition, deadline) => {
      shared.change(which, (record) => ({ ...record, ...recorded }));
      return acquire(which, acquisition, deadline);
    };

    expect((await askOne()).problem?.type).toBe(type);
    expect([requests, recordNow()]).toMatchObject([[], FREE]);
  });
});

it('rule 4, the token request with what belongs to it ends half a second before the lease', async () => {
  const { clock, recordNow, askOne, surroundings } = fleetWith({}, { lifetimeSeconds: 60 });
  await askOne();
  await clock.advance(MINUTE_MS);
  Object.assign(surroundings, { secretsLatencyMs: 3 * SECOND_MS, serviceLatencyMs: HOUR_MS });
  expect((await askOne()).problem?.type).toBe('token-endpoint-timeout');

  const leaseEnd = recordNow().attemptedAt + LEASE_MS;
  expect(clock.now()).toBeLessThanOrEqual(leaseEnd - 500);
  expect(clock.now()).toBeGreaterThan(leaseEnd - SECOND_MS);
});

describe.each([
  ['under the next fence', 1],
  ['under the same fence of a table that was lost', 0],
])('rule 5, a late holder that finds the lease of another %s', (_, more) => {
  it.each<[string, TokenExchange | Problem | undefined, object]>([
    ['publishes nothing', undefined, { issue: { token: { fingerprint: 'token-1000000000' } } }],
    ['pauses no other', DOWN(), { problem: { type: 'token-endpoint-unavailable' } }],
    ['holds no version', exchange(404, {}), { problem: { type: 'token-endpoint-error' } }],
  ])('%s', async (_what, answer, outcome) => {
    const { shared, recordNow, askOne } = fleetWith({ fence: 4 }, { answer: () => answer });
    const next = { leaseOwner: 'next', leaseUntil: START + LEASE_MS, token: TOKEN };
    const { end } = shared;
    shared.end = async (which, lease, ending, deadline) => {
      shared.change(which, (record) => ({ ...record, ...next, fence: record.fence + more }));
      return end(which, lease, ending, deadline);
    };

    expect(await askOne()).toMatchObject(outcome);
    expect(recordNow()).toMatchObject({ ...next, pause: undefined, held: new Map() });
  });
});

it('rule 6, latches are never forgotten by publishing: a pending version stays latched while the current one serves', async () => {
  const latch = { count: 3, at: START - 2 * HOUR_MS, fence: 1 };
  const rejected = new Map(['gone-1', 'gone-2', 'gone-3', 'pending'].map((version) => [version, latch]));
  const { recordNow, askOne } = fleetWith({ fence: 4, rejected });
  expect((await askOne()).issue).toBeDefined();

  expect(recordNow().rejected).toEqual(rejected);
});

it('rule 7, freshness is checked once more when a refresh has used up what the token had left', async () => {
  const token = { ...TOKEN, expiresAt: START + 32 * SECOND_MS, refreshAt: START, lifetimeSeenMs: HOUR_MS };
  const { askOne } = fleetWith({ fence: 1, token }, { serviceLatencyMs: 3 * SECOND_MS, answer: DOWN });

  expect((await askOne({ minTtlMs: HOUR_MS })).problem?.type).toBe('token-endpoint-unavailable');
});

describe('rule 8', () => {
  it.each([
    ['ten minutes', 10 * MINUTE_MS],
    ['a thousand hours', 1_000 * HOUR_MS],
  ])('times of a clock that is ahead by %s hold no caller up for longer than ten minutes', async (_, aheadMs) => {
    const at = START + aheadMs;
    const lease = { leaseOwner: 'dead', leaseUntil: at + LEASE_MS };
    const pause = exampleWait(at + 15 * SECOND_MS);
    const { clock, askOne } = fleetWith({ token: TOKEN, pause, forcedAt: at, attemptedAt: at, ...lease });
    await clock.advance(10 * MINUTE_MS + 30 * SECOND_MS);

    expect((await askOne(REFUSED)).issue?.cache).toBe('none');
  });

  const rejectedTwice = { fence: 2, rejected: new Map([['v1', { count: 2, at: START - 3 * HOUR_MS, fence: 1 }]]) };

  it.each<[string, Partial<PairRecord>, FleetChanges['storeFault'], number[]]>([
    ['can be read: 15 minutes', rejectedTwice, (call) => (call === 'read' ? undefined : 'unavailable'), [1, 1, 2]],
    ['cannot: 15 minutes, then 2 hours, then for good', {}, () => 'unavailable', [1, 1, 2, 2, 3, 3]],
  ])('a latch made while the store is down lasts, where its record %s', async (_, record, storeFault, sent) => {
    const { clock, requests, askOne } = fleetWith(record, { accepted: new Set(), storeFault });
    const counts: number[] = [];
    for (const minutes of [0, 14, 2, 118, 3, 600].slice(0, sent.length)) {
      await clock.advance(minutes * MINUTE_MS);
      expect((await askOne()).problem?.type).toBe('credential-rejected');
      counts.push(requests.length);
    }
    expect(counts).toEqual(sent);
  });
});

it('rule 9, waiting goes on until a lease that was seen has ended, although the store cannot be read meanwhile', async () => {
  const { clock, requests, instances, surroundings } = fleetWith({}, { serviceLatencyMs: 2 * SECOND_MS });
  const [holder, waiter] = instances.map(({ issue }) => issue);
  const issues = [holder?.()];
  await clock.advance(100);
  issues.push(waiter?.());
  await clock.advance(100);
  surroundings.storeFault = (operation) => (operation === 'read' ? 'unavailable' : undefined);
  await clock.advance(1_500);
  surroundings.storeFault = undefined;
  const [first, second] = await clock.run(Promise.all(issues));

  expect(requests).toHaveLength(1);
  expect(second?.token.fingerprint).toBe(first?.token.fingerprint);
});

it('rule 10, a refused token is never issued during a pause: its caller gets the problem, or another that lives', async () => {
  const pause = exampleWait(START + MINUTE_MS, 'token-endpoint-timeout');
  const { requests, askOne } = fleetWith({ token: TOKEN, pause });

  expect((await askOne(REFUSED)).problem).toMatchObject({ type: 'token-endpoint-timeout', retryAfterSeconds: 60 });
  expect((await askOne({ refused: 'another-token-00' })).issue?.token.fingerprint).toBe(TOKEN.fingerprint);
  expect(requests).toHaveLength(0);
});
