import { describe, expect, it } from 'vitest';
import { exchange } from '../support/broker-world.ts';
import { fleetOf } from '../support/fleet-asks.ts';

const SECOND_MS = 1_000;
const DAY_MS = 24 * 60 * 60 * SECOND_MS;

describe('an environment without a sealing key, which can open and store no token,', () => {
  const alone = () => fleetOf(1, { storeFault: () => 'no-key' });

  it('sends a credential that the service refuses at most 40 times in a day', async () => {
    const { clock, requests, surroundings, askOne } = alone();
    surroundings.answer = () => exchange(404, {});
    for (let second = 0; second < DAY_MS / SECOND_MS; second += 15) {
      expect((await askOne()).problem?.retryAfterSeconds).toBeGreaterThan(0);
      await clock.advance(15 * SECOND_MS);
    }

    expect(requests.length).toBeLessThanOrEqual(40);
  });

  it('asks a service that is down at most ten times in a minute', async () => {
    const { clock, requests, surroundings, askOne } = alone();
    surroundings.answer = () => exchange(503, {});
    for (let second = 0; second < 60; second += 1) {
      expect((await askOne()).problem?.type).toBe('token-endpoint-unavailable');
      await clock.advance(SECOND_MS);
    }

    expect(requests.length).toBeLessThanOrEqual(10);
  });

  it('says to wait five minutes at most when its clock was set back, and is not held up for good', async () => {
    const { clock, surroundings, environments, askOne } = alone();
    surroundings.answer = () => exchange(429, {}, { 'retry-after': '300' });
    await askOne();
    environments[0]?.setClock(-600 * SECOND_MS);
    expect((await askOne()).problem?.retryAfterSeconds).toBeLessThanOrEqual(300);

    surroundings.answer = undefined;
    await clock.advance(900 * SECOND_MS);
    expect((await askOne()).issue).toBeDefined();
  });

  it('replaces refused tokens once in 30 seconds', async () => {
    const { clock, requests, askOne } = alone();
    let refused = (await askOne()).issue?.token.fingerprint;
    for (let second = 0; second < 60; second += 5) {
      const { issue } = await askOne({ refused });
      refused = issue?.token.fingerprint ?? refused;
      await clock.advance(5 * SECOND_MS);
    }

    expect(requests.length).toBeLessThanOrEqual(3);
  });
});
