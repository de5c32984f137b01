import { describe, expect, it } from 'vitest';
import type { PairRecord } from '../../../../functions/broker/pair/record.ts';
import { Problem } from '../../../../functions/broker/problem.ts';
import { createBrokerWorld, SECRETS_DOWN, SETTINGS_DIGEST } from '../../../support/broker-world.ts';
import { HOUR_MS, MINUTE_MS, PAIR, SECOND_MS, START } from '../../../support/example.ts';
import type { StoreFault } from '../../../support/fleet/surroundings.ts';
import { exampleToken, exampleWait } from '../../../support/pair/pair-examples.ts';
import { createReferencePairStore } from '../../../support/pair/reference-pair-store.ts';
import { type Changes, startInstance } from './lone-instance.ts';

/** The loop of a call, where its table answers. test/protocol has the same loop in all its orders and with all faults. */

const LEASE_MS = 6_000;
const NEW = 'token-1000000000';
const DOWN = () => new Problem('token-endpoint-unavailable', 'down', { cause: 'why' });
const ROTATED = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
/** Its renewal is due. */
const TOKEN = exampleToken({ refreshAt: START });
const { fingerprint: OLD } = TOKEN;
const WAIT = exampleWait(START + 1);
const leaseFor = (ms: number) => ({ lease: { id: 'another', until: START + ms } });

describe('a call that waits', () => {
  it.each<[string, number, number, readonly number[]]>([
    ['25 ms, doubling up to 250', 0, LEASE_MS, [0, 25, 75, 175, 375, 625, 875]],
    ['and half as much again', 0.5, LEASE_MS, [0, 37.5, 112.5, 262.5, 562.5, 937.5, 1312.5]],
    ['soon after the lease ends, and not all at once', 0.9, 60, [0, 47.5, 105]],
  ])('looks again after %s', async (_, random, leaseMs, expected) => {
    const { surroundings, give, passed } = startInstance(leaseFor(leaseMs), { random: () => random });
    const looks: number[] = [];
    surroundings.storeFault = (operation) => void (operation === 'read' && looks.push(passed()));
    expect(await give()).toBe(NEW);
    expect(looks.slice(0, 7)).toEqual(expected);
  });

  it('sleeps no longer than its call, and hears to come back in a second', async () => {
    const { askOne, passed } = startInstance(leaseFor(LEASE_MS));
    const problem = { type: 'token-endpoint-timeout', detail: 'No token came in time.', retryAfterSeconds: 1 };
    expect((await askOne({}, 60)).problem).toMatchObject(problem);
    expect(passed()).toBe(60);
  });
});

it.each([
  ['whose time has passed is over', 0, 0],
  ['is over at its time', 4_000, 4_000],
  ['of a fast clock is over when it was watched for its length', LEASE_MS + MINUTE_MS, LEASE_MS],
  ['of a clock that is further ahead than a clock can be off is none', LEASE_MS + MINUTE_MS + 1, 0],
])('the lease of another call %s', async (_, lengthMs, endMs) => {
  const { give, passed } = startInstance(leaseFor(lengthMs));
  expect([await give(), passed()]).toEqual([NEW, endMs]);
});

it('a version is sent only if it was read after the end of the look, not while the look was under way', async () => {
  const latencies = [20];
  const { clock, surroundings, versions, instance } = startInstance(
    {},
    { answer: DOWN, stages: { AWSCURRENT: 'v1', AWSPREVIOUS: 'v0' }, storeLatencyMs: () => latencies.shift() ?? 0 },
  );
  const asked = instance.issue().catch(() => 'failed');
  await clock.run(instance.check({ stage: 'AWSPREVIOUS' }));
  await clock.advance(1);
  surroundings.stages = ROTATED;
  expect(await clock.run(asked)).toBe('failed');
  expect(versions()).toEqual(['v0', 'v2']);
  // A check asks for the previous version.
  expect(instance.traces[1]?.warnings).toEqual(new Set());
});

it('an answer of the table needs no secret, and a time that no clock can have written does not count', async () => {
  const { callsOf, askOne, give } = startInstance({ token: exampleToken(), forcedAt: START + HOUR_MS });
  expect(await callsOf(askOne)).toEqual({ read: 1 });
  expect(await give({ refused: OLD })).toBe(NEW);
});

