import { describe, expect, it } from 'vitest';
import { ask, fleetOf } from '../support/fleet-asks.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

describe('an environment whose clock is an hour ahead', () => {
  it('publishes a token that the others do not take: none is issued after its end', async () => {
    const { clock, surroundings, createEnvironment } = fleetOf(0);
    surroundings.lifetimeSeconds = 3_600;
    const startedAt = clock.now();
    const ahead = createEnvironment({ skewMs: HOUR_MS });
    const right = createEnvironment();
    const { issue: early } = await clock.run(ask(ahead));
    const { issue } = await clock.run(ask(right));
    expect(issue?.token.fingerprint).not.toBe(early?.token.fingerprint);

    while (clock.now() < startedAt + 2 * HOUR_MS) {
      const { issue } = await clock.run(ask(right));
      const { issuedAt = 0, expiresAt = 0 } = issue?.token ?? {};
      // What the service said when it issued the token, by the true time.
      expect(clock.now() - issuedAt).toBeLessThan(HOUR_MS);
      expect(expiresAt).toBeLessThanOrEqual(issuedAt + HOUR_MS);
      await clock.advance(5 * MINUTE_MS);
    }
  });

  it('by less than half a minute shares its tokens', async () => {
    const { clock, requests, createEnvironment } = fleetOf(0);
    await clock.run(ask(createEnvironment({ skewMs: 29 * SECOND_MS })));
    const { issue } = await clock.run(ask(createEnvironment()));

    expect(issue?.cache).toBe('shared');
    expect(requests).toHaveLength(1);
  });
});

describe('an environment whose clock is set back', () => {
  it('trusts nothing that it remembers, and asks the table', async () => {
    const { clock, environments, counts } = fleetOf(1);
    const [environment] = environments;
    if (environment === undefined) throw new Error('no environment');
    await clock.run(ask(environment));
    await clock.advance(10 * SECOND_MS);
    const before = counts.storeCalls.read ?? 0;
    environment.setClock(-20 * SECOND_MS);
    await clock.run(ask(environment));

    expect(counts.storeCalls.read).toBe(before + 1);
  });
});
