import { describe, expect, it } from 'vitest';
import type { PairRecord } from '../../../functions/broker/pair/record.ts';
import type { PairStore } from '../../../functions/broker/pair/store.ts';
import { ISSUE_REQUEST } from '../../support/broker-world.ts';
import { START } from '../../support/example.ts';
import { createFleet } from '../../support/fleet.ts';
import type { StoreFault } from '../../support/fleet-store.ts';

const SECOND_MS = 1_000;
const { pair } = ISSUE_REQUEST;
const ANOTHERS_LEASE = { fence: 4, leaseOwner: 'another', leaseUntil: START + 6 * SECOND_MS };
const DOWN = { outcome: 'unavailable', cause: 'OutOfTime' } as const;

describe('the longer time for a call to the store', () => {
  it('is for all that follows its first answer, when a caller waits for a token', async () => {
    const { clock, counts, createEnvironment } = createFleet();
    await clock.run(createEnvironment().issue());
    expect(counts.storeCalls).toEqual({ read: 1, acquire: 1, publish: 1 });
    expect(counts.patientCalls).toEqual({ acquire: 1, publish: 1 });
  });

  it('is not for the last write of a lease that ends soon', async () => {
    const { clock, counts, surroundings, createEnvironment } = createFleet({
      serviceLatencyMs: 3_900,
      lifetimeSeconds: 60,
    });
    const environment = createEnvironment();
    await clock.run(environment.issue());
    await clock.advance(60 * SECOND_MS);
    surroundings.secretsLatencyMs = 950;
    counts.patientCalls = {};
    await clock.run(environment.issue());
    expect(counts.patientCalls).toEqual({ acquire: 1 });
  });

  it('is for those who wait as well', async () => {
    const { clock, counts, createEnvironment } = createFleet({ serviceLatencyMs: 500 });
    const holder = createEnvironment().issue();
    await clock.advance(100);
    await clock.run(Promise.all([holder, createEnvironment().issue()]));
    expect((counts.storeCalls.read ?? 0) - (counts.patientCalls.read ?? 0)).toBe(2);
    expect(counts.patientCalls.read).toBeGreaterThan(1);
  });

  it('is not for a renewal: its caller has a token already', async () => {
    const { clock, counts, requests, createEnvironment } = createFleet({ lifetimeSeconds: 3_600 });
    const environment = createEnvironment();
    await clock.run(environment.issue());
    await clock.advance(3_500 * SECOND_MS);
    counts.patientCalls = {};
    await clock.run(environment.issue());
    expect(requests).toHaveLength(2);
    expect(counts.patientCalls).toEqual({});
  });
});

describe('a renewal', () => {
  const softWindow = async (changes: Parameters<typeof createFleet>[0] = {}) => {
    const fleet = createFleet(changes);
    const environment = fleet.createEnvironment();
    await fleet.clock.run(environment.issue());
    await fleet.clock.advance(3_500 * SECOND_MS);
    return { ...fleet, environment };
  };

  it('is waited for one second, then the old token serves', async () => {
    const { clock, surroundings, environment } = await softWindow();
    surroundings.serviceLatencyMs = 3 * SECOND_MS;
    const before = clock.now();
    expect(await clock.run(environment.issue())).toMatchObject({
      cache: 'shared',
      token: { fingerprint: 'token-1000000000' },
    });
    expect(clock.now() - before).toBeGreaterThanOrEqual(SECOND_MS);
    expect(clock.now() - before).toBeLessThan(SECOND_MS + 100);
  });

  it('keeps nobody else in the same environment from the old token', async () => {
    const { clock, shared, requests, environment } = await softWindow();
    shared.change(pair, (record) => ({ ...record, ...ANOTHERS_LEASE, leaseUntil: clock.now() + SECOND_MS }));
    await clock.run(environment.issue());
    await clock.advance(SECOND_MS);
    const renewal = environment.issue();
    const before = clock.now();
    expect(await clock.run(environment.issue())).toMatchObject({
      cache: 'memory',
      token: { fingerprint: 'token-1000000000' },
    });
    expect(clock.now()).toBe(before);
    expect(await clock.run(renewal)).toMatchObject({ cache: 'none', token: { fingerprint: 'token-2000000000' } });
    expect(requests).toHaveLength(2);
  });
});

describe('the answer to taking the lease', () => {
  it('that is lost costs one more look: nobody waits for the lease, and nobody goes alone', async () => {
    const fleet = createFleet({ storeFault: failing('answer-lost', { acquire: 1 }) });
    await fleet.clock.run(Promise.all([fleet.createEnvironment().issue(), fleet.createEnvironment().issue()]));
    expect(fleet.requests).toHaveLength(1);
    expect(fleet.clock.now() - START).toBeLessThan(SECOND_MS);
  });

  it('that is lost twice is not waited for a third time', async () => {
    const { clock, requests, counts, createEnvironment } = createFleet({
      storeFault: failing('unavailable', { acquire: Number.POSITIVE_INFINITY }),
    });
    await clock.run(createEnvironment().issue());
    expect(requests).toHaveLength(1);
    expect(counts.storeCalls).toMatchObject({ acquire: 2, read: 2 });
  });
});

