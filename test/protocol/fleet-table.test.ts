import { describe, expect, it } from 'vitest';
import { EMPTY_RECORD, type PairRecord } from '../../functions/broker/pair/record.ts';
import { ISSUE_REQUEST } from '../support/broker-world.ts';
import { ask, fleetOf } from '../support/fleet.ts';
import { seededRandom } from '../support/seeded-random.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const { pair } = ISSUE_REQUEST;

/** The token requests in four hours of 20 warm and 5 cold environments; every ten minutes the item may be replaced. */
async function fourHours(replace?: (backup: PairRecord) => PairRecord) {
  const fleet = fleetOf(25, { lifetimeSeconds: 1_800 });
  const { clock, shared, requests } = fleet;
  const environments = [...fleet.environments];
  const askEach = () => clock.run(Promise.all(environments.map((environment) => ask(environment))));
  await askEach();
  const backup = shared.peek(pair);
  for (let n = 0; n < 24 * LOOKS_BETWEEN_LOSSES; n += 1) {
    if (replace && n % LOOKS_BETWEEN_LOSSES === 20) shared.change(pair, () => replace(backup));
    // Five of them are always new.
    for (let cold = 20; cold < 25; cold += 1) {
      environments[cold]?.kill();
      environments[cold] = fleet.createEnvironment();
    }
    for (const { problem, waitMs } of await askEach()) {
      expect(problem).toBeUndefined();
      expect(waitMs).toBeLessThan(7 * SECOND_MS);
    }
    await clock.advance(15 * SECOND_MS);
  }
  return requests.length;
}

const LOOKS_BETWEEN_LOSSES = 40;

it('a table whose item is lost costs one token request more for each loss: no standstill and no storm', async () => {
  const undisturbed = await fourHours();

  expect(await fourHours(() => EMPTY_RECORD)).toBeLessThanOrEqual(undisturbed + 24);
  // An old state is restored, whose fences begin again.
  expect(await fourHours((backup) => backup)).toBeLessThanOrEqual(undisturbed + 24);
});

describe.each([10, 90])(
  'two releases of which neither opens what the other seals, with %i %% on the newer one,',
  (share) => {
    it.each([1, 2, 3])(
      'share the table for half an hour: no error, and at most one token request more a minute (seed %i)',
      async (seed) => {
        const { clock, shared, requests, createEnvironment } = fleetOf(0, { seed });
        const random = seededRandom(seed);
        const formatOf = (index: number) => (index < share / 5 ? 2 : 1);
        const environments = Array.from({ length: 20 }, (_, index) => createEnvironment({ format: formatOf(index) }));
        const tokens: (string | undefined)[] = [];
        const startedAt = clock.now();
        for (let second = 0; second < 30 * 60; second += 5) {
          // One environment a minute starts anew.
          if (second % 60 === 30) {
            const index = Math.floor(random() * environments.length);
            environments[index]?.kill();
            environments[index] = createEnvironment({ format: formatOf(index) });
          }
          for (const { problem } of await clock.run(Promise.all(environments.map((one) => ask(one))))) {
            expect(problem).toBeUndefined();
          }
          const token = shared.peek(pair).token?.fingerprint;
          if (token !== tokens.at(-1)) tokens.push(token);
          await clock.advance(5 * SECOND_MS);
        }

        const minutes = (clock.now() - startedAt) / MINUTE_MS;
        // Without a second format there is one token request in this time.
        expect(requests.length).toBeLessThanOrEqual(1 + minutes);
        // No two tokens take turns: what was replaced never comes back, and nothing is replaced within a minute.
        expect(new Set(tokens).size).toBe(tokens.length);
        expect(tokens.length).toBeLessThanOrEqual(minutes);
      },
    );
  },
);
