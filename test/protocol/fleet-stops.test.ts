import { describe, expect, it } from 'vitest';
import type { SecretReading } from '../../functions/broker/credential/secret.ts';
import { ISSUE_REQUEST, SECRETS_DOWN } from '../support/broker-world.ts';
import { MINUTE_MS, SECOND_MS } from '../support/example.ts';
import { fleetOf } from '../support/fleet/fleet.ts';
import type { StoreFault } from '../support/fleet/surroundings.ts';

/** A stop that an instance has heard from Secrets Manager, which then falls silent. */

const SILENCE = { secret: () => SECRETS_DOWN, secretsLatencyMs: SECOND_MS };
const UP = { secret: undefined, secretsLatencyMs: 20 };
const STOPPED = { outcome: 'stopped', cause: 'AccessDeniedException' } as const satisfies SecretReading;
const UNAVAILABLE = { type: 'secrets-unavailable', retryAfterSeconds: 1 };

/** The fleet has a token, the table fails, and every instance has heard the stop. */
async function stoppedFleet(reading: SecretReading, fault: StoreFault) {
  const fleet = fleetOf(3);
  const { surroundings, clock, askAll } = fleet;
  await askAll();
  await clock.advance(MINUTE_MS);
  Object.assign(surroundings, { secret: () => reading, storeFault: () => fault });
  await clock.advance(5 * MINUTE_MS);
  const heard = await askAll();
  await clock.advance(5 * SECOND_MS);
  return { ...fleet, heard };
}

describe.each<[SecretReading, string]>([
  [STOPPED, 'client-disabled'],
  [{ outcome: 'missing' }, 'credential-missing'],
  [{ outcome: 'deleted' }, 'credential-missing'],
  [{ outcome: 'denied', cause: 'AccessDeniedException' }, 'table-unavailable'],
])('a secret that is %o without the table', (reading, type) => {
  it.each(['unavailable', 'busy'] as const)('stays stopped until the table answers: %s', async (fault) => {
    const { surroundings, clock, heard, askAll } = await stoppedFleet(reading, fault);
    for (const { problem } of heard) expect(problem?.type).toBe(type);

    Object.assign(surroundings, SILENCE);
    for (let minute = 0; minute < 30; minute += 1) {
      for (const { problem } of await askAll()) expect(problem?.type).toBe('table-unavailable');
      await clock.advance(MINUTE_MS);
    }
    Object.assign(surroundings, UP);
    // "Denied" is no stop that is told: the token is still remembered.
    const isRemembered = reading.outcome === 'denied';
    for (const { issue } of await askAll()) expect(issue !== undefined).toBe(isRemembered);
    surroundings.storeFault = undefined;
    await clock.advance(10 * SECOND_MS);
    for (const { issue } of await askAll()) expect(issue).toBeDefined();
  });
});

it('a client that is enabled comes back with the token of the table, while Secrets Manager is silent', async () => {
  const { surroundings, clock, requests, askAll } = await stoppedFleet(STOPPED, 'unavailable');
  Object.assign(surroundings, SILENCE, { storeFault: undefined });
  await clock.advance(10 * SECOND_MS);

  for (const { issue } of await askAll()) expect(issue?.cache).toBe('shared');
  expect(requests).toHaveLength(1);
});

it.each([0.5, 7])(
  'a token that was requested before a stop is not issued after its end %s s later',
  async (seconds) => {
    const { surroundings, clock, shared, requests, instances, askAll } = fleetOf(3);
    Object.assign(surroundings, { serviceLatencyMs: 3 * SECOND_MS });
    const [holder = expect.fail()] = instances;
    const asked = holder.issue();
    await clock.advance(SECOND_MS);
    expect(requests).toHaveLength(1);
    shared.disable(ISSUE_REQUEST.pair, clock.now());
    await clock.advance(seconds * SECOND_MS);
    shared.enable(ISSUE_REQUEST.pair);

    const { token } = await clock.run(asked);
    await clock.advance(MINUTE_MS);
    for (const { issue } of await askAll())
      expect(issue?.token).toMatchObject({ fingerprint: expect.not.stringMatching(token.fingerprint) });
  },
);

it('a check of a secret that was missing, is stored again and cannot be read withdraws nothing', async () => {
  const { surroundings, clock, recordNow, instances, askAll } = await stoppedFleet(
    { outcome: 'missing' },
    'unavailable',
  );
  Object.assign(surroundings, SILENCE, { storeFault: undefined });
  await clock.advance(10 * SECOND_MS);
  const [instance = expect.fail()] = instances;

  await expect(clock.run(instance.check())).rejects.toMatchObject(UNAVAILABLE);
  expect(recordNow().token).toBeDefined();
  for (const { issue } of await askAll()) expect(issue).toBeDefined();
});
