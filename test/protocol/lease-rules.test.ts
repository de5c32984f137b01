import { describe, expect, it } from 'vitest';
import { holdKey, type PairRecord } from '../../functions/broker/pair/record.ts';
import { Problem } from '../../functions/broker/problem.ts';
import type { TokenExchange } from '../../functions/broker/token-request/token-request.ts';
import { exchange, ISSUE_REQUEST, SETTINGS_DIGEST } from '../support/broker-world.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../support/example.ts';
import { ask, fleetOf } from '../support/fleet/fleet.ts';
import { exampleWait, oldToken } from '../support/pair/pair-examples.ts';

/**
 * What each condition of the protocol is for, as the failure that it prevents in a fleet. What a store does by itself stands in
 * the contract of the pair table, what is decided at which millisecond in the tests of decision and record; the conditions
 * that only matter when steps cross stand in lease-protocol.
 */

const LEASE_MS = 6 * SECOND_MS;
const TOKEN = oldToken();
const PUBLISHED = { token: TOKEN };
const REFUSED = { refused: TOKEN.fingerprint };
const DOWN = () => new Problem('token-endpoint-unavailable', 'down');

type FleetChanges = NonNullable<Parameters<typeof fleetOf>[1]>;

/** Two instances on a shared record that differs from the empty one. */
function fleetWith(record: Partial<PairRecord>, changes: FleetChanges = {}) {
  const fleet = fleetOf(2, changes);
  fleet.shared.change(ISSUE_REQUEST.pair, (empty) => ({ ...empty, ...record }));
  return fleet;
}

describe('the lease', () => {
  it('is taken of the record that was looked at: a call that is slow to take it takes none after another', async () => {
    const { clock, shared, requests, askAll } = fleetWith({});
    const { replace } = shared;
    const leases: unknown[] = [];
    shared.replace = async (which, seen, next, deadline) => {
      if (next.lease?.id === 'call-2') await clock.sleep(SECOND_MS);
      const written = await replace(which, seen, next, deadline);
      if (next.lease !== undefined) leases.push(written?.record.lease?.id);
      return written;
    };
    await askAll();

    expect(leases).toEqual(['call-1', undefined]);
    expect(requests).toHaveLength(1);
  });

  it('is over when it was watched for its whole length, also by a clock behind the one that wrote its end', async () => {
    const ahead = { lease: { id: 'dead', until: START + 2 * LEASE_MS + 50 * SECOND_MS } };
    const { requests, askOne } = fleetWith(ahead);

    expect((await askOne()).waitMs).toBeLessThan(LEASE_MS + SECOND_MS);
    expect(requests).toHaveLength(1);
  });

  it('is watched for itself: the one after it has its whole length again', async () => {
    const { clock, requests, createInstance, instances } = fleetWith({}, { serviceLatencyMs: 3_900 });
    const [waiter, successor] = instances;
    const holder = createInstance();
    void ask(holder);
    await clock.advance(500);
    const waits = waiter && ask(waiter);
    await clock.advance(SECOND_MS);
    holder.kill();
    // By its clock the lease is over sooner, by a second.
    successor?.setClock(SECOND_MS);
    await clock.advance(3_600);
    const succeeds = successor && ask(successor);
    const [first, second] = await clock.run(Promise.all([waits, succeeds]));

    expect(requests).toHaveLength(2);
    expect(first?.issue?.token.fingerprint).toBe(second?.issue?.token.fingerprint);
  });

  it('is another one for each attempt: one call that sends two versions is waited for twice', async () => {
    const stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    const { requests, askAll } = fleetWith({}, { stages, accepted: new Set(['v1']), serviceLatencyMs: 3_900 });
    const answers = await askAll();

    expect(requests.map(({ version }) => version)).toEqual(['v2', 'v1']);
    expect(new Set(answers.map(({ issue }) => issue?.token.fingerprint)).size).toBe(1);
  });

  it('for a refused token says when, so that half a minute passes until the next', async () => {
    const { requests, instances, askOne } = fleetWith(PUBLISHED);
    const { issue } = await askOne(REFUSED);

    expect((await askOne({ refused: issue?.token.fingerprint }, instances[1])).problem?.type).toBe('refused-again');
    expect(requests).toHaveLength(1);
  });

  it('says when also where it brings nothing: no instance renews a living token again for 15 s', async () => {
    const token = { ...TOKEN, refreshAt: START };
    const { clock, requests, askAll } = fleetWith({ token }, { serviceLatencyMs: HOUR_MS });
    for (const secondsLater of [5, 8]) {
      await askAll();
      await clock.advance(secondsLater * SECOND_MS);
    }
    expect(requests).toHaveLength(1);
  });

  it('that another call took first is decided on anew: the refused token may not be the current one any more', async () => {
    const { counts, requests, askAll } = fleetWith(PUBLISHED);
    const answers = await askAll(REFUSED);

    // Two for the leases, of which one is lost, and the outcome.
    expect([counts.storeCalls.replace, requests.length]).toEqual([3, 1]);
    expect(answers.map(({ issue }) => issue?.token.fingerprint)).toEqual(['token-1000000000', 'token-1000000000']);
  });
});

