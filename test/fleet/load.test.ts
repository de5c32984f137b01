import { afterAll, beforeAll, expect, it } from 'vitest';
import { SECOND_MS } from '../support/example.ts';
import { type Answer, ask } from '../support/fleet/fleet.ts';
import { missingFleet, OUTCOMES, report, typesOf } from '../support/fleet/load.ts';
import { seededRandom } from '../support/seeded-random.ts';

/** Load that takes seconds to simulate; test/protocol/fleet-load has the rest. */

// Most of the calls are throttled, and a stack for each of them is a quarter of the work.
const { stackTraceLimit } = Error;
beforeAll(() => void Object.assign(Error, { stackTraceLimit: 0 }));
afterAll(() => void Object.assign(Error, { stackTraceLimit }));

it.each(OUTCOMES)(
  '10 000 instances that miss within a second cost one request, and each gets %s',
  async (what, changes, type) => {
    const { requests, askWithin } = missingFleet(10_000, 2, changes);
    const answers = await askWithin(SECOND_MS);
    report(`10 000 instances × 2 kB, ${what}`, answers);

    expect([requests.length, typesOf(answers)]).toEqual([1, [type]]);
  },
);

// A busy machine needs minutes.
it('1 500 callers of a wrong credential who come back each second do not pile up', { timeout: 600_000 }, async () => {
  const { clock, requests, instances } = missingFleet(1_500, 32, { accepted: new Set() });
  const start = clock.now();
  const answers: Answer[] = [];
  // In lockstep, some callers would meet a throttled key each second, always just after another caller.
  const random = seededRandom(1, 'callers');
  const caller = async (instance: (typeof instances)[number]) => {
    while (clock.now() - start < LASTS_MS) {
      answers.push(await ask(instance));
      await clock.sleep(SECOND_MS * (0.9 + 0.2 * random()));
    }
  };
  await clock.run(Promise.all(instances.map(caller)));
  report('1 500 callers × 32 kB, a rejection', answers);
  const underWay = answers.reduce((sum, { waitMs }) => sum + waitMs, 0) / LASTS_MS;
  process.stdout.write(`${underWay.toFixed(0)} calls were under way on average\n`);

  expect(requests).toHaveLength(1);
  const others = answers.filter(({ problem }) => problem?.type !== 'credential-rejected');
  expect(others.filter(({ at }) => at - start > 15 * SECOND_MS)).toEqual([]);
  expect(underWay).toBeLessThan(100);
});

/** All callers read the rejection, and read it again after a minute. */
const LASTS_MS = 90 * SECOND_MS;
