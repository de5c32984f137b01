import { expect, it } from 'vitest';
import { MINUTE_MS, SECOND_MS } from '../support/example.ts';
import { fleetOf } from '../support/fleet/fleet.ts';

it('a caller watches each lease anew: of 20 callers that waited for a holder that died, one sends the next request', async () => {
  const { clock, requests, createInstance, askAll } = fleetOf(20, { serviceLatencyMs: 3 * SECOND_MS });
  const holder = createInstance();
  void holder.issue();
  await clock.advance(50);
  holder.kill();
  for (const { issue } of await askAll()) expect(issue).toBeDefined();

  expect(requests.map(({ from }) => from === holder.number)).toEqual([true, false]);
});

it.each([-10, 10])(
  'a clock that is %i minutes off keeps no caller from a token, and costs few requests',
  async (minutes) => {
    const { clock, requests, instances, askAll } = fleetOf(4);
    const [wrong = expect.fail()] = instances;
    for (let hour = 0; hour < 6; hour += 1) {
      Object.assign(wrong.state, { skewMs: hour < 3 ? minutes * MINUTE_MS : 0 });
      for (let n = 0; n < 12; n += 1) {
        for (const { issue } of await askAll()) expect(issue).toBeDefined();
        await clock.advance(5 * MINUTE_MS);
      }
    }
    expect(requests.length).toBeLessThanOrEqual(15);
  },
);
