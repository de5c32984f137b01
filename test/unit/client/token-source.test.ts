import { describe, expect, it, vi } from 'vitest';
import { AWS_ANSWERS, issued, PROBLEM_TYPES, problem } from './broker-answers.ts';
import {
  fingerprint,
  goodAnswer,
  heldBack,
  MINUTE_MS,
  NOW,
  PAIR,
  startClientWorld,
  startHolding,
  tooLate,
} from './client-world.ts';
import type { Answer } from './loopback-server.ts';

const SECOND_MS = 1_000;

const chain = { accessKeyId: 'AKIDCHAIN', secretAccessKey: 'chain' };
const startChain = vi.fn(() => async () => ({ ...chain }));
vi.mock('@aws-sdk/credential-provider-node', () => ({ defaultProvider: () => startChain() }));

describe('a token that lives', () => {
  it('is handed out again, to the same pair only', async () => {
    const { broker, nth } = await startHolding([2, 3].map((n) => goodAnswer(n)));
    expect(await broker.token(PAIR)).toBe(await broker.token(PAIR));
    const others = [{ service: 'merchant-payment-cleansing' }, { client: 'globex' }, {}];
    expect([await nth(others[0]), await nth(others[1]), await nth()]).toEqual([2, 3, 1]);
  });

  it.each([
    ['a function gives other keys', true],
    ['the members of the keys change', false],
  ])('is not handed out to another identity: %s', async (_, isFunction) => {
    const keys = { accessKeyId: 'AKIDONE', secretAccessKey: 'one', expiration: new Date(Date.now() + 60 * MINUTE_MS) };
    const credentials = isFunction ? async () => ({ ...keys }) : keys;
    const { nth, server } = await startHolding([goodAnswer(2)], { credentials });
    Object.assign(keys, { accessKeyId: 'AKIDTWO', secretAccessKey: 'two' });
    expect(await nth()).toBe(2);
    Object.assign(keys, { accessKeyId: 'AKIDONE', secretAccessKey: 'one' });
    expect(await nth()).toBe(1);
    const signers = server.requests.map(({ headers }) => /Credential=(\w+)/.exec(headers.authorization ?? '')?.[1]);
    expect(signers).toEqual(['AKIDONE', 'AKIDTWO']);
  });

  it('is not shared by two identities that wait for it at the same time', async () => {
    const ids = ['AKIDONE', 'AKIDTWO', 'AKIDOTHER'];
    const credentials = async () => ({ accessKeyId: ids.shift() ?? '', secretAccessKey: 'key' });
    const { nth } = await startClientWorld([goodAnswer(1), goodAnswer(2)], { credentials });
    expect(new Set(await Promise.all([nth(), nth()])).size).toBe(2);
    expect(ids).toEqual(['AKIDOTHER']);
  });

  it('is forgotten when a thousand others have come since it, or since its successor', async () => {
    let requests = 0;
    const fetch = async () => Response.json(issued(NOW, { fingerprint: fingerprint(++requests) }));
    const { nth } = await startClientWorld([], { fetch });
    await nth();
    await nth({ client: 'before-its-successor' });
    expect(await nth({ minTtl: 7_200 })).toBe(3);
    for (let n = 0; n < 999; n += 1) await nth({ client: `client-${n}` });
    expect([await nth(), requests]).toEqual([3, 1_002]);
    await nth({ client: 'one-more' });
    await nth();
    expect(requests).toBe(1_004);
  });

  it('is handed out after the standard chain of the process has renewed its keys', async () => {
    const { nth } = await startHolding([goodAnswer(2)], { credentials: undefined });
    chain.accessKeyId = 'AKIDRENEWED';
    expect([await nth(), await nth({ client: 'globex' })]).toEqual([1, 2]);
    expect(startChain).toHaveBeenCalledTimes(1);
  });

  it('stays when a report of the token before it fails later', async () => {
    const [renewal, report] = [heldBack(goodAnswer(2)), heldBack(problem('credential-rejected'))];
    const { nth, clock } = await startHolding([renewal.answer, report.answer, goodAnswer(3)]);
    clock.now += 55 * MINUTE_MS;
    const renewing = nth();
    await renewal.arrived;
    const reporting = nth({ refused: fingerprint(1) });
    await report.arrived;
    renewal.release();
    expect(await renewing).toBe(2);
    report.release();
    await expect(reporting).rejects.toMatchObject({ type: 'credential-rejected' });
    expect(await nth()).toBe(2);
  });

  it.each<[string, number, number, Answer, number, unknown]>([
    ['renewed from', 60, 0, goodAnswer(2), 42, 2],
    ['renewed from', 60, 1, goodAnswer(2), 45.6, 2],
    ['renewed from', 3_600, 0, goodAnswer(2), 3_060, 2],
    ['renewed from', 3_600, 1, goodAnswer(2), 3_168, 2],
    ['handed out to', 60, 0, problem('internal'), 48, 'internal'],
    ['handed out to', 3_600, 0, problem('internal'), 3_570, 'internal'],
  ])(
    'is %s a time that follows from its life: %d s, at random %d',
    async (_, lifetime, random, answer, second, then) => {
      const { nth, clock } = await startHolding([answer], { lifetime, random: () => random });
      clock.now = NOW + second * SECOND_MS - 100;
      expect(await nth()).toBe(1);
      clock.now = NOW + second * SECOND_MS;
      expect(await nth().catch(({ type }) => type)).toBe(then);
    },
  );

  it('is still handed out while one caller waits for its successor', async () => {
    const successor = heldBack(goodAnswer(2));
    const { nth, clock, asked } = await startHolding([successor.answer]);
    clock.now += 55 * MINUTE_MS;
    const renewing = nth();
    await successor.arrived;
    expect(await Promise.all(Array.from({ length: 9 }, () => nth()))).toEqual(Array(9).fill(1));
    successor.release();
    expect([await renewing, await nth()]).toEqual([2, 2]);
    expect(asked()).toHaveLength(1);
  });

  it('is handed out while a renewal fails, and few calls try one', async () => {
    const failing = problem('token-endpoint-unavailable', { 'retry-after': '1' });
    const { nth, clock, asked, waits } = await startHolding([failing]);
    for (clock.now += 50 * MINUTE_MS; clock.now < NOW + 3_570_000; clock.now += SECOND_MS) expect(await nth()).toBe(1);
    expect(asked().length).toBeLessThanOrEqual(6);
    expect(asked().length).toBeGreaterThan(2);
    expect(waits).toEqual([]);
    await expect(nth()).rejects.toMatchObject({ type: 'token-endpoint-unavailable' });
  });

  it.each([
    ...PROBLEM_TYPES.map((type) => ({ type, name: 'a problem', answerOf: () => problem(type) })),
    ...AWS_ANSWERS.map(({ answer, ...row }) => ({ ...row, answerOf: () => answer })),
    { type: 'timeout', name: 'no answer in five seconds', answerOf: () => tooLate(5 * SECOND_MS) },
  ])('is handed out after a renewal that fails with $type: $name', async ({ answerOf }) => {
    const { nth, clock } = await startHolding([answerOf()]);
    clock.now += 55 * MINUTE_MS;
    expect([await nth(), await nth()]).toEqual([1, 1]);
  });

  it.each([
    ['the same token with less life than its margin', 1, 60, 8],
    ['a token with three seconds of life', 2, 60, 3],
    ['a token without life', 2, 60, 0],
  ])('is used once and not kept: %s', async (_, n, lifetime, rest) => {
    const { nth, clock, asked } = await startHolding([goodAnswer(n, rest)], { lifetime });
    clock.now += (lifetime - rest) * SECOND_MS;
    expect([await nth(), await nth(), await nth()]).toEqual([n, n, n]);
    expect(asked()).toHaveLength(3);
  });

  it('is rarely asked for when the broker issues the same token again and again', async () => {
    const { broker, clock, answer, asked } = await startHolding([]);
    for (let second = 0; second < 3_570; second += 1) {
      clock.now = NOW + second * SECOND_MS;
      answer(goodAnswer(1, 3_600 - second));
      const { expiresAt } = await broker.token(PAIR);
      expect(expiresAt).toBeGreaterThan(clock.now);
    }
    expect(asked().length).toBeLessThanOrEqual(3);
  });

  it('is not handed out to a caller that stopped waiting for the successor', async () => {
    const controller = new AbortController();
    const { nth, clock } = await startHolding([() => controller.abort()]);
    clock.now += 55 * MINUTE_MS;
    await expect(nth({ signal: controller.signal })).rejects.toMatchObject({ type: 'aborted' });
    expect(await nth()).toBe(1);
  });
});

