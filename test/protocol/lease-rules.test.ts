import { describe, expect, it } from 'vitest';
import type { PairRecord } from '../../functions/broker/pair/record.ts';
import { cleared } from '../../functions/broker/pair/transitions.ts';
import { Problem } from '../../functions/broker/problem.ts';
import type { TokenExchange } from '../../functions/broker/token-request/token-request.ts';
import { exchange, ISSUE_REQUEST } from '../support/broker-world.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../support/example.ts';
import { fleetOf } from '../support/fleet/fleet.ts';
import { oldToken } from '../support/pair/pair-examples.ts';

/**
 * What conditions of the protocol are for, as the failures that they prevent in a fleet. What a store does by itself stands in
 * the contract of the pair table, what one instance does and decides at which millisecond in the unit tests of the pair; the
 * conditions that only matter when steps cross stand in lease-protocol.
 */

const LEASE_MS = 6 * SECOND_MS;
const TOKEN = oldToken();
const PUBLISHED = { token: TOKEN };
const DOWN = () => new Problem('token-endpoint-unavailable', 'down');

type FleetChanges = NonNullable<Parameters<typeof fleetOf>[1]>;

/** Two instances on a shared record that differs from the empty one. */
function fleetWith(record: Partial<PairRecord>, changes: FleetChanges = {}) {
  const fleet = fleetOf(2, changes);
  fleet.shared.change(ISSUE_REQUEST.pair, (empty) => ({ ...empty, ...record }));
  return fleet;
}

it('the lease is another one for each attempt: one call that sends two versions is waited for twice', async () => {
  const stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
  const { requests, askAll } = fleetWith({}, { stages, accepted: new Set(['v1']), serviceLatencyMs: 3_900 });
  const answers = await askAll();

  expect(requests.map(({ version }) => version)).toEqual(['v2', 'v1']);
  expect(new Set(answers.map(({ issue }) => issue?.token.fingerprint)).size).toBe(1);
});

it('a refused token is not replaced for a caller that refuses another at the same time', async () => {
  const { clock, instances } = fleetWith(PUBLISHED);
  const issue = instances[0]?.issue ?? expect.fail();
  const refused = [TOKEN.fingerprint, 'another-token-00'];
  const issues = await clock.run(Promise.all(refused.map((one) => issue({ refused: one }))));

  expect(issues.map(({ token }) => token.fingerprint)).toEqual(['token-1000000000', TOKEN.fingerprint]);
});

it('the secret is read after the look: one that was read before this call began is read again', async () => {
  const { clock, surroundings, requests, askOne } = fleetWith({}, { lifetimeSeconds: 60 });
  await askOne();
  Object.assign(surroundings, { stages: { AWSCURRENT: 'v2' }, accepted: new Set(['v2']) });
  await clock.advance(MINUTE_MS);
  await askOne();

  expect(requests.map(({ version }) => version)).toEqual(['v1', 'v2']);
});

it('a check that finds the secret gone takes the token only when no lease lives: its holder may be about to publish', async () => {
  const record = { ...PUBLISHED, lease: { id: 'live', until: START + LEASE_MS } };
  const { clock, recordNow, instances } = fleetWith(record, { secret: () => ({ outcome: 'deleted' }) });
  const check = instances[0]?.check() ?? expect.fail();
  await clock.advance(LEASE_MS - SECOND_MS);
  expect(recordNow().token).toBeDefined();

  expect(await clock.run(check)).toMatchObject({ finding: 'secret-missing' });
  expect(clock.now() - START).toBeGreaterThanOrEqual(LEASE_MS);
  expect(recordNow()).toMatchObject({ token: undefined, lease: undefined });
});

describe('a late holder that finds the lease of another', () => {
  it.each<[string, TokenExchange | Problem | undefined, object]>([
    ['publishes nothing', undefined, { issue: { token: { fingerprint: 'token-1000000000' } } }],
    ['pauses no other', DOWN(), { problem: { type: 'token-endpoint-unavailable' } }],
    ['holds no version', exchange(404, {}), { problem: { type: 'token-endpoint-error' } }],
  ])('%s', async (_what, answer, outcome) => {
    const { recordNow, askOne } = overtaken({ answer: () => answer });

    expect(await askOne()).toMatchObject(outcome);
    expect(recordNow()).toMatchObject({ ...NEXT, pause: undefined, held: new Map() });
  });

  it('counts its rejection all the same, and leaves that lease alone', async () => {
    const { recordNow, askOne } = overtaken({ accepted: new Set() });
    await askOne();

    expect(recordNow()).toMatchObject({ ...NEXT, rejected: new Map([['v1', { count: 1, by: 'call-1' }]]) });
  });

  const NEXT = { lease: { id: 'next', until: START + LEASE_MS }, token: TOKEN };

  /** Another call takes the lease before the first outcome is written. */
  function overtaken(changes: FleetChanges) {
    const fleet = fleetWith({}, changes);
    const { shared } = fleet;
    const { replace } = shared;
    shared.replace = (which, seen, next, deadline) => {
      if (seen.record.lease?.id === 'call-1') shared.change(which, (record) => ({ ...record, ...NEXT }));
      if (seen.record.lease?.id === 'call-1') shared.replace = replace;
      return replace(which, seen, next, deadline);
    };
    return fleet;
  }
});

