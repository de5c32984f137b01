import { describe, expect, it } from 'vitest';
import { holdKey, type PairRecord, type Wait } from '../../functions/broker/pair/record.ts';
import { Problem } from '../../functions/broker/problem.ts';
import type { TokenExchange } from '../../functions/broker/token-request/token-request.ts';
import { exchange, ISSUE_REQUEST, SETTINGS_DIGEST } from '../support/broker-world.ts';
import { START } from '../support/example.ts';
import { createFleet } from '../support/fleet.ts';
import { oldToken } from '../support/pair-examples.ts';

/**
 * The ten rules of the shared cache, each as the failure that it prevents in a fleet. What a store does by itself stands in
 * the contract of the pair table, what is decided at which millisecond in the tests of decision and record.
 */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const LEASE_MS = 6 * SECOND_MS;
const { pair } = ISSUE_REQUEST;

const TOKEN = oldToken();

const waitFrom = (now: number): Wait => ({
  until: now + MINUTE_MS,
  step: 1,
  problem: { type: 'token-endpoint-unavailable', detail: 'down' },
});

function fleetWith(record: Partial<PairRecord>, changes: Parameters<typeof createFleet>[0] = {}) {
  const fleet = createFleet(changes);
  fleet.shared.change(pair, (empty) => ({ ...empty, ...record }));
  return { ...fleet, recordNow: () => fleet.shared.peek(pair) };
}

describe('rule 1, taking the lease', () => {
  it('needs the fence that I read: a call that looked before another’s lease takes none after it', async () => {
    const { clock, shared, recordNow, createEnvironment } = fleetWith({});
    const acquire = shared.acquire;
    shared.acquire = async (which, acquisition, deadline) => {
      if (acquisition.owner === 'call-2') await clock.sleep(SECOND_MS);
      return acquire(which, acquisition, deadline);
    };
    const environments = [createEnvironment(), createEnvironment()];
    await clock.run(Promise.all(environments.map(({ issue }) => issue())));

    expect(recordNow().fence).toBe(1);
  });

  it('for a refused token says when, so that half a minute passes until the next', async () => {
    const { clock, requests, createEnvironment } = fleetWith({ fence: 1, token: TOKEN });
    const { token } = await clock.run(createEnvironment().issue({ refused: TOKEN.fingerprint }));
    const again = clock.run(createEnvironment().issue({ refused: token.fingerprint }));

    await expect(again).rejects.toMatchObject({ type: 'refused-again' });
    expect(requests).toHaveLength(1);
  });

  it('works for a lease that I have watched for its whole length, however far ahead the clock is that wrote it', async () => {
    const { clock, requests, createEnvironment } = fleetWith({
      fence: 4,
      leaseOwner: 'dead',
      leaseUntil: START + 10 * HOUR_MS,
    });
    await clock.run(createEnvironment().issue());

    expect(requests).toHaveLength(1);
    expect(clock.now() - START).toBeLessThan(LEASE_MS + SECOND_MS);
  });
});

describe('rule 2, after a lost lease', () => {
  it('reads again and decides anew whether the refused token is still the current one', async () => {
    const { clock, shared, requests, counts, createEnvironment } = fleetWith({
      fence: 1,
      token: TOKEN,
    });
    const acquire = shared.acquire;
    const lost: string[] = [];
    shared.acquire = async (which, acquisition, deadline) => {
      const before = await acquire(which, acquisition, deadline);
      if (before === undefined) lost.push(acquisition.owner);
      return before;
    };
    const refused = TOKEN.fingerprint;
    const environments = [createEnvironment(), createEnvironment()];
    const issues = await clock.run(Promise.all(environments.map(({ issue }) => issue({ refused }))));

    expect(lost).toHaveLength(1);
    expect(counts.storeCalls.read).toBeGreaterThan(2);
    expect(requests).toHaveLength(1);
    expect(issues.map(({ token }) => token.fingerprint)).toEqual(['token-1000000000', 'token-1000000000']);
  });
});

describe('a refused token', () => {
  const record = { fence: 1, token: TOKEN };

  it('is compared with the shared record, not with the token that this environment remembers', async () => {
    const { clock, createEnvironment } = fleetWith(record);
    const [one, other] = [createEnvironment(), createEnvironment()];
    await clock.run(one.issue());
    const { token: second } = await clock.run(other.issue({ refused: TOKEN.fingerprint }));
    await clock.advance(31 * SECOND_MS);
    const { token: third } = await clock.run(one.issue({ refused: second.fingerprint }));

    expect([second, third].map(({ fingerprint }) => fingerprint)).toEqual(['token-1000000000', 'token-2000000000']);
  });

  it('is not replaced for a caller that refuses another at the same time', async () => {
    const { clock, createEnvironment } = fleetWith(record);
    const { issue } = createEnvironment();
    const asked = [issue({ refused: TOKEN.fingerprint }), issue({ refused: 'another-token-00' })];
    const issues = await clock.run(Promise.all(asked));

    expect(issues.map(({ token }) => token.fingerprint)).toEqual(['token-1000000000', TOKEN.fingerprint]);
  });
});

