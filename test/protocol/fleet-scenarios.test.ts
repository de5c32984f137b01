import { expect, it } from 'vitest';
import { ISSUE_REQUEST } from '../support/broker-world.ts';
import { MINUTE_MS, SECOND_MS } from '../support/example.ts';
import { fleetOf } from '../support/fleet/fleet.ts';

it('200 instances that start cold make one token request, and one in the soft window, for which only one caller waits', async () => {
  const { clock, requests, surroundings, askAll } = fleetOf(200);
  const tokens = new Set((await askAll()).map(({ issue }) => issue?.token.fingerprint));
  expect([tokens.size, requests.length]).toEqual([1, 1]);

  await clock.advance(55 * MINUTE_MS);
  surroundings.serviceLatencyMs = 800;
  const answers = await askAll();
  expect(requests).toHaveLength(2);
  expect(answers.filter(({ issue }) => issue?.cache === 'none')).toHaveLength(1);
  expect(answers.filter(({ waitMs }) => waitMs > 100)).toHaveLength(1);
});

it('a disabled client is stopped everywhere within 60 s, cached tokens included, and served again within 60 s', async () => {
  const { clock, shared, requests, askAll } = fleetOf(20);
  const flag = (disabled?: { since: number }) =>
    shared.change(ISSUE_REQUEST.pair, (record) => ({ ...record, disabled }));
  await askAll();
  flag({ since: clock.now() });
  await clock.advance(MINUTE_MS);
  // The second time from memory, which holds a living token.
  for (const { problem } of [...(await askAll()), ...(await askAll())]) expect(problem?.type).toBe('client-disabled');
  expect(requests).toHaveLength(1);

  flag();
  await clock.advance(MINUTE_MS);
  for (const { issue } of await askAll()) expect(issue).toBeDefined();
});

it('a latched pair has its secret read once in 5 s, not twice for each call', async () => {
  const { clock, counts, requests, askOne } = fleetOf(2, { accepted: new Set() });
  await askOne();
  counts.secretReads = 0;
  for (let second = 0; second < 60; second += 1) {
    expect((await askOne()).problem?.type).toBe('credential-rejected');
    await clock.advance(SECOND_MS);
  }
  expect(requests).toHaveLength(1);
  // The missing AWSPREVIOUS is read again. AWSCURRENT is trusted for 300 s.
  expect(counts.secretReads).toBeLessThanOrEqual(12);
});

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