describe('an environment that cannot read the sealing key', () => {
  it('waits for the others while one of them holds the lease, and uses what they bring', async () => {
    const { clock, requests, createEnvironment, locked } = fleetWithLock({});
    const holder = createEnvironment().issue();
    await clock.advance(50);
    const late = createEnvironment();
    locked.add(late.number);
    const waiting = late.issue();
    await clock.advance(100);
    locked.clear();

    const [first, second] = await clock.run(Promise.all([holder, waiting]));
    expect(second.token.fingerprint).toBe(first.token.fingerprint);
    expect(requests).toHaveLength(1);
  });

  it('looks once more, then goes by itself and takes no lease', async () => {
    const { clock, requests, counts, createEnvironment, locked } = fleetWithLock({});
    const environment = createEnvironment();
    locked.add(environment.number);
    await clock.run(environment.issue());
    expect(requests).toHaveLength(1);
    expect(counts.storeCalls).toEqual({ read: 2 });
  });

  it('does not wait when it has a token of its own, not even for a lease', async () => {
    const { clock, shared, requests, createEnvironment, locked } = fleetWithLock({});
    const environment = createEnvironment();
    locked.add(environment.number);
    await clock.run(environment.issue());
    shared.change(pair, (record) => ({ ...record, ...ANOTHERS_LEASE, leaseUntil: clock.now() + 120 * SECOND_MS }));
    await clock.advance(61 * SECOND_MS);

    const before = clock.now();
    await clock.run(environment.issue());
    expect(clock.now() - before).toBeLessThan(SECOND_MS);
    expect(requests).toHaveLength(1);
  });

  it('waits for a lease when its own token has lapsed', async () => {
    const { clock, requests, surroundings, createEnvironment, locked } = fleetWithLock({});
    const [alone, holder] = [createEnvironment(), createEnvironment()];
    surroundings.lifetimeSeconds = 30;
    locked.add(alone.number);
    await clock.run(alone.issue());
    await clock.advance(61 * SECOND_MS);
    const held = holder.issue();
    await clock.advance(100);
    const waiting = alone.issue();
    await clock.advance(100);
    locked.clear();
    await clock.run(Promise.all([held, waiting]));
    expect(requests).toHaveLength(2);
  });

  it('goes by itself also when it learns that only under the lease', async () => {
    const { clock, shared, requests, createEnvironment, locked } = fleetWithLock({});
    const environment = createEnvironment();
    const { acquire } = shared;
    shared.acquire = async (...args) => {
      const before = await acquire(...args);
      locked.add(environment.number);
      return before && { ...before, token: undefined, isLocked: true };
    };
    await clock.run(environment.issue());
    expect(requests).toHaveLength(1);
    expect(clock.now() - START).toBeLessThan(SECOND_MS);
    expect(shared.peek(pair).latest.leaseUntil).toBe(0);
  });

  it('still heeds what the record says: a pause', async () => {
    const pause = { until: START + 60 * SECOND_MS, step: 1, problem: { type: 'internal', detail: '' } } as const;
    const { clock, requests, createEnvironment, locked } = fleetWithLock({ pause });
    const environment = createEnvironment();
    locked.add(environment.number);
    await expect(clock.run(environment.issue())).rejects.toMatchObject({ type: 'internal' });
    expect(requests).toHaveLength(0);
  });
});

describe('an environment that cannot read the credential', () => {
  it('waits for the others while one of them holds the lease', async () => {
    const { clock, requests, surroundings, createEnvironment } = createFleet({ serviceLatencyMs: 500 });
    const holder = createEnvironment().issue();
    await clock.advance(100);
    surroundings.secretsFault = DOWN;
    const [first, second] = await clock.run(Promise.all([holder, createEnvironment().issue()]));
    expect(second.token.fingerprint).toBe(first.token.fingerprint);
    expect(requests).toHaveLength(1);
  });

  it('says so at once when nobody does, having tried once, although the store is down as well', async () => {
    const { clock, counts, createEnvironment } = createFleet({
      secretsFault: DOWN,
      storeFault: () => 'unavailable',
    });
    await expect(clock.run(createEnvironment().issue())).rejects.toMatchObject({ type: 'secrets-unavailable' });
    expect(counts.secretReads).toBe(1);
  });
});

/** The first calls of each operation go wrong. */
function failing(fault: StoreFault, times: Partial<Record<keyof PairStore, number>>) {
  const left = new Map(Object.entries(times));
  return (operation: keyof PairStore): StoreFault | undefined => {
    const rest = left.get(operation) ?? 0;
    left.set(operation, rest - 1);
    return rest > 0 ? fault : undefined;
  };
}

/** A fleet of which some environments have no sealing key: they see all of a record but its token. */
function fleetWithLock(record: Partial<PairRecord>) {
  const locked = new Set<number>();
  const fleet = createFleet({
    serviceLatencyMs: 500,
    storeFault: (operation, from) => (operation === 'read' && locked.has(from) ? 'locked' : undefined),
  });
  fleet.shared.change(pair, (empty) => ({ ...empty, ...record }));
  return { ...fleet, locked };
}
