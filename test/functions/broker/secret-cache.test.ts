import { describe, expect, it } from 'vitest';
import type { SecretReading } from '../../../functions/broker/credential/secret.ts';
import { createCredentials } from '../../../functions/broker/credential/secret-cache.ts';
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
  const read = (readSince = -Infinity, deadline = Infinity) =>
    credentials.read('acme', 'AWSCURRENT', { readSince, deadline });
  return { state, credentials, read };
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

describe('a reader in a hurry', () => {
  /** A reading that ends when the test says so, at a time that the test says. */
  function gated() {
    const world = setUp();
    const gate = Promise.withResolvers<SecretReading>();
    const end = (reading: SecretReading, atMs: number) => {
      world.state.now = START + 1_000 + atMs;
      gate.resolve(reading);
    };
    return { ...world, gate, end, readIn: (ms: number) => world.read(START + 1_000, START + 1_000 + ms) };
  }
  /** What Secrets Manager said a second ago is known. */
  async function warm() {
    const world = gated();
    await world.read();
    world.state.now += 1_000;
    world.state.reads = 0;
    world.state.reading = world.gate.promise;
    return world;
  }

  it.each([
    ['when its time is over', 100],
    ['when its timer was a little early', 95],
  ])('gets the last known version %s, and nobody takes it for an outage', async (_, endMs) => {
    const { state, credentials, end, readIn } = await warm();
    const hurried = readIn(100);
    end(DOWN, endMs);
    expect(await hurried).toMatchObject({ outcome: 'stale', secret: { versionId: 'v1' } });
    expect(credentials.known('acme', 'AWSCURRENT')).toEqual(found('v1'));
    expect(state.reads).toBe(1);
  });

  it('knows an outage from an answer that comes before its time is over', async () => {
    const { credentials, end, readIn } = await warm();
    const hurried = readIn(100);
    end(DOWN, 94);
    expect(await hurried).toMatchObject({ outcome: 'stale' });
    expect(credentials.known('acme', 'AWSCURRENT')).toMatchObject({ outcome: 'stale' });
  });

  it('takes an answer that comes at the last moment', async () => {
    const { credentials, end, readIn } = await warm();
    const hurried = readIn(100);
    end(found('v2'), 100);
    expect(await hurried).toEqual(found('v2'));
    expect(credentials.known('acme', 'AWSCURRENT')).toEqual(found('v2'));
  });

  it('that has given up is not the last word for who shared its reading and has more time', async () => {
    const { state, end, readIn } = await warm();
    const both = [readIn(100), readIn(101)];
    state.reading = found('v2');
    end(DOWN, 100);
    expect((await Promise.all(both)).map(({ outcome }) => outcome)).toEqual(['stale', 'found']);
    expect(state.reads).toBe(2);
  });

  it('that has given up is, for who has no more time', async () => {
    const { state, end, readIn } = await warm();
    const both = [readIn(100), readIn(100)];
    end(DOWN, 100);
    expect((await Promise.all(both)).map(({ outcome }) => outcome)).toEqual(['stale', 'stale']);
    expect(state.reads).toBe(1);
  });

  it('that has an answer has it for all who share the reading', async () => {
    const { state, end, readIn } = await warm();
    const both = [readIn(100), readIn(5_000)];
    end(DOWN, 50);
    expect((await Promise.all(both)).map(({ outcome }) => outcome)).toEqual(['stale', 'stale']);
    expect(state.reads).toBe(1);
  });
});