it.each([
  ['a call', { attemptedAt: START + SECOND_MS, forcedAt: START + SECOND_MS }],
  ['a check', { attemptedAt: 0, forcedAt: 0 }],
])('the lease of %s counts as an attempt, and a forced one as forced', async (what, times) => {
  const token = exampleToken({ issuedAt: START - HOUR_MS });
  const { clock, instance, give, recordNow } = startInstance({ token }, { answer: DOWN });
  await clock.advance(SECOND_MS);
  await (what === 'a check' ? clock.run(instance.check()) : give({ refused: OLD }));
  expect(recordNow()).toMatchObject({ ...times, pause: { step: 1 } });
});

it('a token that ended while its instance was frozen is for no caller', async () => {
  const { give, failOn, recordNow } = startInstance({}, { lifetimeSeconds: 5 });
  failOn('replace', (n) => n === 2 && 'freeze');
  expect(await give({}, LEASE_MS)).toBe('token-endpoint-timeout');
  expect(recordNow().token?.fingerprint).toBe(NEW);
});

describe('a renewal', () => {
  it('answers with the new token, as one that no cache had', async () => {
    const { askOne } = startInstance({ token: TOKEN });
    expect((await askOne()).issue).toMatchObject({ cache: 'none', token: { fingerprint: NEW } });
  });

  it.each<[string, Changes, StoreFault?]>([
    ['fails', { answer: DOWN }],
    ['is rejected', { accepted: new Set() }],
    ['gets no secret', { secret: () => SECRETS_DOWN }],
    ['has a version that is held', { record: { token: TOKEN, held: new Map([[`v1:${SETTINGS_DIGEST}`, WAIT]]) } }],
    ['gets no answer from the table', {}, 'unavailable'],
    ['meets a busy table', {}, 'busy'],
  ])('that %s leaves the old token, without another look', async (_, changes, fault) => {
    const { give, failOn, counts, requests, passed } = startInstance({ token: TOKEN }, changes);
    failOn('replace', () => fault ?? false);
    expect([await give(), passed(), counts.storeCalls.read]).toEqual([OLD, 0, 1]);
    expect(requests.length).toBeLessThanOrEqual(1);
  });

  it('that loses its lease leaves the old token, or what the operator wants', async () => {
    for (const disabled of [undefined, { since: START }]) {
      const { shared, give, counts, instance, clock } = startInstance({ token: TOKEN });
      const { replace } = shared;
      shared.replace = async (...write) => {
        shared.change(PAIR, (record) => ({ ...record, disabled }));
        // Another call of the instance sees it.
        if (counts.storeCalls.read === 1) await clock.run(instance.issue({ refused: 'unknown' }).catch(() => 0));
        return replace(...write);
      };
      expect(await give()).toBe(disabled ? 'client-disabled' : OLD);
    }
  });

  it('whose living token has ended meanwhile is followed by another look', async () => {
    const token = exampleToken({ refreshAt: START, expiresAt: START + 30_150, lifetimeSeenMs: HOUR_MS });
    const { give, failOn, counts } = startInstance({ token }, { storeLatencyMs: 100 });
    failOn('replace', (n) => n === 1 && 'unavailable');
    expect([await give(), counts.storeCalls.read]).toEqual([NEW, 2]);
  });

  it('that cannot have a lease costs one write and one read of the secret in 15 s, not one per call', async () => {
    const { clock, give, failOn, counts } = startInstance({ token: TOKEN });
    failOn('replace', () => 'busy');
    for (let n = 0; n < 60; n += 1) {
      expect(await give({ refused: 'unknown' })).toBe(OLD);
      await clock.advance(SECOND_MS);
    }
    expect([counts.storeCalls.replace, counts.secretReads]).toEqual([60 / 15, 60 / 15]);
  });
});

