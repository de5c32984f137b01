import { describe, expect, it } from 'vitest';
import { holdKey, type PairRecord } from '../../functions/broker/pair/record.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { exchange, ISSUE_REQUEST, SETTINGS_DIGEST } from '../support/broker-world.ts';
import { START } from '../support/example.ts';
import { createFleet } from '../support/fleet.ts';
import { oldToken } from '../support/pair-examples.ts';

/** The ten rules of the shared cache, each as the failure that it prevents. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const LEASE_MS = 6 * SECOND_MS;
const { pair } = ISSUE_REQUEST;

const TOKEN = oldToken();

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

  it('needs the other lease to have ended, by the clock of the call that takes it', async () => {
    const lease = { fence: 4, leaseOwner: 'another', leaseUntil: START + LEASE_MS };
    const { shared } = fleetWith(lease);
    const acquisition = { seenFence: 4, owner: 'me', until: START + LEASE_MS };
    const rest = { observedExpired: false, forced: false, chargedVersion: undefined, isCheck: false };
    const acquireAt = (now: number) => shared.acquire(pair, { ...acquisition, ...rest, now }, now + SECOND_MS);

    expect(await acquireAt(START + LEASE_MS - 1)).toBeUndefined();
    expect(await acquireAt(START + LEASE_MS)).toMatchObject(lease);
  });

  it('for a refused token says when, so that half a minute passes until the next', async () => {
    const { clock, requests, createEnvironment } = fleetWith({ fence: 1, token: TOKEN, lifetimeSeenMs: 2 * HOUR_MS });
    const { token } = await clock.run(createEnvironment().issue({ refused: TOKEN.fingerprint }));
    const again = clock.run(createEnvironment().issue({ refused: token.fingerprint }));

    await expect(again).rejects.toMatchObject({ type: 'refused-again' });
    expect(requests).toHaveLength(1);
  });

  it('works for a lease that is mine because the answer to taking it was lost and the store was told again', async () => {
    const { clock, shared, createEnvironment } = fleetWith({});
    const acquire = shared.acquire;
    shared.acquire = async (...args) => {
      await acquire(...args);
      return acquire(...args);
    };
    await clock.run(createEnvironment().issue());

    expect(clock.now() - START).toBeLessThan(SECOND_MS);
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

  it('counts the fence up by one, and nothing else does', async () => {
    const { clock, recordNow, createEnvironment } = fleetWith({ fence: 4 });
    await clock.run(createEnvironment().issue());

    expect(recordNow()).toMatchObject({ fence: 5, leaseUntil: 0, leaseOwner: undefined, attemptedAt: START + 25 });
  });

  it('charges the next chance of a version that was rejected, before it is sent', async () => {
    const { clock, recordNow, requests, createEnvironment } = fleetWith({
      fence: 4,
      rejected: new Map([['v1', { count: 1, at: START - HOUR_MS, fence: 4 }]]),
    });
    const environment = createEnvironment();
    void environment.issue();
    await clock.advance(60);
    expect(requests).toHaveLength(1);
    environment.kill();

    expect(recordNow().rejected.get('v1')).toMatchObject({ count: 2, fence: 5 });
  });
});

describe('rule 2, after a lost lease', () => {
  it('reads again and decides anew whether the refused token is still the current one', async () => {
    const { clock, shared, requests, counts, createEnvironment } = fleetWith({
      fence: 1,
      token: TOKEN,
      lifetimeSeenMs: 2 * HOUR_MS,
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
  const record = { fence: 1, token: TOKEN, lifetimeSeenMs: 2 * HOUR_MS };

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

  it('a latch that was recorded since I looked keeps the version from being sent', async () => {
    const { clock, shared, requests, createEnvironment } = fleetWith({ fence: 4 });
    const acquire = shared.acquire;
    shared.acquire = (which, acquisition, deadline) => {
      // A late holder's rejection: it counts with any fence and does not change the fence.
      shared.change(which, (record) => ({
        ...record,
        rejected: new Map([['v1', { count: 1, at: clock.now(), fence: 3 }]]),
      }));
      return acquire(which, acquisition, deadline);
    };
    await expect(clock.run(createEnvironment().issue())).rejects.toMatchObject({ type: 'credential-rejected' });
    expect(requests).toHaveLength(0);
  });

  it('a pause that was recorded since I looked is kept', async () => {
    const { clock, shared, requests, createEnvironment } = fleetWith({ fence: 4 });
    const acquire = shared.acquire;
    shared.acquire = (which, acquisition, deadline) => {
      const problem = { type: 'token-endpoint-unavailable', detail: 'down' } as const;
      shared.change(which, (record) => ({ ...record, pause: { until: clock.now() + MINUTE_MS, step: 1, problem } }));
      return acquire(which, acquisition, deadline);
    };
    await expect(clock.run(createEnvironment().issue())).rejects.toMatchObject({ type: 'token-endpoint-unavailable' });
    expect(requests).toHaveLength(0);
  });

  it('a hold that was recorded since I looked keeps the version from being sent', async () => {
    const { clock, shared, requests, recordNow, createEnvironment } = fleetWith({ fence: 4 });
    const acquire = shared.acquire;
    shared.acquire = (which, acquisition, deadline) => {
      const problem = { type: 'token-endpoint-error', detail: 'status 404' } as const;
      const hold = { until: clock.now() + MINUTE_MS, step: 1, problem };
      shared.change(which, (record) => ({ ...record, held: new Map([[holdKey('v1', SETTINGS_DIGEST), hold]]) }));
      return acquire(which, acquisition, deadline);
    };
    await expect(clock.run(createEnvironment().issue())).rejects.toMatchObject({ type: 'token-endpoint-error' });
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

describe('rule 5, a late holder', () => {
  const down = () => new Problem('token-endpoint-unavailable', 'down');
  const notFound = () => exchange(404, {});

  /** Another call takes the lease, or one under the same fence in a table that was lost, before mine is ended. */
  const overtaken = (
    taken: (fence: number) => Partial<PairRecord>,
    changes: Parameters<typeof createFleet>[0] = {},
  ) => {
    const fleet = fleetWith({ fence: 4 }, changes);
    const { end } = fleet.shared;
    fleet.shared.end = async (which, lease, ending, deadline) => {
      fleet.shared.change(which, (record) => ({ ...record, ...taken(record.fence) }));
      return end(which, lease, ending, deadline);
    };
    return fleet;
  };

  describe.each<[string, (fence: number) => Partial<PairRecord>]>([
    ['under the next fence', (fence) => ({ fence: fence + 1, leaseOwner: 'next', leaseUntil: START + LEASE_MS })],
    ['under the same fence of a table that was lost', () => ({ leaseOwner: 'next', leaseUntil: START + LEASE_MS })],
  ])('that finds the lease of another %s', (_, taken) => {
    it('publishes nothing', async () => {
      const { clock, recordNow, createEnvironment } = overtaken((fence) => ({ ...taken(fence), token: TOKEN }));
      const { token } = await clock.run(createEnvironment().issue());

      expect(token.fingerprint).toBe('token-1000000000');
      expect(recordNow()).toMatchObject({ token: TOKEN, leaseOwner: 'next' });
    });

    it.each([
      ['pauses no other', down],
      ['holds no version', notFound],
    ])('%s', async (_what, answer) => {
      const { clock, recordNow, createEnvironment } = overtaken(taken, { answer });
      await expect(clock.run(createEnvironment().issue())).rejects.toBeInstanceOf(Problem);

      expect(recordNow()).toMatchObject({ pause: undefined, held: new Map(), leaseOwner: 'next' });
    });

    it('withdraws nothing: a token that was published meanwhile stays', async () => {
      const { clock, surroundings, recordNow, createEnvironment, shared } = overtaken((fence) => ({
        ...taken(fence),
        token: TOKEN,
      }));
      shared.change(pair, (record) => ({ ...record, token: TOKEN, lifetimeSeenMs: 2 * HOUR_MS }));
      surroundings.secretsFault = { outcome: 'deleted' };
      await clock.run(createEnvironment().check());

      expect(recordNow()).toMatchObject({ token: TOKEN, leaseOwner: 'next' });
    });
  });

  it('has its rejection counted all the same, once, and ends no other’s lease', async () => {
    const { clock, shared, recordNow, createEnvironment, surroundings } = fleetWith({});
    surroundings.accepted = new Set();
    const reject = shared.reject;
    shared.reject = async (which, lease, rejection, deadline) => {
      shared.change(which, (record) => ({
        ...record,
        fence: lease.fence + 1,
        leaseOwner: 'next',
        leaseUntil: clock.now() + 1,
      }));
      await reject(which, lease, rejection, deadline);
      await reject(which, lease, rejection, deadline);
    };
    await expect(clock.run(createEnvironment().issue())).rejects.toMatchObject({ type: 'credential-rejected' });

    expect(recordNow()).toMatchObject({ leaseOwner: 'next' });
    expect(recordNow().rejected.get('v1')).toMatchObject({ count: 1 });
  });
});

