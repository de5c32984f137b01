import { describe, expect, it } from 'vitest';
import { problem } from './broker-answers.ts';
import {
  fingerprint,
  goodAnswer,
  heldBack,
  MINUTE_MS,
  NOW,
  PAIR,
  startClientWorld,
  tokenText,
  tooLate,
} from './client-world.ts';

const SECOND_MS = 1_000;

describe('a token that lives', () => {
  it('is handed out again, to the same pair only', async () => {
    const { broker, asked } = await startClientWorld([goodAnswer(1), goodAnswer(2), goodAnswer(3)]);
    const first = await broker.token(PAIR);
    expect(await broker.token(PAIR)).toBe(first);
    await broker.token({ ...PAIR, service: 'merchant-payment-cleansing' });
    await broker.token({ ...PAIR, client: 'globex' });
    expect(asked().map(({ client, service }) => `${client} ${service}`)).toEqual([
      'acme customer-insights',
      'acme merchant-payment-cleansing',
      'globex customer-insights',
    ]);
  });

  it.each([
    ['a function gives other keys', true],
    ['the members of the keys change', false],
  ])('is not handed out to another identity: %s', async (_, isFunction) => {
    const keys = { accessKeyId: 'AKIDONE', secretAccessKey: 'one' };
    const credentials = isFunction ? async () => ({ ...keys }) : keys;
    const { broker, asked, server } = await startClientWorld([goodAnswer(1), goodAnswer(2)], { credentials });
    await broker.token(PAIR);
    Object.assign(keys, { accessKeyId: 'AKIDTWO', secretAccessKey: 'two' });
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(2) });
    Object.assign(keys, { accessKeyId: 'AKIDONE', secretAccessKey: 'one' });
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(1) });
    expect(asked()).toHaveLength(2);
    const signers = server.requests.map(({ headers }) => /Credential=(\w+)/.exec(headers.authorization ?? '')?.[1]);
    expect(signers).toEqual(['AKIDONE', 'AKIDTWO']);
  });

  it('is not shared by two identities that wait for it at the same time', async () => {
    const ids = ['AKIDONE', 'AKIDTWO', 'AKIDOTHER'];
    const credentials = async () => ({ accessKeyId: ids.shift() ?? '', secretAccessKey: 'key' });
    const { broker } = await startClientWorld([goodAnswer(1), goodAnswer(2)], { credentials });
    const tokens = await Promise.all([broker.token(PAIR), broker.token(PAIR)]);
    expect(new Set(tokens.map((token) => token.fingerprint)).size).toBe(2);
    expect(ids).toEqual(['AKIDOTHER']);
  });

  it('is forgotten when a thousand others have come since', async () => {
    const { broker, asked } = await startClientWorld(goodAnswer(1));
    await broker.token(PAIR);
    for (let n = 0; n < 999; n += 1) await broker.token({ ...PAIR, client: `client-${n}` });
    await broker.token(PAIR);
    expect(asked()).toHaveLength(1_000);
    await broker.token({ ...PAIR, client: 'one-more' });
    await broker.token(PAIR);
    expect(asked()).toHaveLength(1_002);
  });

  it('is requested for each call when the cache is off', async () => {
    const { broker, asked } = await startClientWorld([goodAnswer(1), goodAnswer(2)], { cache: false });
    await broker.token(PAIR);
    expect(await broker.token(PAIR)).toMatchObject({ accessToken: tokenText(2) });
    expect(asked()).toHaveLength(2);
  });

  it.each([
    [10, 7, 7.6],
    [60, 42, 45.6],
    [300, 255, 264],
    [3_600, 3_060, 3_168],
    [86_400, 73_440, 76_032],
  ])('of %d s is renewed at a random time between %d s and %d s', async (lifetime, from, to) => {
    for (const [random, seconds] of [
      [0, from],
      [1, to],
    ] as const) {
      const answers = [goodAnswer(1, lifetime), goodAnswer(2, lifetime)];
      const { broker, clock } = await startClientWorld(answers, { random: () => random });
      await broker.token(PAIR);
      clock.now = NOW + seconds * SECOND_MS - 100;
      expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(1) });
      clock.now = NOW + seconds * SECOND_MS;
      expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(2) });
    }
  });

  it('is still handed out while one caller waits for its successor', async () => {
    const successor = heldBack(goodAnswer(2));
    const { broker, clock, asked } = await startClientWorld([goodAnswer(1), successor.answer]);
    await broker.token(PAIR);
    clock.now += 55 * MINUTE_MS;
    const renewing = broker.token(PAIR);
    await successor.arrived;
    const others = await Promise.all(Array.from({ length: 49 }, () => broker.token(PAIR)));
    expect(new Set(others.map((token) => token.fingerprint))).toEqual(new Set([fingerprint(1)]));
    successor.release();
    expect(await renewing).toMatchObject({ fingerprint: fingerprint(2) });
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(2) });
    expect(asked()).toHaveLength(2);
  });

  it('is handed out while a renewal fails, and few calls try one', async () => {
    const { broker, clock, answer, asked, waits } = await startClientWorld(goodAnswer(1));
    await broker.token(PAIR);
    answer(problem('token-endpoint-unavailable', { 'retry-after': '1' }));
    for (clock.now += 50 * MINUTE_MS; clock.now < NOW + 3_570_000; clock.now += SECOND_MS) {
      expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(1) });
    }
    expect(asked().length).toBeLessThanOrEqual(7);
    expect(waits).toEqual([]);
    await expect(broker.token(PAIR)).rejects.toMatchObject({ type: 'token-endpoint-unavailable' });
  });

  it('is rarely asked for when the broker gives the same token again and again', async () => {
    const { broker, clock, answer, asked } = await startClientWorld(goodAnswer(1));
    await broker.token(PAIR);
    for (let second = 0; second < 3_570; second += 1) {
      clock.now = NOW + second * SECOND_MS;
      answer(goodAnswer(1, 3_600 - second));
      const { expiresAt } = await broker.token(PAIR);
      expect(expiresAt).toBeGreaterThan(clock.now);
    }
    expect(asked().length).toBeLessThanOrEqual(4);
  });

  it('is handed out when its successor takes longer than five seconds', async () => {
    const { broker, clock, answer } = await startClientWorld(goodAnswer(1));
    await broker.token(PAIR);
    clock.now += 55 * MINUTE_MS;
    answer(tooLate(5 * SECOND_MS));
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(1) });
  });

  it('is not handed out to a caller that stopped waiting for the successor', async () => {
    const controller = new AbortController();
    const { broker, clock, answer } = await startClientWorld(goodAnswer(1));
    await broker.token(PAIR);
    clock.now += 55 * MINUTE_MS;
    answer(() => controller.abort());
    await expect(broker.token({ ...PAIR, signal: controller.signal })).rejects.toMatchObject({ type: 'aborted' });
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(1) });
  });
});

