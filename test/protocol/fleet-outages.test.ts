import { describe, expect, it } from 'vitest';
import type { PairStore } from '../../functions/broker/pair/store.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { ISSUE_REQUEST, SECRETS_DOWN } from '../support/broker-world.ts';
import { MINUTE_MS, SECOND_MS } from '../support/example.ts';
import { ask, fleetOf } from '../support/fleet/fleet.ts';
import { slowTable } from '../support/fleet/load.ts';
import type { StoreFault } from '../support/fleet/surroundings.ts';

/** Secrets Manager answers nothing within its second. */
const SECRETS_HANGING = { secret: () => SECRETS_DOWN, secretsLatencyMs: SECOND_MS };

describe('the calls that a token costs', () => {
  it('are none when memory knows why there is none', async () => {
    const { callsOf, askOne } = fleetOf(1, { answer: () => new Problem('token-endpoint-unavailable', 'down') });
    await askOne();
    expect(await callsOf(askOne)).toEqual({});
  });

  it.each([
    ['a new one after 2 minutes, with a credential that is still trusted', 60, 2 * MINUTE_MS],
    ['a renewal in the soft window', 3_600, 55 * MINUTE_MS],
  ])(
    'are one read, one write for the lease and one for the outcome, and one secret for %s',
    async (_, lifetimeSeconds, idleMs) => {
      const { clock, requests, callsOf, askOne } = fleetOf(1, { lifetimeSeconds });
      await askOne();
      await clock.advance(idleMs);
      requests.length = 0;

      expect(await callsOf(askOne)).toEqual({ read: 1, replace: 2, secret: 1 });
      expect(requests).toHaveLength(1);
    },
  );
});

/** All that a store can do wrong for as long as it lasts. The wait of a cold caller: three limits of 500 ms and the polls between. */
const OUTAGES: readonly [StoreFault, number][] = [
  ['unavailable', 500],
  ['hanging', 2_000],
  ['answer-lost', 500],
  ['busy', 14_500],
  ['busy-then-hanging', 2_000],
  ['answer-lost-then-busy', 14_500],
  ['refused', 0],
  ['no-key', 0],
];
const NEEDS_TABLE = { type: 'table-unavailable' };

describe.each(OUTAGES)('a table that is %s', (fault, coldMs) => {
  it('has no cold caller cause a token request: many wait for three limits at most, and later ones not at all', async () => {
    // Instances that look again and again cost the most.
    const { requests, clock, instances, askAll } = fleetOf(/busy$/.test(fault) ? 40 : 200, {
      storeFault: () => fault,
      accepted: new Set(),
    });
    const first = await askAll();
    for (const { problem, waitMs } of first) {
      expect(problem).toMatchObject(NEEDS_TABLE);
      expect(problem?.retryAfterSeconds).toBeGreaterThanOrEqual(5);
      expect(waitMs).toBeLessThanOrEqual(coldMs + 20);
    }
    expect(instances[0]?.traces[0]?.warnings.has(/busy$/.test(fault) ? 'table-busy' : 'table-unavailable')).toBe(true);
    // Throttling is an answer: it opens no circuit.
    for (const { waitMs } of await askAll()) expect(waitMs).toBeLessThanOrEqual(/busy$/.test(fault) ? coldMs : 0);
    await clock.advance(MINUTE_MS);
    await askAll();
    expect(requests).toEqual([]);
  });

  it('keeps no caller from the token in memory until it ends, then no instance requests one, and all have one when it is back', async () => {
    const { clock, surroundings, requests, recordNow, askAll } = fleetOf(5);
    await askAll();
    const lastAt = (recordNow().token?.expiresAt ?? 0) - 30 * SECOND_MS;
    surroundings.storeFault = () => fault;
    for (let minute = 0; minute < 70; minute += 1) {
      for (const { issue, problem, at, waitMs } of await askAll()) {
        expect(issue?.cache ?? problem?.type).toBe(at < lastAt ? 'memory' : 'table-unavailable');
        expect(waitMs).toBeLessThanOrEqual(issue ? 3 * 520 : coldMs + 20);
      }
      await clock.advance(MINUTE_MS);
    }
    expect(requests).toHaveLength(1);
    surroundings.storeFault = undefined;
    await clock.advance(10 * SECOND_MS);
    for (const { issue, waitMs } of await askAll())
      expect([issue !== undefined, waitMs < SECOND_MS]).toEqual([true, true]);
  });
});