describe('rule 5, after a rejection', () => {
  it('reads the secret again, and tries a version that was stored meanwhile', async () => {
    const { clock, surroundings, requests, createEnvironment } = fleetWith({}, { accepted: new Set(['v2']) });
    surroundings.answer = () => {
      surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
      return undefined;
    };
    await clock.run(createEnvironment().issue());

    expect(requests.map(({ version }) => version)).toEqual(['v1', 'v2']);
  });
});

describe('rule 6, forgetting latches', () => {
  const latch = { count: 3, at: START - 2 * HOUR_MS, fence: 1 };
  const rejected = new Map(['gone-1', 'gone-2', 'gone-3', 'pending'].map((version) => [version, latch]));
  const stages = { AWSCURRENT: 'v1', AWSPREVIOUS: 'gone-1', AWSPENDING: 'pending' };

  it('happens only to versions without a stage', async () => {
    const { clock, recordNow, createEnvironment } = fleetWith({ fence: 4, rejected }, { stages, accepted: new Set() });
    await expect(clock.run(createEnvironment().issue())).rejects.toBeInstanceOf(Problem);

    expect([...recordNow().rejected.keys()].sort()).toEqual(['gone-1', 'pending', 'v1']);
  });

  it('does not happen in the first hour, in which they count as checks', async () => {
    const recent = new Map([...rejected].map(([version, each]) => [version, { ...each, at: START - 50 * MINUTE_MS }]));
    const record = { fence: 4, rejected: recent };
    const { clock, recordNow, createEnvironment } = fleetWith(record, { stages, accepted: new Set() });
    await expect(clock.run(createEnvironment().issue())).rejects.toBeInstanceOf(Problem);

    expect(recordNow().rejected.size).toBe(5);
  });

  it('does not happen when one stage cannot be read', async () => {
    const fleet = fleetWith({ fence: 4, rejected }, { stages, accepted: new Set() });
    fleet.surroundings.secretFaults = { AWSPENDING: { outcome: 'unavailable', cause: 'TimeoutError' } };
    await expect(fleet.clock.run(fleet.createEnvironment().issue())).rejects.toBeInstanceOf(Problem);

    expect([...fleet.recordNow().rejected.keys()]).toEqual([...rejected.keys(), 'v1']);
  });

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
      token: { ...TOKEN, expiresAt: START + 32 * SECOND_MS, refreshAt: START },
      lifetimeSeenMs: HOUR_MS,
    };
    const { clock, createEnvironment } = fleetWith(record, {
      serviceLatencyMs: 3 * SECOND_MS,
      answer: () => new Problem('token-endpoint-unavailable', 'down'),
    });

    await expect(clock.run(createEnvironment().issue({ minTtlMs: HOUR_MS }))).rejects.toMatchObject({
      type: 'token-endpoint-unavailable',
    });
  });

  it('of a token from an older version is its own, until its renewal reads the secret', async () => {
    const stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    const { clock, requests, counts, createEnvironment } = fleetWith(
      { fence: 1, token: TOKEN, lifetimeSeenMs: 2 * HOUR_MS },
      { stages },
    );
    const { issue } = createEnvironment();
    expect((await clock.run(issue())).token.credentialVersion).toBe('v1');
    expect([requests.length, counts.secretReads]).toEqual([0, 0]);
    await clock.advance(50 * MINUTE_MS);

    expect((await clock.run(issue())).token.credentialVersion).toBe('v2');
    expect(requests.map(({ version }) => version)).toEqual(['v2']);
  });

  it('of a token from an older version proves nothing to a check, which sends the new version at once', async () => {
    const { clock, requests, recordNow, createEnvironment } = fleetWith(
      { fence: 1, token: { ...TOKEN, issuedAt: START - MINUTE_MS }, lifetimeSeenMs: 2 * HOUR_MS },
      { stages: { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' } },
    );
    await clock.run(createEnvironment().check());

    expect(requests.map(({ version }) => version)).toEqual(['v2']);
    expect(recordNow().token?.credentialVersion).toBe('v2');
  });

  it('of a token from an older version is its own while the current version is latched', async () => {
    const { clock, requests, createEnvironment } = fleetWith(
      {
        fence: 1,
        token: { ...TOKEN, credentialVersion: 'v0' },
        lifetimeSeenMs: 2 * HOUR_MS,
        rejected: new Map([['v2', { count: 1, at: START, fence: 1 }]]),
      },
      { stages: { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' } },
    );
    await clock.run(createEnvironment().issue());

    expect(requests).toHaveLength(0);
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
      lifetimeSeenMs: 2 * HOUR_MS,
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

  it('hold a version for an hour at most', async () => {
    const held = new Map([[holdKey('v1', SETTINGS_DIGEST), { until: START + HOUR_MS + AHEAD_MS, step: 20, problem }]]);
    const { clock, createEnvironment } = fleetWith({ held });

    await expect(clock.run(createEnvironment().issue())).rejects.toMatchObject({ retryAfterSeconds: 3_600 });
  });

  it('ask for no longer wait than 300 s', async () => {
    const { clock, createEnvironment } = fleetWith({ pause: { until: START + AHEAD_MS, step: 1, problem } });

    await expect(clock.run(createEnvironment().issue())).rejects.toMatchObject({ retryAfterSeconds: 300 });
  });

  it('keep a refused token for 30 s at most', async () => {
    const record = { token: TOKEN, lifetimeSeenMs: 2 * HOUR_MS, forcedAt: START + AHEAD_MS };
    const { clock, createEnvironment } = fleetWith(record);

    await expect(clock.run(createEnvironment().issue({ refused: TOKEN.fingerprint }))).rejects.toMatchObject({
      type: 'refused-again',
      retryAfterSeconds: 30,
    });
  });

  it('by a thousand hours do not keep a version latched for good', async () => {
    const rejected = new Map([['v1', { count: 2, at: START + 1_000 * HOUR_MS, fence: 1 }]]);
    const { clock, recordNow, createEnvironment } = fleetWith({ rejected }, { accepted: new Set() });
    await expect(clock.run(createEnvironment().issue())).rejects.toMatchObject({ type: 'credential-rejected' });

    expect(recordNow().rejected.get('v1')).toMatchObject({ count: 3 });
  });

  it('keep a version latched for 2 h more at most', async () => {
    const rejected = new Map([['v1', { count: 2, at: START + AHEAD_MS, fence: 1 }]]);
    const { clock, createEnvironment } = fleetWith({ rejected });
    await expect(clock.run(createEnvironment().issue())).rejects.toMatchObject({ type: 'credential-rejected' });
    await clock.advance(2 * HOUR_MS + AHEAD_MS);

    await expect(clock.run(createEnvironment().issue())).resolves.toMatchObject({ cache: 'none' });
  });

  it('do not matter to a latch made while the shared store is down: it ends after 15 minutes', async () => {
    const { clock, requests, createEnvironment, surroundings } = createFleet({ accepted: new Set() });
    surroundings.storeFault = () => 'unavailable';
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

  it('asks 50 ms later at first and every half second at most', async () => {
    const { clock, shared, createEnvironment } = fleetWith({
      fence: 1,
      leaseOwner: 'dead',
      leaseUntil: START + LEASE_MS,
    });
    const readAt: number[] = [];
    const read = shared.read;
    shared.read = async (which, deadline) => {
      readAt.push(clock.now());
      return read(which, deadline);
    };
    void createEnvironment().issue();
    await clock.advance(LEASE_MS - SECOND_MS);

    const gaps = readAt.slice(1).map((at, index) => at - (readAt[index] ?? 0));
    expect(gaps[0]).toBeLessThanOrEqual(50 + 25);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(500 + 25);
    expect(readAt.length).toBeLessThan(25);
  });
});

describe('rule 10, a refused token during a pause', () => {
  const problem = { type: 'token-endpoint-timeout', detail: 'too slow' } as const;
  const record = { token: TOKEN, lifetimeSeenMs: 2 * HOUR_MS, pause: { until: START + MINUTE_MS, step: 3, problem } };

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
