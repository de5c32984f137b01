import { describe, expect, it } from 'vitest';
import { SECOND_MS } from '../support/example.ts';
import { fleetOf } from '../support/fleet/fleet.ts';
import { missingFleet, OUTCOMES, report, slowTable, typesOf } from '../support/fleet/load.ts';

/** What load alone costs: nothing is down, and DynamoDB throttles the key of one pair. */

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