describe('a token near or after its end', () => {
  it('is requested with all attempts when it ended during a renewal', async () => {
    const failing = heldBack(problem('internal'));
    const { broker, clock, answer } = await startClientWorld(goodAnswer(1, 60));
    await broker.token(PAIR);
    clock.now += 47 * SECOND_MS;
    answer(failing.answer, problem('internal'), goodAnswer(2));
    const renewing = broker.token(PAIR);
    await failing.arrived;
    clock.now += 2 * SECOND_MS;
    failing.release();
    expect(await renewing).toMatchObject({ fingerprint: fingerprint(2) });
  });

  it.each([
    ['a long life, 30 s before its end', 3_600, 3_569, 3_570],
    ['a short life, when a fifth is left', 60, 47, 48],
    ['a very short life, when a fifth is left', 5, 3, 4],
  ])('is not handed out any more: %s', async (_, lifetime, lastSecond, endSecond) => {
    const { broker, clock, answer, asked } = await startClientWorld(goodAnswer(1, lifetime));
    await broker.token(PAIR);
    answer(problem('internal'));
    clock.now = NOW + lastSecond * SECOND_MS;
    await broker.token(PAIR);
    clock.now = NOW + endSecond * SECOND_MS;
    await expect(broker.token(PAIR)).rejects.toMatchObject({ type: 'internal' });
    expect(asked().length).toBeGreaterThan(2);
  });

  it('has its life time counted from when it was asked for', async () => {
    const late = heldBack(goodAnswer(1, 60));
    const { broker, clock } = await startClientWorld([late.answer, goodAnswer(2)]);
    const asking = broker.token(PAIR);
    await late.arrived;
    clock.now += 10 * SECOND_MS;
    late.release();
    expect(await asking).toMatchObject({ expiresAt: NOW + 60 * SECOND_MS });
    clock.now = NOW + 51 * SECOND_MS;
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(2) });
  });

  it('is not handed out after the clock was set back', async () => {
    const { broker, clock } = await startClientWorld([goodAnswer(1), goodAnswer(2)]);
    await broker.token(PAIR);
    clock.now -= SECOND_MS;
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(2) });
  });
});

describe('minTtl', () => {
  it('is met by the cached token when that lives long enough, and else by a request', async () => {
    const { broker, clock, asked } = await startClientWorld([goodAnswer(1), goodAnswer(2)]);
    await broker.token(PAIR);
    clock.now += 20 * MINUTE_MS;
    expect(await broker.token({ ...PAIR, minTtl: 2_400 })).toMatchObject({ fingerprint: fingerprint(1) });
    expect(await broker.token({ ...PAIR, minTtl: 2_401 })).toMatchObject({ fingerprint: fingerprint(2) });
    expect(asked()).toEqual([PAIR, { ...PAIR, min_ttl: 2_401 }]);
  });

  it('causes a request every 30 s at most when the service cannot meet it', async () => {
    const { broker, clock, asked } = await startClientWorld(goodAnswer(1));
    for (let second = 0; second < 61; second += 1) {
      clock.now = NOW + second * SECOND_MS;
      await broker.token({ ...PAIR, minTtl: 7_200 });
    }
    expect(asked()).toHaveLength(3);
  });

  it('causes a request at once when it is greater than the last one', async () => {
    const { broker, asked } = await startClientWorld(goodAnswer(1));
    for (const minTtl of [4_000, 5_000, 4_500]) await broker.token({ ...PAIR, minTtl });
    expect(asked().map(({ min_ttl }) => min_ttl)).toEqual([4_000, 5_000]);
  });

  it('causes one request for all callers that give the same', async () => {
    const longer = heldBack(goodAnswer(2, 7_200));
    const { broker, asked } = await startClientWorld([goodAnswer(1), longer.answer]);
    await broker.token(PAIR);
    const asking = Array.from({ length: 20 }, () => broker.token({ ...PAIR, minTtl: 7_000 }));
    await longer.arrived;
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(1) });
    longer.release();
    expect(new Set((await Promise.all(asking)).map((token) => token.fingerprint))).toEqual(new Set([fingerprint(2)]));
    expect(asked()).toHaveLength(2);
  });

  it('is dropped when the request for a longer life fails: the cached token is handed out', async () => {
    const { broker, answer } = await startClientWorld(goodAnswer(1));
    await broker.token(PAIR);
    answer(problem('internal'));
    expect(await broker.token({ ...PAIR, minTtl: 7_200 })).toMatchObject({ fingerprint: fingerprint(1) });
  });
});
