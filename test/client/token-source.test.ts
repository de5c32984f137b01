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

  it('is asked for each time when the cache is off', async () => {
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
  ])(
    'of %d s is renewed after %d s at the earliest and %d s at the latest, as chance has it',
    async (lifetime, from, to) => {
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
    },
  );

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

  it('is handed out when its successor cannot be had, and few try', async () => {
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

  it('is asked for only now and then when the broker gives the same again and again', async () => {
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

  it('is handed out when its successor takes too long, after five seconds at the most', async () => {
    const { broker, clock, answer } = await startClientWorld(goodAnswer(1));
    await broker.token(PAIR);
    clock.now += 55 * MINUTE_MS;
    answer(tooLate(5 * SECOND_MS));
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(1) });
  });

  it('is not what a caller gets who gave up on the successor', async () => {
    const controller = new AbortController();
    const { broker, clock, answer } = await startClientWorld(goodAnswer(1));
    await broker.token(PAIR);
    clock.now += 55 * MINUTE_MS;
    answer(() => controller.abort());
    await expect(broker.token({ ...PAIR, signal: controller.signal })).rejects.toMatchObject({ type: 'aborted' });
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(1) });
  });
});

describe('a token that is over', () => {
  it('before its successor could be had is asked for with all patience', async () => {
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

  it('is counted from when it was asked for, whatever the clock of the broker says', async () => {
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

  it('might be one whose clock was set back: it is not handed out', async () => {
    const { broker, clock } = await startClientWorld([goodAnswer(1), goodAnswer(2)]);
    await broker.token(PAIR);
    clock.now -= SECOND_MS;
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(2) });
  });
});

describe('a wish for a longer life', () => {
  it('is met by a token that has it, and else asked for', async () => {
    const { broker, clock, asked } = await startClientWorld([goodAnswer(1), goodAnswer(2)]);
    await broker.token(PAIR);
    clock.now += 20 * MINUTE_MS;
    expect(await broker.token({ ...PAIR, minTtl: 2_400 })).toMatchObject({ fingerprint: fingerprint(1) });
    expect(await broker.token({ ...PAIR, minTtl: 2_401 })).toMatchObject({ fingerprint: fingerprint(2) });
    expect(asked()).toEqual([PAIR, { ...PAIR, min_ttl: 2_401 }]);
  });

  it('is asked for every 30 s at most when the service cannot meet it', async () => {
    const { broker, clock, asked } = await startClientWorld(goodAnswer(1));
    for (let second = 0; second < 61; second += 1) {
      clock.now = NOW + second * SECOND_MS;
      await broker.token({ ...PAIR, minTtl: 7_200 });
    }
    expect(asked()).toHaveLength(3);
  });

  it('is asked for at once when it is greater than the last', async () => {
    const { broker, asked } = await startClientWorld(goodAnswer(1));
    for (const minTtl of [4_000, 5_000, 4_500]) await broker.token({ ...PAIR, minTtl });
    expect(asked().map(({ min_ttl }) => min_ttl)).toEqual([4_000, 5_000]);
  });

  it('is asked for by one caller, and shared by all who have it', async () => {
    const longer = heldBack(goodAnswer(2, 7_200));
    const { broker, asked } = await startClientWorld([goodAnswer(1), longer.answer]);
    await broker.token(PAIR);
    const wishing = Array.from({ length: 20 }, () => broker.token({ ...PAIR, minTtl: 7_000 }));
    await longer.arrived;
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(1) });
    longer.release();
    expect(new Set((await Promise.all(wishing)).map((token) => token.fingerprint))).toEqual(new Set([fingerprint(2)]));
    expect(asked()).toHaveLength(2);
  });

  it('leaves nobody without a token', async () => {
    const { broker, answer } = await startClientWorld(goodAnswer(1));
    await broker.token(PAIR);
    answer(problem('internal'));
    expect(await broker.token({ ...PAIR, minTtl: 7_200 })).toMatchObject({ fingerprint: fingerprint(1) });
  });
});
