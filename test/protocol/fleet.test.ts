import { describe, expect, it } from 'vitest';
import { Problem } from '../../functions/broker/problem.ts';
import { createFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

describe('a fleet of 200 environments', () => {
  it('that starts cold makes one token request', async () => {
    const { clock, requests, createEnvironment } = createFleet({ serviceLatencyMs: 150 });
    const environments = Array.from({ length: 200 }, () => createEnvironment());
    const issues = await clock.run(Promise.all(environments.map(({ issue }) => issue())));

    expect(requests).toHaveLength(1);
    expect(new Set(issues.map(({ token }) => token.fingerprint)).size).toBe(1);
  });

  it('makes one token request in the soft window, and only the one who makes it waits', async () => {
    const { clock, requests, createEnvironment, surroundings } = createFleet();
    const environments = Array.from({ length: 200 }, () => createEnvironment());
    await clock.run(Promise.all(environments.map(({ issue }) => issue())));
    await clock.advance(55 * MINUTE_MS);
    surroundings.serviceLatencyMs = 800;

    const waits = await clock.run(
      Promise.all(
        environments.map(async ({ issue, now }) => {
          const startedAt = now();
          const { cache } = await issue();
          return { waitMs: now() - startedAt, cache };
        }),
      ),
    );
    expect(requests).toHaveLength(2);
    expect(waits.filter(({ cache }) => cache === 'none')).toHaveLength(1);
    expect(waits.filter(({ waitMs }) => waitMs > 100)).toHaveLength(1);
  });

  it('sends nothing more than ten token requests in a minute to a service that is down', async () => {
    const { clock, requests, createEnvironment } = createFleet({
      answer: () => new Problem('token-endpoint-unavailable', 'connection refused'),
    });
    const environments = Array.from({ length: 200 }, () => createEnvironment());
    const outcomes = await clock.run(
      Promise.all(
        environments.map(async ({ issue }) => {
          for (let second = 0; second < 60; second += 1) {
            await issue().catch((error: unknown) => error);
            await clock.sleep(1_000);
          }
        }),
      ),
    );
    expect(outcomes).toHaveLength(200);
    expect(requests.length).toBeLessThanOrEqual(10);
  });
});