describe('a token request that is rejected', () => {
  it('is followed by another look and another lease, with a secret that was read after it', async () => {
    const { give, surroundings, versions, counts, warnings } = startInstance(
      {},
      { accepted: new Set(['v2']), serviceLatencyMs: 1 },
    );
    surroundings.answer = () => void Object.assign(surroundings, { stages: { AWSCURRENT: 'v2' } });
    expect(await give()).toBe('token-2000000000');
    expect(versions()).toEqual(['v1', 'v2']);
    expect(counts).toEqual({ secretReads: 2, storeCalls: { read: 2, replace: 4 } });
    expect(warnings()).toEqual(['rejected']);
  });

  it('reaches later callers without another reading of the secret', async () => {
    const { clock, give, callsOf } = startInstance({}, { accepted: new Set() });
    await give();
    await clock.advance(SECOND_MS);
    expect(await callsOf(give)).toEqual({ read: 1 });
  });

  it('has the predecessor sent, and none twice, also with a table that confirms writes and forgets them', async () => {
    const { give, shared, versions, warnings } = startInstance({}, { stages: ROTATED, accepted: new Set() });
    shared.replace = async (_pair, _seen, record) => ({ record, tag: 'forgotten' });
    expect(await give()).toBe('credential-rejected');
    expect(versions()).toEqual(['v2', 'v1']);
    expect(warnings()).toEqual(['rejected', 'previous-version']);
  });
});

describe('a lease whose write went unanswered', () => {
  it('is found at the next look, and used for the one request that it is for', async () => {
    const { give, loseLease, requests, passed, recordNow } = startInstance();
    loseLease(0);
    expect([await give(), passed(), requests.length]).toEqual([NEW, 25, 1]);
    expect(recordNow()).toMatchObject({ lease: undefined, token: { fingerprint: NEW } });
  });

  it('that is found after its version was sent under another one is left to run out', async () => {
    const { give, shared, requests } = startInstance({}, { accepted: new Set() });
    const earlier = await shared.read(PAIR, { deadline: Infinity });
    const { replace } = shared;
    let late: () => Promise<unknown> = () => Promise.reject(new Error('lost'));
    let n = 0;
    shared.replace = async (...write) => {
      n += 1;
      if (n === 1) late = () => replace(...write);
      if (n === 1) throw new Error('lost');
      const written = await replace(...write);
      // The item is restored after the rejection was written.
      if (n === 3) shared.restore(PAIR, earlier);
      if (n === 3) await late();
      return written;
    };
    expect(await give()).toBe('credential-rejected');
    expect(requests).toHaveLength(1);
  });

  it('that is found with too little time to send in is left to run out, and the call takes another at once', async () => {
    const { give, loseLease, requests } = startInstance();
    loseLease(LEASE_MS - 800);
    expect(await give()).toBe(NEW);
    // It does not wait for the end of a lease of its own.
    expect((requests[0]?.at ?? Infinity) - START).toBeLessThan(LEASE_MS);
  });

  it('is not used once an operator has disabled the client', async () => {
    const { give, surroundings, shared, requests } = startInstance();
    surroundings.storeFault = (operation) => (operation === 'replace' ? 'answer-lost' : undefined);
    surroundings.onWrite = () => shared.disable(PAIR, START);
    expect(await give()).toBe('client-disabled');
    expect(requests).toEqual([]);
  });
});