describe('rule 3, under the lease', () => {
  it('a credential that was read before this call began is read again', async () => {
    const { clock, surroundings, requests, createEnvironment } = createFleet({ lifetimeSeconds: 60 });
    const { issue } = createEnvironment();
    await clock.run(issue());
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    surroundings.accepted = new Set(['v2']);
    await clock.advance(MINUTE_MS);
    await clock.run(issue());

    expect(requests.map(({ version }) => version)).toEqual(['v1', 'v2']);
  });

  it.each<[string, (now: number) => Partial<PairRecord>, string]>([
    // A late holder's rejection: it counts with any fence and does not change the fence.
    ['a latch', (at) => ({ rejected: new Map([['v1', { count: 1, at, fence: 3 }]]) }), 'credential-rejected'],
    ['a pause', (now) => ({ pause: waitFrom(now) }), 'token-endpoint-unavailable'],
    [
      'a hold',
      (now) => ({ held: new Map([[holdKey('v1', SETTINGS_DIGEST), waitFrom(now)]]) }),
      'token-endpoint-unavailable',
    ],
  ])('%s that was recorded since I looked keeps the version from being sent', async (_, recorded, type) => {
    const { clock, shared, requests, recordNow, createEnvironment } = fleetWith({ fence: 4 });
    const acquire = shared.acquire;
    shared.acquire = (which, acquisition, deadline) => {
      shared.change(which, (record) => ({ ...record, ...recorded(clock.now()) }));
      return acquire(which, acquisition, deadline);
    };

    await expect(clock.run(createEnvironment().issue())).rejects.toMatchObject({ type });
    expect(requests).toHaveLength(0);
    expect(recordNow()).toMatchObject({ leaseOwner: undefined, leaseUntil: 0 });
  });
});

describe('rule 4, the end of the lease', () => {
  it('is half a second after the token request, the reading before it and the writing after it', async () => {
    const { clock, recordNow, createEnvironment, surroundings } = fleetWith({}, { lifetimeSeconds: 60 });
    const { issue } = createEnvironment();
    await clock.run(issue());
    await clock.advance(MINUTE_MS);
    surroundings.secretsLatencyMs = 3 * SECOND_MS;
    surroundings.serviceLatencyMs = HOUR_MS;
    await expect(clock.run(issue())).rejects.toMatchObject({ type: 'token-endpoint-timeout' });

    expect(clock.now()).toBeLessThanOrEqual(recordNow().attemptedAt + LEASE_MS - 500);
    expect(clock.now()).toBeGreaterThan(recordNow().attemptedAt + LEASE_MS - SECOND_MS);
  });
});

describe.each<[string, (fence: number) => Partial<PairRecord>]>([
  ['under the next fence', (fence) => ({ fence: fence + 1, leaseOwner: 'next', leaseUntil: START + LEASE_MS })],
  ['under the same fence of a table that was lost', () => ({ leaseOwner: 'next', leaseUntil: START + LEASE_MS })],
])('rule 5, a late holder that finds the lease of another %s', (_, taken) => {
  it.each<[string, TokenExchange | Problem | undefined, object]>([
    ['publishes nothing', undefined, { token: { fingerprint: 'token-1000000000' } }],
    ['pauses no other', new Problem('token-endpoint-unavailable', 'down'), { type: 'token-endpoint-unavailable' }],
    ['holds no version', exchange(404, {}), { type: 'token-endpoint-error' }],
  ])('%s', async (_what, answer, outcome) => {
    const { clock, shared, recordNow, createEnvironment } = fleetWith({ fence: 4 }, { answer: () => answer });
    const { end } = shared;
    shared.end = async (which, lease, ending, deadline) => {
      shared.change(which, (record) => ({ ...record, ...taken(record.fence), token: TOKEN }));
      return end(which, lease, ending, deadline);
    };
    const issuing = createEnvironment().issue();

    expect(await clock.run(issuing.catch((error: unknown) => error))).toMatchObject(outcome);
    expect(recordNow()).toMatchObject({ token: TOKEN, pause: undefined, held: new Map(), leaseOwner: 'next' });
  });
});

