import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { START } from '../support/example.ts';
import { NEVER, WELL } from './deadline-surroundings.ts';
import { startDeadlineWorld } from './deadline-world.ts';

let world: ReturnType<typeof startDeadlineWorld>;
beforeEach(() => {
  world = startDeadlineWorld(START);
});
afterEach(() => world.end());

/** All work of a request ends at least this long before Lambda's limit, except for a last write. */
const RESERVE_MS = 500;

describe('a token request that takes the last of the time', () => {
  it('is answered with its token, although that cannot be stored', async () => {
    weathers({ tokenEndpoint: { delayMs: 2_900 }, write: NEVER });
    expect(await world.invoke(3_500)).toMatchObject({ status: 200, leftMs: 300 });
    weathers({ read: NEVER, tokenEndpoint: NEVER });
    expect(await world.invoke(1_000)).toMatchObject({ status: 200 });
  });

  it('is not forgotten when it is rejected: the version is latched, in the table or else here', async () => {
    weathers({ tokenEndpoint: { delayMs: 2_900, status: 401 }, write: NEVER });
    expect((await world.invoke(3_500)).leftMs).toBe(300);
    weathers({});
    expect((await world.invoke(15_000)).json.type).toBe('credential-rejected');
    expect(count('tokenEndpoint')).toBe(1);
  });

  it('is not made when hardly any time is left, and no caller is told to pause because of it', async () => {
    weathers({ acquire: { delayMs: 400 } });
    expect((await world.invoke(1_000)).json.type).toBe('token-endpoint-timeout');
    expect(count('tokenEndpoint')).toBe(0);
    weathers({});
    expect(await world.invoke(15_000)).toMatchObject({ status: 200 });
  });
});

describe('what the caller is told', () => {
  it.each([
    ['Secrets Manager', { secret: NEVER }, 'secrets-unavailable'],
    [
      'all of AWS, of which the record is asked first and takes all the time,',
      { secret: NEVER, sealingKey: NEVER, read: NEVER },
      'token-endpoint-timeout',
    ],
    ['the table', { read: NEVER }, 'token-endpoint-timeout'],
    ['the service', { tokenEndpoint: NEVER }, 'token-endpoint-timeout'],
  ])('when %s is silent: the cause, and when to come back', async (_what, silent, type) => {
    weathers(silent);
    const { json, leftMs } = await world.invoke(1_000);
    expect(json).toMatchObject({ type, retryable: true });
    expect(leftMs).toBeGreaterThanOrEqual(RESERVE_MS - 5);
  });
});

describe('a request with little time', () => {
  it('does not make the table look broken: the next one asks it', async () => {
    expect((await world.invoke(15_000)).status).toBe(200);
    world.pass(400_000);
    for (let n = 0; n < 4; n += 1) {
      weathers({ read: NEVER, secret: { delayMs: 30 } });
      await world.invoke(600);
    }
    weathers({});
    const before = count('read');
    await world.invoke(15_000);
    expect(count('read')).toBe(before + 1);
  });

  it('is answered in time although it shares what a request with more time waits for', async () => {
    weathers({ tokenEndpoint: NEVER });
    const [patient, hurried] = await world.invokeAll([[15_000], [1_000]]);
    expect(hurried).toMatchObject({ status: 504, leftMs: 250 });
    expect(patient).toMatchObject({ status: 504, json: { detail: expect.stringContaining('auth.example.com') } });
    await world.expectSilence();
  });
});

function weathers(changes: Partial<typeof world.state.weathers>): void {
  const well = { read: WELL, acquire: WELL, write: WELL, secret: WELL, sealingKey: WELL, tokenEndpoint: WELL };
  world.state.weathers = { ...well, ...changes };
}

function count(name: string): number {
  return world.began.filter((began) => began === name).length;
}