describe('the time of a call', () => {
  it.each([
    ['neither reads the secret nor takes a lease', 249, 0, { secretReads: 0, requests: 0 }],
    ['after it has read the secret takes no lease', 300, 51, { secretReads: 1, requests: 0 }],
    ['or just that makes its request', 250, 0, { secretReads: 1, requests: 1 }],
  ])('with less than a quarter of a second %s', async (_, endMs, secretsLatencyMs, expected) => {
    const { counts, give, requests, recordNow } = startInstance({}, { secretsLatencyMs, serviceLatencyMs: HOUR_MS });
    expect(await give({}, endMs)).toMatch(/^token-endpoint-/);
    expect({ secretReads: counts.secretReads, requests: requests.length }).toEqual(expected);
    expect(recordNow().lease).toBeUndefined();
  });

  const another = exampleToken({ refreshAt: START, credentialVersion: 'v0' });
  const unheard = { ...exampleWait(START, 'token-endpoint-timeout'), unheard: true } as const;
  const checked = { version: 'v1', at: START, finding: 'accepted' } as const;
  it.each<[string, number, Partial<PairRecord>, object?, number?]>([
    ['with the time-out of its service', 4_000, {}],
    ['with its call', 3_999, {}, {}, 3_999],
    ['after a second when it renews', 1_000, { token: TOKEN }],
    ['after a second when the version was accepted in a check', 1_000, { token: another, checked }],
    ['later with a version that is not proven', 4_000, { token: another }],
    ['later when the last one brought no answer', 4_000, { token: TOKEN, pause: unheard }],
    ['after a second when it failed', 1_000, { token: TOKEN, pause: exampleWait(START) }],
    ['with the time-out of its service when the token was refused', 4_000, { token: TOKEN }, { refused: OLD }],
  ])('ends a token request %s', async (_, endMs, record, request, withinMs = 10_000) => {
    const { give, passed } = startInstance(record, { serviceLatencyMs: HOUR_MS });
    const given = record.token && !request ? OLD : 'token-endpoint-timeout';
    expect([await give(request, withinMs), passed()]).toEqual([given, endMs]);
  });

  it('ends a token request 650 ms before its lease: for clocks that differ, and to write its outcome', async () => {
    const { give, loseLease, passed } = startInstance({}, { serviceLatencyMs: HOUR_MS });
    loseLease(3 * SECOND_MS);
    expect([await give(), passed()]).toEqual(['token-endpoint-timeout', LEASE_MS - 650]);
  });

  it.each<[string, number, number, Set<string>, string]>([
    ['half a second before the lease ends', 10_000, 5_500, new Set(['v1']), NEW],
    ['200 ms after the call at the latest', 5_000, 5_200, new Set(['v1']), NEW],
    ['200 ms after the call when it is a rejection', 10_000, 10_200, new Set(), 'credential-rejected'],
  ])('has an outcome written until %s', async (_, withinMs, endMs, accepted, expected) => {
    const { give, failOn, requests, passed, clock, surroundings } = startInstance({}, { accepted });
    failOn('replace', (n) => n > 1 && 'busy');
    expect([await give({}, withinMs), passed(), requests.length]).toEqual([expected, endMs, 1]);
    // The instance remembers nothing of its own.
    surroundings.storeFault = () => 'refused';
    await clock.advance(MINUTE_MS);
    expect(await give()).toBe('table-unavailable');
  });
});

describe('an outcome whose write fails', () => {
  it.each<[number, number, StoreFault]>([
    [0, 50, 'busy'],
    [0.5, 75, 'busy'],
    // Three failures open the circuit.
    [0, 50, 'unavailable'],
  ])(
    'is written again from the same record after 50 to 100 ms, without a look (%d)',
    async (random, pauseMs, fault) => {
      const { give, failOn, counts, passed, recordNow } = startInstance({}, { random: () => random });
      failOn('replace', (n) => n >= 2 && n <= 5 && fault);
      expect([await give(), counts.storeCalls.read, passed()]).toEqual([NEW, 1, 4 * pauseMs]);
      expect(recordNow()).toMatchObject({ lease: undefined, token: { fingerprint: NEW } });
    },
  );

  it('is looked at again when another write came first, also past a circuit that is open', async () => {
    const { give, shared, failOn, recordNow, surroundings } = startInstance({}, { accepted: new Set() });
    failOn('read', (n) => n >= 2 && n <= 5 && 'unavailable');
    surroundings.answer = () => void shared.change(PAIR, (record) => ({ ...record, forcedAt: START }));
    expect(await give()).toBe('credential-rejected');
    const rejected = new Map([['v1', { count: 1, at: START, by: 'call-1' }]]);
    expect(recordNow()).toMatchObject({ lease: undefined, forcedAt: START, rejected });
  });
});

it('a failure reaches the caller with its problem, in whole seconds', async () => {
  const { askOne } = startInstance({}, { answer: DOWN });
  const problem = { type: 'token-endpoint-unavailable', detail: 'down', retryAfterSeconds: 1, cause: 'why' };
  expect((await askOne()).problem).toMatchObject(problem);
});

it('a defect of the broker leaves the lease to run out, so that the fleet sends one request per lease', async () => {
  const bug = new TypeError('a bug');
  const answer = () => {
    throw bug;
  };
  const { give, recordNow } = startInstance({}, { answer });
  await expect(give()).rejects.toBe(bug);
  expect(recordNow()).toMatchObject({ lease: { id: 'call-1' }, pause: undefined });
});

it.each(['read', 'replace'])('a bug of the store is not hidden, not even in a renewal: %s', async (operation) => {
  const bug = new TypeError('not the requested item');
  const store = createReferencePairStore();
  store.change(PAIR, (record) => ({ ...record, token: TOKEN }));
  const { issue } = createBrokerWorld({ store: { ...store, [operation]: () => Promise.reject(bug) } });
  await expect(issue()).rejects.toBe(bug);
});
