import { describe, expect, it } from 'vitest';
import { createCredentials } from '../../../functions/broker/credentials.ts';
import type { SecretReading } from '../../../functions/broker/secret.ts';
import { found } from '../../support/broker-world.ts';
import { START } from '../../support/example.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function setUp() {
  const state = { now: START, reading: found('v1') as SecretReading | Promise<SecretReading>, reads: 0 };
  const read = createCredentials({
    environment: 'test',
    now: () => state.now,
    readSecret: async () => {
      state.reads += 1;
      return state.reading;
    },
  });
  return { state, read: (readSince = -Infinity) => read('acme', 'AWSCURRENT', readSince) };
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

    expect((await read(state.now)).versionId).toBe('v2');
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

    expect((await Promise.all(early)).map(({ versionId }) => versionId)).toEqual(['v1', 'v1']);
    expect((await late).versionId).toBe('v2');
    expect(state.reads).toBe(2);
  });

  it('serve for 24 hours while Secrets Manager is down, then no longer', async () => {
    const { state, read } = setUp();
    await read();
    state.reading = { outcome: 'unavailable', cause: 'TimeoutError' };
    state.now += 24 * HOUR_MS - 1;
    expect((await read()).versionId).toBe('v1');

    state.now += 1;
    await expect(read()).rejects.toMatchObject({ type: 'secrets-unavailable', retryAfterSeconds: 1 });
  });

  it.each([
    [{ outcome: 'missing' }, 'credential-missing'],
    [{ outcome: 'deleted' }, 'credential-missing'],
    [{ outcome: 'denied', cause: 'AccessDeniedException' }, 'secrets-unavailable'],
    [{ outcome: 'binary' }, 'credential-malformed'],
  ] as const)('end at once when Secrets Manager says %o', async (reading, type) => {
    const { state, read } = setUp();
    await read();
    state.now += 5 * MINUTE_MS;
    state.reading = reading;
    await expect(read()).rejects.toMatchObject({ type });

    state.reading = { outcome: 'unavailable', cause: 'TimeoutError' };
    await expect(read()).rejects.toMatchObject({ type: 'secrets-unavailable' });
  });
});
