import { describe, expect, it } from 'vitest';
import { createCredentials } from '../../../functions/broker/credentials.ts';
import type { SecretReading } from '../../../functions/broker/secret.ts';
import { found } from '../../support/broker-world.ts';
import { START } from '../../support/example.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DOWN: SecretReading = { outcome: 'unavailable', cause: 'TimeoutError' };

function setUp() {
  const state = { now: START, reading: found('v1') as SecretReading | Promise<SecretReading>, reads: 0 };
  const credentials = createCredentials({
    now: () => state.now,
    readSecret: async () => {
      state.reads += 1;
      return state.reading;
    },
  });
  return { state, credentials, read: (readSince = -Infinity) => credentials.read('acme', 'AWSCURRENT', { readSince }) };
}

describe('credentials', () => {
  it('are read once in five minutes', async () => {
    const { state, read } = setUp();
    await read();
    state.now += 5 * MINUTE_MS - 1;
    await read();
    expect(state.reads).toBe(1);

    state.now += 1;
    await read();
    expect(state.reads).toBe(2);
  });

  it('are read again for whoever needs a reading that began later', async () => {
    const { state, read } = setUp();
    await read();
    state.now += 1_000;
    state.reading = found('v2');

    expect(await read(state.now)).toEqual(found('v2'));
    expect(state.reads).toBe(2);
  });

  it('share a read that is under way, unless it began too early', async () => {
    const { state, read } = setUp();
    const gate = Promise.withResolvers<SecretReading>();
    state.reading = gate.promise;
    const early = [read(), read()];
    state.now += 1_000;
    const late = read(state.now);
    state.reading = found('v2');
    gate.resolve(found('v1'));

    expect(await Promise.all(early)).toEqual([found('v1'), found('v1')]);
    expect(await late).toEqual(found('v2'));
    expect(state.reads).toBe(2);
  });

  it('are known without asking as long as they are trusted', async () => {
    const { state, credentials, read } = setUp();
    expect(credentials.known('acme', 'AWSCURRENT')).toBeUndefined();
    await read();
    expect(credentials.known('acme', 'AWSCURRENT')).toEqual(found('v1'));

    state.now -= 1;
    expect(credentials.known('acme', 'AWSCURRENT')).toBeUndefined();
    expect(state.reads).toBe(1);
  });

  it('serve for 24 hours while Secrets Manager is down, then no longer', async () => {
    const { state, read } = setUp();
    await read();
    state.reading = DOWN;
    state.now += 24 * HOUR_MS - 1;
    expect(await read()).toMatchObject({ outcome: 'stale', secret: { versionId: 'v1' } });

    state.now += 10_000;
    expect(await read()).toEqual(DOWN);
  });

  it('do not wait for a Secrets Manager that is down more than once in ten seconds', async () => {
    const { state, read } = setUp();
    await read();
    state.now += 5 * MINUTE_MS;
    state.reading = DOWN;
    await read();
    state.now += 9_999;
    expect(await read()).toMatchObject({ outcome: 'stale' });
    expect(state.reads).toBe(2);
  });

  it.each([
    [{ outcome: 'missing' }],
    [{ outcome: 'deleted' }],
    [{ outcome: 'denied', cause: 'AccessDeniedException' }],
    [{ outcome: 'binary' }],
  ] as const)('end at once when Secrets Manager says %o', async (reading) => {
    const { state, read } = setUp();
    await read();
    state.now += 5 * MINUTE_MS;
    state.reading = reading;
    expect(await read()).toEqual(reading);

    state.now += 5_000;
    state.reading = DOWN;
    expect(await read()).toEqual(DOWN);
  });

  it('that are missing are asked for again after five seconds', async () => {
    const { state, read } = setUp();
    state.reading = { outcome: 'missing' };
    await read();
    state.now += 4_999;
    await read();
    expect(state.reads).toBe(1);

    state.now += 1;
    state.reading = found('v1');
    expect(await read()).toEqual(found('v1'));
  });
});