describe('a refused token', () => {
  it('is compared with the shared record, not with the token that the instance remembers', async () => {
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

describe('the secret', () => {
  it('is read after the look: one that was read before this call began is read again', async () => {
    const { clock, surroundings, requests, askOne } = fleetWith({}, { lifetimeSeconds: 60 });
    await askOne();
    Object.assign(surroundings, { stages: { AWSCURRENT: 'v2' }, accepted: new Set(['v2']) });
    await clock.advance(MINUTE_MS);
    await askOne();

    expect(requests.map(({ version }) => version)).toEqual(['v1', 'v2']);
  });

  it('that is gone since a call waited is not sent by it, nor its token published, with 40 seeds', async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const { clock, surroundings, requests, recordNow, createInstance, instances } = fleetWith(PUBLISHED, { seed });
      const [holder, waiter] = instances;
      const checker = createInstance();
      void (holder && ask(holder, REFUSED));
      const waits = waiter && ask(waiter, REFUSED);
      await clock.advance(100);
      holder?.kill();
      await clock.advance(SECOND_MS);
      surroundings.secret = () => ({ outcome: 'deleted' });
      const [waited, found] = await clock.run(Promise.all([waits, checker.check()]));

      expect(found).toMatchObject({ finding: 'secret-missing' });
      // It may look before the check withdraws.
      expect(waited?.problem?.type).toMatch(/^(credential-missing|refused-again)$/);
      expect(requests.map(({ from }) => from)).toEqual([holder?.number]);
      expect(recordNow()).toMatchObject({ token: undefined, lease: undefined });
    }
  });

  const wait = exampleWait(START + MINUTE_MS);
  it.each<[string, Partial<PairRecord>, string]>([
    // A late holder's rejection.
    ['a latch', { rejected: new Map([['v1', { count: 1, at: START, by: 'late' }]]) }, 'credential-rejected'],
    ['a pause', { pause: wait }, 'token-endpoint-unavailable'],
    ['a hold', { held: new Map([[holdKey('v1', SETTINGS_DIGEST), wait]]) }, 'token-endpoint-unavailable'],
  ])('%s that was recorded since the call looked keeps the version from being sent', async (_, recorded, type) => {
    const { shared, requests, recordNow, askOne } = fleetWith({});
    const { replace } = shared;
    shared.replace = (which, ...rest) => {
      shared.replace = replace;
      shared.change(which, (record) => ({ ...record, ...recorded }));
      return replace(which, ...rest);
    };

    expect((await askOne()).problem?.type).toBe(type);
    expect([requests, recordNow()]).toMatchObject([[], { lease: undefined }]);
  });
});

describe('a check that finds the secret gone', () => {
  const gone: FleetChanges = { secret: () => ({ outcome: 'deleted' }) };

  it('takes the token away only when no lease lives: the holder may be about to publish', async () => {
    const { clock, recordNow, instances } = fleetWith(
      { ...PUBLISHED, lease: { id: 'live', until: START + LEASE_MS } },
      gone,
    );
    const check = instances[0]?.check() ?? expect.fail();
    await clock.advance(LEASE_MS - SECOND_MS);
    expect(recordNow().token).toBeDefined();

    expect(await clock.run(check)).toMatchObject({ finding: 'secret-missing' });
    expect(clock.now() - START).toBeGreaterThanOrEqual(LEASE_MS);
    expect(recordNow()).toMatchObject({ token: undefined, lease: undefined });
  });

  it('takes the lease of a late holder away with the token, so that none is published after it', async () => {
    const token = { ...TOKEN, expiresAt: START + 5 * MINUTE_MS, refreshAt: START };
    const { clock, shared, surroundings, recordNow, instances } = fleetWith({ token });
    const { replace } = shared;
    shared.replace = async (which, seen, next, deadline) => {
      // The holder is frozen before it settles.
      if (seen.record.lease !== undefined && next.token?.fingerprint.startsWith('token-'))
        await clock.sleep(2 * LEASE_MS);
      return replace(which, seen, next, deadline);
    };
    const holds = instances[0]?.issue() ?? expect.fail();
    await clock.advance(LEASE_MS + SECOND_MS);
    Object.assign(surroundings, gone);
    await clock.run(instances[1]?.check() ?? expect.fail());
    await clock.run(holds);

    expect(recordNow()).toMatchObject({ token: undefined, lease: undefined });
  });
});

it('a token request ends 650 ms before its lease: half a second for clocks, and the time to write its outcome', async () => {
  const { clock, shared, surroundings, askOne } = fleetWith(
    {},
    { storeLatencyMs: 3 * SECOND_MS, serviceLatencyMs: HOUR_MS },
  );
  const { replace } = shared;
  const spareMs: number[] = [];
  surroundings.answer = () => {
    surroundings.storeLatencyMs = 0;
    return undefined;
  };
  shared.replace = (which, seen, next, deadline) => {
    const { lease } = seen.record;
    if (lease !== undefined) spareMs.push(lease.until - clock.now());
    return replace(which, seen, next, deadline);
  };
  await askOne();

  expect(spareMs[0]).toBeGreaterThanOrEqual(650);
  expect(spareMs[0]).toBeLessThan(700);
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

describe('memory', () => {
  it('is trusted from the start of the read: 60 s after an operator has disabled the client no token is issued', async () => {
    const { clock, shared, instances, askOne } = fleetWith(PUBLISHED, { storeLatencyMs: 1_900 });
    const issue = instances[0]?.issue();
    await clock.advance(SECOND_MS);
    shared.change(ISSUE_REQUEST.pair, (record) => ({ ...record, disabled: { since: clock.now() } }));
    const disabledAt = clock.now();
    expect((await clock.run(issue ?? expect.fail())).cache).toBe('shared');
    await clock.advance(disabledAt + MINUTE_MS - clock.now());

    expect((await askOne()).problem?.type).toBe('client-disabled');
  });

  it.each(['unavailable', 'answer-lost'] as const)(
    'keeps nothing that was decided without the table: %s',
    async (fault) => {
      const { shared, surroundings, askOne } = fleetWith({}, { storeFault: () => fault });
      expect((await askOne()).issue?.cache).toBe('none');
      surroundings.storeFault = undefined;
      shared.change(ISSUE_REQUEST.pair, (record) => ({ ...record, disabled: { since: START } }));

      expect((await askOne()).problem?.type).toBe('client-disabled');
    },
  );
});

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
