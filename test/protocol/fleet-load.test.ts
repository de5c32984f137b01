import { describe, expect, it } from 'vitest';
import { ISSUE_REQUEST } from '../support/broker-world.ts';
import { MINUTE_MS, SECOND_MS } from '../support/example.ts';
import { type Answer, fleetOf } from '../support/fleet/fleet.ts';
import { describeWaits, missingFleet, slowTable } from '../support/fleet/load.ts';
import type { StoreFault } from '../support/fleet/surroundings.ts';
import { oldToken } from '../support/pair/pair-examples.ts';

/** What load alone costs: nothing is down, and DynamoDB throttles the key of one pair. */

const WRONG = { accepted: new Set<string>() };
const OUTCOMES = [
  ['a token', {}, undefined],
  ['a rejection', WRONG, 'credential-rejected'],
] as const;
const typesOf = (answers: readonly Answer[]) => [...new Set(answers.map(({ problem }) => problem?.type))];
const report = (title: string, answers: readonly Answer[]) =>
  process.stdout.write(`${title}: ${describeWaits(answers.map(({ waitMs }) => waitMs))}\n`);

describe.each([
  [1_000, 2],
  [2_000, 2],
  [500, 8],
  [1_000, 8],
  [200, 16],
  [500, 16],
])('%i instances that miss a token of %i kB at one instant', (count, tokenKb) => {
  it.each(OUTCOMES)('cost one request, and each gets %s', async (what, changes, type) => {
    const { requests, askAll } = missingFleet(count, tokenKb, changes);
    const answers = await askAll();
    report(`${count} instances × ${tokenKb} kB, ${what}`, answers);

    expect([requests.length, typesOf(answers)]).toEqual([1, [type]]);
  });
});

describe('a store that is busy with all calls for 10 minutes', () => {
  const busy = (): StoreFault => 'busy';
  const tenMinutes = async (fleet: ReturnType<typeof fleetOf>) => {
    const answers: Answer[] = [];
    const end = fleet.clock.now() + 10 * MINUTE_MS;
    for (; fleet.clock.now() < end; await fleet.clock.advance(5 * SECOND_MS)) answers.push(...(await fleet.askAll()));
    return answers;
  };

  it('makes no instance send a request or take a lease, and callers learn when to come back', async () => {
    const fleet = fleetOf(20, { storeFault: busy, ...WRONG });
    const answers = await tenMinutes(fleet);

    expect([fleet.requests.length, fleet.recordNow().lease]).toEqual([0, undefined]);
    expect(typesOf(answers)).toEqual(['table-unavailable']);
    expect(answers.every(({ problem, waitMs }) => problem?.retryAfterSeconds === 5 && waitMs <= 14_500)).toBe(true);
    expect(fleet.instances.every(({ traces }) => traces.every(({ warnings }) => warnings.has('table-busy')))).toBe(
      true,
    );
    fleet.surroundings.storeFault = undefined;
    expect(typesOf(await fleet.askAll())).toEqual(['credential-rejected']);
    expect(fleet.requests).toHaveLength(1);
  });

  it('does not keep the secret from stopping its client within 60 s', async () => {
    const fleet = fleetOf(20);
    await fleet.askAll();
    await fleet.clock.advance(MINUTE_MS);
    fleet.surroundings.storeFault = busy;
    await fleet.askAll();
    fleet.surroundings.secret = () => ({ outcome: 'stopped', cause: 'AccessDeniedException' });
    await fleet.clock.advance(MINUTE_MS);

    expect(typesOf(await fleet.askAll())).toEqual(['client-disabled']);
  });
});

/** Makes an instance look at the table. */
const UNKNOWN = { refused: 'unknown' };

it.each(OUTCOMES)(
  '200 warm instances on a table that is slow for one call in twenty cost one request, and each gets %s',
  async (what, changes, type) => {
    const fleet = fleetOf(200, { lifetimeSeconds: 60 });
    await fleet.askAll();
    await fleet.clock.advance(20 * SECOND_MS);
    // Keeps the connections warm until no caller may receive the token any more.
    await fleet.askAll(UNKNOWN);
    await fleet.clock.advance(28.5 * SECOND_MS);
    Object.assign(fleet.surroundings, changes, { storeLatencyMs: slowTable(0.05) });
    fleet.requests.length = 0;
    const answers = await fleet.askAll();
    report(`200 instances on a slow table, ${what}`, answers);

    expect([fleet.requests.length, typesOf(answers)]).toEqual([1, [type]]);
  },
);

it('200 warm instances on such a table renew a token once', async () => {
  const fleet = fleetOf(200);
  const refreshAt = fleet.clock.now() + 40 * SECOND_MS;
  fleet.shared.change(ISSUE_REQUEST.pair, (empty) => ({ ...empty, token: { ...oldToken(), refreshAt } }));
  await fleet.askAll();
  await fleet.clock.advance(20 * SECOND_MS);
  await fleet.askAll(UNKNOWN);
  await fleet.clock.advance(20 * SECOND_MS);
  Object.assign(fleet.surroundings, { storeLatencyMs: slowTable(0.05) });
  const answers = await fleet.askAll();

  expect([fleet.requests.length, typesOf(answers)]).toEqual([1, [undefined]]);
});
