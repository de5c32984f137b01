import { expect, it } from 'vitest';
import { cleared } from '../../functions/broker/pair/transitions.ts';
import { SECOND_MS } from '../support/example.ts';
import { fleetOf } from '../support/fleet/fleet.ts';

/** Rules of which a unit test shows the step, and only a fleet shows the harm that they prevent. */
const LEASE_MS = 6 * SECOND_MS;

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

it('a caller watches a lease on its own clock: a holder whose clock is 30 s ahead, and that dies, costs its lease', async () => {
  const { clock, createInstance, askOne } = fleetOf(1);
  const holder = createInstance({ skewMs: 30 * SECOND_MS });
  void holder.issue();
  await clock.advance(50);
  holder.kill();
  const { issue, waitMs } = await askOne();

  expect(issue).toBeDefined();
  expect(waitMs).toBeGreaterThan(LEASE_MS - SECOND_MS);
  expect(waitMs).toBeLessThan(LEASE_MS + SECOND_MS);
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

it('what a call has sent counts as latched for it, also when an operator retries before its next look', async () => {
  const { shared, surroundings, requests, askOne, instances } = fleetOf(2, { accepted: new Set() });
  const { replace } = shared;
  shared.replace = async (which, seen, next, deadline) => {
    const written = await replace(which, seen, next, deadline);
    if (next.rejected.size > 0) {
      shared.change(which, cleared);
      surroundings.accepted = new Set(['v1']);
    }
    return written;
  };
  const { problem, waitMs } = await askOne();
  expect([problem?.type, waitMs < SECOND_MS]).toEqual(['credential-rejected', true]);

  const next = await askOne({}, instances[1]);
  expect([next.issue?.cache, next.waitMs < SECOND_MS, requests.length]).toEqual(['none', true, 2]);
});