describe('freshness', () => {
  it('is checked once more when a refresh has used up what the token had left', async () => {
    const token = { ...TOKEN, expiresAt: START + 32 * SECOND_MS, refreshAt: START, lifetimeSeenMs: HOUR_MS };
    const { askOne } = fleetWith({ token }, { serviceLatencyMs: 3 * SECOND_MS, answer: DOWN });

    expect((await askOne({ minTtlMs: HOUR_MS })).problem?.type).toBe('token-endpoint-unavailable');
  });

  it('is checked once more for the own token, which may have lapsed while its holder was frozen', async () => {
    const { clock, shared, askOne } = fleetWith({}, { lifetimeSeconds: 60 });
    const { replace } = shared;
    shared.replace = async (which, seen, next, deadline) => {
      const written = await replace(which, seen, next, deadline);
      if (next.token !== undefined) await clock.sleep(MINUTE_MS);
      return written;
    };

    expect((await askOne()).problem?.type).toBe('token-endpoint-timeout');
  });
});

it.each(['unavailable', 'answer-lost'] as const)(
  'memory keeps nothing that was decided without the table: %s',
  async (fault) => {
    const { shared, surroundings, askOne } = fleetWith({}, { storeFault: () => fault });
    expect((await askOne()).issue?.cache).toBe('none');
    surroundings.storeFault = undefined;
    shared.change(ISSUE_REQUEST.pair, (record) => ({ ...record, disabled: { since: START } }));

    expect((await askOne()).problem?.type).toBe('client-disabled');
  },
);

it('a trial publishes nothing, and its silence stops no caller', async () => {
  const { surroundings, recordNow, instances, clock, askOne } = fleetWith(
    {},
    { stages: { AWSCURRENT: 'v1', AWSPENDING: 'v2' } },
  );
  const trial = async () => clock.run(instances[1]?.check({ stage: 'AWSPENDING' }) ?? expect.fail());
  expect(await trial()).toMatchObject({ finding: 'accepted', version: 'v2' });
  expect(recordNow().token).toBeUndefined();

  await clock.advance(MINUTE_MS);
  surroundings.answer = () => exchange(429, {}, { 'retry-after': '300' });
  expect(await trial()).toMatchObject({ finding: 'throttled' });
  surroundings.answer = undefined;
  expect((await askOne()).issue?.token.credentialVersion).toBe('v1');
});

it.each([
  [3, 'a version that is not proven', 'v0'],
  [4, 'a proven version, because its renewal did not wait for one of the answers', 'v1'],
])('a service that rejects after 1.5 s is sent %i requests with %s', async (count, _, credentialVersion) => {
  // It lives, and is due for its renewal, longer than the story lasts.
  const token = { ...TOKEN, credentialVersion, refreshAt: START, expiresAt: START + 48 * HOUR_MS };
  const { clock, requests, recordNow, askOne } = fleetWith({ token }, { accepted: new Set(), serviceLatencyMs: 1_500 });
  while (clock.now() < START + 24 * HOUR_MS) {
    expect((await askOne()).issue?.token).toBe(token);
    await clock.advance(10 * SECOND_MS);
  }
  expect([requests.length, recordNow().rejected.get('v1')?.count]).toEqual([count, 3]);
});

it('a latched pair has its secret read once in 5 s, not twice for each call', async () => {
  const { clock, counts, requests, askOne } = fleetWith({}, { accepted: new Set() });
  await askOne();
  counts.secretReads = 0;
  for (let second = 0; second < 60; second += 1) {
    expect((await askOne()).problem?.type).toBe('credential-rejected');
    await clock.advance(SECOND_MS);
  }
  expect(requests).toHaveLength(1);
  // The missing AWSPREVIOUS is read again. AWSCURRENT is trusted for 300 s.
  expect(counts.secretReads).toBeLessThanOrEqual(12);
});

it('an instance whose writes fail issues its own token for at most 60 s after the secret was deleted', async () => {
  const { clock, surroundings, askOne } = fleetWith(
    {},
    { storeFault: (op) => (op === 'replace' ? 'unavailable' : undefined) },
  );
  await askOne();
  surroundings.secret = () => ({ outcome: 'deleted' });
  const deletedAt = clock.now();
  let lastIssuedAt = 0;
  for (; clock.now() < deletedAt + HOUR_MS; await clock.advance(SECOND_MS)) {
    const { issue, at } = await askOne();
    if (issue !== undefined) lastIssuedAt = at;
  }
  expect(lastIssuedAt - deletedAt).toBeLessThanOrEqual(MINUTE_MS);
  expect(lastIssuedAt - deletedAt).toBeGreaterThan(0);
});

it('a caller watches a lease on its own clock: a holder whose clock is 30 s ahead, and that dies, costs its lease', async () => {
  const { clock, createInstance, askOne } = fleetOf(1);
  const holder = createInstance({ skewMs: 30 * SECOND_MS });
  void holder.issue();
  await clock.advance(50);
  holder.kill();
  const { issue, waitMs } = await askOne();

  expect(issue).toBeDefined();
  expect(waitMs).toBeGreaterThan(LEASE_MS - SECOND_MS);
  expect(waitMs).toBeLessThan(LEASE_MS + SECOND_MS);
});

it('what a call has sent counts as latched for it, also when an operator retries before its next look', async () => {
  const { shared, surroundings, requests, askOne, instances } = fleetWith({}, { accepted: new Set() });
  const { replace } = shared;
  shared.replace = async (which, seen, next, deadline) => {
    const written = await replace(which, seen, next, deadline);
    if (next.rejected.size > 0) {
      shared.change(which, cleared);
      surroundings.accepted = new Set(['v1']);
    }
    return written;
  };
  const { problem, waitMs } = await askOne();
  expect([problem?.type, waitMs < SECOND_MS]).toEqual(['credential-rejected', true]);

  const next = await askOne({}, instances[1]);
  expect([next.issue?.cache, next.waitMs < SECOND_MS, requests.length]).toEqual(['none', true, 2]);
});