it.each(OUTAGES.filter(([fault]) => !fault.includes('lost')))(
  'a table whose writes are %s and whose reads answer has nothing sent, and the second cold caller waits for nothing',
  async (fault, coldMs) => {
    const storeFault = (operation: keyof PairStore) => (operation === 'replace' ? fault : undefined);
    const { requests, askOne } = fleetOf(1, { storeFault });
    const first = await askOne();
    expect([first.problem?.type, first.waitMs <= coldMs + 200]).toEqual(['table-unavailable', true]);
    const second = await askOne();
    expect(second.problem).toMatchObject(NEEDS_TABLE);
    if (fault !== 'busy') expect(second.waitMs).toBeLessThanOrEqual(30);
    expect(requests).toEqual([]);
  },
);

describe('what went wrong beside the lease before only the table decided', () => {
  it.each([
    ['10 instances whose writes are throttled after 100 ms', 10, () => 100],
    ['40 instances whose writes are throttled, of a table of which 5 % takes 250 ms', 40, slowTable(0.05)],
  ])('%s send nothing', async (_, count, storeLatencyMs) => {
    const storeFault = (operation: keyof PairStore) => (operation === 'replace' ? 'busy' : undefined);
    const { requests, askAll } = fleetOf(count, { storeFault, storeLatencyMs, accepted: new Set() });
    for (const { problem } of await askAll()) expect(problem).toMatchObject(NEEDS_TABLE);
    expect(requests).toEqual([]);
  });

  it('one instance that is asked for 1 001 pairs in turn sends nothing while the table is silent, in no round', async () => {
    const { requests, createInstance, clock } = fleetOf(0, { storeFault: () => 'hanging' });
    const instance = createInstance();
    for (let round = 0; round < 2; round += 1) {
      for (let n = 0; n < 1_001; n += 1) {
        const pair = { ...ISSUE_REQUEST.pair, client: `client-${n}` };
        expect((await clock.run(ask(instance, { pair }))).problem).toMatchObject(NEEDS_TABLE);
      }
    }
    expect(requests).toEqual([]);
  });

  it('a stop that was heard, then 1 000 other names, then no answer of Secrets Manager either: no token comes back', async () => {
    const { surroundings, clock, createInstance } = fleetOf(0);
    const instance = createInstance();
    const asked = (client: string) => clock.run(ask(instance, { pair: { ...ISSUE_REQUEST.pair, client } }));
    await asked('acme');
    await clock.advance(5 * MINUTE_MS);
    surroundings.storeFault = () => 'unavailable';
    surroundings.secret = () => ({ outcome: 'stopped', cause: 'AccessDeniedException' });
    expect((await asked('acme')).problem?.type).toBe('client-disabled');
    surroundings.storeFault = undefined;
    surroundings.secret = undefined;
    await clock.advance(11 * SECOND_MS);
    for (let n = 0; n < 1_000; n += 1) await asked(`client-${n}`);
    Object.assign(surroundings, SECRETS_HANGING, { storeFault: () => 'unavailable' });
    await clock.advance(MINUTE_MS);
    expect((await asked('acme')).problem).toMatchObject(NEEDS_TABLE);
  });

  it('a client that is enabled while the table is busy stays disabled for a minute, waits for the table, and has a token then', async () => {
    const { shared, surroundings, clock, askOne } = fleetOf(1);
    const setDisabled = (disabled: { since: number } | undefined) =>
      shared.change(ISSUE_REQUEST.pair, (record) => ({ ...record, disabled }));
    await askOne();
    setDisabled({ since: clock.now() });
    await clock.advance(MINUTE_MS);
    expect((await askOne()).problem?.type).toBe('client-disabled');
    surroundings.storeFault = () => 'busy';
    setDisabled(undefined);
    await clock.advance(30 * SECOND_MS);
    expect((await askOne()).problem?.type).toBe('client-disabled');
    await clock.advance(30 * SECOND_MS);
    expect((await askOne()).problem).toMatchObject(NEEDS_TABLE);
    surroundings.storeFault = undefined;
    expect((await askOne()).issue).toBeDefined();
  });
});