describe('a token near or after its end', () => {
  it('is requested with all attempts when it ended during a renewal', async () => {
    const failing = heldBack(problem('internal'));
    const { nth, clock } = await startHolding([failing.answer, problem('internal'), goodAnswer(2)], { lifetime: 60 });
    clock.now += 47 * SECOND_MS;
    const renewing = nth();
    await failing.arrived;
    clock.now += 2 * SECOND_MS;
    failing.release();
    expect(await renewing).toBe(2);
  });

  it('has its life time counted from when it was asked for', async () => {
    const late = heldBack(goodAnswer(1, 60));
    const { broker, nth, clock } = await startClientWorld([late.answer, goodAnswer(2)]);
    const asking = broker.token(PAIR);
    await late.arrived;
    clock.now += 10 * SECOND_MS;
    late.release();
    expect(await asking).toMatchObject({ expiresAt: NOW + 60 * SECOND_MS });
    clock.now = NOW + 51 * SECOND_MS;
    expect(await nth()).toBe(2);
  });

  it('is not handed out after the clock was set back', async () => {
    const { nth, clock } = await startHolding([goodAnswer(2)]);
    clock.now -= SECOND_MS;
    expect(await nth()).toBe(2);
  });
});

describe('minTtl', () => {
  it('is met by the cached token when that lives long enough, and else by a request', async () => {
    const { nth, clock, asked } = await startHolding([goodAnswer(2)]);
    clock.now += 20 * MINUTE_MS;
    expect([await nth({ minTtl: 2_400 }), await nth({ minTtl: 2_401 })]).toEqual([1, 2]);
    expect(asked()).toEqual([{ ...PAIR, min_ttl: 2_401 }]);
  });

  it('causes a request every 30 s at most when the service cannot meet it, or fails', async () => {
    const { nth, clock, asked, answer } = await startHolding([goodAnswer(1)]);
    for (let second = 0; second < 61; second += 1) {
      clock.now = NOW + second * SECOND_MS;
      expect(await nth({ minTtl: 7_200 })).toBe(1);
      if (second === 30) answer(problem('internal'));
    }
    expect(asked()).toHaveLength(3);
    expect(await nth({ minTtl: 7_200 })).toBe(1);
    expect(asked()).toHaveLength(3);
  });

  it('causes a request at once when it is greater than the last one', async () => {
    const { nth, asked } = await startClientWorld(goodAnswer(1));
    for (const minTtl of [4_000, 5_000, 4_500]) await nth({ minTtl });
    expect(asked().map(({ min_ttl }) => min_ttl)).toEqual([4_000, 5_000]);
  });

  it('causes one request for all callers that refuse the same', async () => {
    const longer = heldBack(goodAnswer(2, 7_200));
    const { nth, asked } = await startHolding([longer.answer]);
    const asking = Array.from({ length: 9 }, (_, n) => nth({ minTtl: n === 8 ? 7_100 : 7_000 }));
    await longer.arrived;
    expect(await nth()).toBe(1);
    longer.release();
    expect(await Promise.all(asking)).toEqual(Array(9).fill(2));
    expect(asked()).toHaveLength(2);
  });

  it('does not bring the renewal of the token forward', async () => {
    const { nth, clock, asked } = await startHolding([problem('internal')]);
    await nth({ minTtl: 7_200 });
    clock.now += 45 * MINUTE_MS;
    await nth();
    expect(asked()).toHaveLength(1);
  });
});