describe('rule 6, forgetting latches', () => {
  const latch = { count: 3, at: START - 2 * HOUR_MS, fence: 1 };
  const rejected = new Map(['gone-1', 'gone-2', 'gone-3', 'pending'].map((version) => [version, latch]));
  const stages = { AWSCURRENT: 'v1', AWSPREVIOUS: 'gone-1', AWSPENDING: 'pending' };

  it('never happens by publishing: a pending version stays latched while the current one serves', async () => {
    const { clock, recordNow, createEnvironment } = fleetWith({ fence: 4, rejected }, { stages });
    await clock.run(createEnvironment().issue());

    expect([...recordNow().rejected.keys()]).toEqual([...rejected.keys()]);
  });
});

describe('rule 7, freshness', () => {
  it('is checked once more when a refresh has used up what the token had left', async () => {
    const record = {
      fence: 1,
      token: { ...TOKEN, expiresAt: START + 32 * SECOND_MS, refreshAt: START, lifetimeSeenMs: HOUR_MS },
    };
    const { clock, createEnvironment } = fleetWith(record, {
      serviceLatencyMs: 3 * SECOND_MS,
      answer: () => new Problem('token-endpoint-unavailable', 'down'),
    });

    await expect(clock.run(createEnvironment().issue({ minTtlMs: HOUR_MS }))).rejects.toMatchObject({
      type: 'token-endpoint-unavailable',
    });
  });
});

describe('rule 8, times written by a clock that runs ahead', () => {
  const AHEAD_MS = 10 * MINUTE_MS;
  const problem = { type: 'token-endpoint-unavailable', detail: 'down' } as const;

  it.each([
    ['ten minutes', AHEAD_MS],
    ['a thousand hours', 1_000 * HOUR_MS],
  ])('by %s hold no caller up for longer than ten minutes', async (_, aheadMs) => {
    const at = START + aheadMs;
    const { clock, createEnvironment } = fleetWith({
      token: TOKEN,
      pause: { until: at + 15 * SECOND_MS, step: 4, problem },
      forcedAt: at,
      attemptedAt: at,
      leaseOwner: 'dead',
      leaseUntil: at + LEASE_MS,
    });
    await clock.advance(AHEAD_MS + 30 * SECOND_MS);

    await expect(clock.run(createEnvironment().issue({ refused: TOKEN.fingerprint }))).resolves.toMatchObject({
      cache: 'none',
    });
  });
});

describe('rule 8, a latch made while the shared store is down', () => {
  it('lasts 15 minutes, and no longer, also for a version that had been rejected twice before', async () => {
    const rejected = new Map([['v1', { count: 2, at: START - 3 * HOUR_MS, fence: 1 }]]);
    const { clock, requests, createEnvironment, surroundings } = fleetWith(
      { fence: 2, rejected },
      { accepted: new Set() },
    );
    surroundings.storeFault = (operation) => (operation === 'read' ? undefined : 'unavailable');
    const { issue } = createEnvironment();
    const ask = () => expect(clock.run(issue())).rejects.toMatchObject({ type: 'credential-rejected' });
    await ask();
    await clock.advance(14 * MINUTE_MS);
    await ask();
    expect(requests).toHaveLength(1);
    await clock.advance(2 * MINUTE_MS);
    await ask();

    expect(requests).toHaveLength(2);
  });
});

describe('rule 9, waiting', () => {
  it('goes on until a lease that was seen has ended, although the store cannot be read meanwhile', async () => {
    const { clock, requests, createEnvironment, surroundings } = createFleet({ serviceLatencyMs: 2 * SECOND_MS });
    const [holder, waiter] = [createEnvironment(), createEnvironment()];
    const issues = [holder.issue()];
    await clock.advance(100);
    issues.push(waiter.issue());
    await clock.advance(100);
    surroundings.storeFault = (operation) => (operation === 'read' ? 'unavailable' : undefined);
    await clock.advance(1_500);
    surroundings.storeFault = undefined;
    const [first, second] = await clock.run(Promise.all(issues));

    expect(requests).toHaveLength(1);
    expect(second?.token.fingerprint).toBe(first?.token.fingerprint);
  });
});

describe('rule 10, a refused token during a pause', () => {
  const problem = { type: 'token-endpoint-timeout', detail: 'too slow' } as const;
  const record = { token: TOKEN, pause: { until: START + MINUTE_MS, step: 3, problem } };

  it('is never issued again: its caller gets the problem', async () => {
    const { clock, requests, createEnvironment } = fleetWith(record);

    await expect(clock.run(createEnvironment().issue({ refused: TOKEN.fingerprint }))).rejects.toMatchObject({
      type: 'token-endpoint-timeout',
      retryAfterSeconds: 60,
    });
    expect(requests).toHaveLength(0);
  });

  it('is answered with another token that lives', async () => {
    const { clock, createEnvironment } = fleetWith(record);
    const { token } = await clock.run(createEnvironment().issue({ refused: 'another-token-00' }));

    expect(token.fingerprint).toBe(TOKEN.fingerprint);
  });
});
