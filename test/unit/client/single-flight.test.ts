import { describe, expect, it } from 'vitest';
import { problem } from './broker-answers.ts';
import { fingerprint, GOOD, goodAnswer, heldBack, NOW, PAIR, startClientWorld, startHolding } from './client-world.ts';
import type { Answer } from './loopback-server.ts';

describe('callers at the same time', () => {
  it.each<[string, Answer, string, number]>([
    ['its answer, as does the next', goodAnswer(1), 'fulfilled', 1],
    ['its failure, and the next asks again', problem('credential-rejected'), 'rejected', 2],
  ])('share one request for a pair and %s', async (_, first, status, requests) => {
    const { broker, asked, answer } = await startClientWorld(first);
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => broker.token(PAIR)));
    expect(new Set(outcomes.map((outcome) => outcome.status))).toEqual(new Set([status]));
    expect(asked()).toHaveLength(1);
    answer(GOOD);
    await broker.token(PAIR);
    expect(asked()).toHaveLength(requests);
  });

  it('stop waiting each for itself: the others get their token', async () => {
    const slow = heldBack(goodAnswer(1));
    const { nth, asked } = await startClientWorld(slow.answer);
    const controller = new AbortController();
    const [first, second] = [nth({ signal: controller.signal }), nth()];
    // Awaited from the start: it may have ended before the request arrives.
    const third = expect(nth({ deadline: NOW + 20 })).rejects.toMatchObject({ type: 'timeout' });
    await slow.arrived;
    controller.abort();
    await expect(first).rejects.toMatchObject({ type: 'aborted' });
    await third;
    slow.release();
    expect(await second).toBe(1);
    expect(asked()).toHaveLength(1);
  });

  it('end the request when the last one stops waiting, and the next caller starts anew', async () => {
    const ended = Promise.withResolvers<void>();
    const slow = heldBack((response) => void response.once('close', ended.resolve));
    const { nth, asked } = await startClientWorld([slow.answer, goodAnswer(2)], { timeoutMs: 600_000 });
    slow.release();
    const controller = new AbortController();
    const waiting = [1, 2].map(() => nth({ signal: controller.signal }));
    await slow.arrived;
    controller.abort();
    expect((await Promise.allSettled(waiting)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await nth()).toBe(2);
    expect(asked()).toHaveLength(2);
    await ended.promise;
  });

  it('share the next request, also when work that was given up ends while it runs', async () => {
    const [pause, controller, next] = [Promise.withResolvers<void>(), new AbortController(), heldBack(goodAnswer(2))];
    const sleep = () => {
      controller.abort();
      return pause.promise;
    };
    const { nth, asked } = await startClientWorld([problem('internal'), next.answer], { sleep });
    await expect(nth({ signal: controller.signal })).rejects.toMatchObject({ type: 'aborted' });
    const second = nth();
    await next.arrived;
    pause.resolve();
    await new Promise(setImmediate);
    const third = nth();
    next.release();
    expect(await Promise.all([second, third])).toEqual([2, 2]);
    expect(asked()).toHaveLength(2);
  });

  it('let the request go on until the latest of their deadlines', async () => {
    const failing = problem('token-endpoint-unavailable', { 'retry-after': '7' });
    const { nth, asked } = await startClientWorld(failing);
    await Promise.allSettled([nth({ deadline: NOW + 5_000 }), nth({ deadline: Number.MAX_SAFE_INTEGER })]);
    expect(asked()).toHaveLength(4);
  });
});

describe('a refused token', () => {
  const refused = fingerprint(1);

  it('is reported by one caller, no other caller gets it meanwhile, and a later report costs no request', async () => {
    const successor = heldBack(goodAnswer(2));
    const { nth, asked } = await startHolding([successor.answer]);
    const reports = Array.from({ length: 9 }, (_, n) => nth({ refused, minTtl: n === 8 ? 60 : undefined }));
    const others = Array.from({ length: 9 }, () => nth());
    await successor.arrived;
    successor.release();
    expect(await Promise.all([...reports, ...others])).toEqual(Array(18).fill(2));
    expect(await nth({ refused })).toBe(2);
    expect(asked()).toEqual([{ ...PAIR, refused }]);
  });

  it('is not handed out again, nor to callers that waited for it, when the report fails', async () => {
    const failing = heldBack(problem('internal'));
    const { nth, asked } = await startHolding([failing.answer, goodAnswer(2)], { maxAttempts: 1 });
    const report = nth({ refused });
    const others = [nth(), nth(), nth()];
    await failing.arrived;
    failing.release();
    await expect(report).rejects.toMatchObject({ type: 'internal' });
    expect(await Promise.all(others)).toEqual([2, 2, 2]);
    expect(asked()).toHaveLength(2);
  });

  it('is handed out again when the broker stands by it, and the report is not repeated', async () => {
    const { nth, asked } = await startHolding([problem('refused-again', { 'retry-after': '3' })]);
    const report = nth({ refused });
    const other = nth();
    await expect(report).rejects.toMatchObject({ type: 'refused-again', retryAfterSeconds: 3 });
    expect(await other).toBe(1);
    expect(asked()).toHaveLength(1);
  });

  it('is reported beside another one of the pair, and neither caller gets back the token that it refused', async () => {
    const first = heldBack(goodAnswer(2));
    const { nth, asked } = await startClientWorld([first.answer, goodAnswer(3)]);
    const reports = [nth({ refused }), nth({ refused: fingerprint(2) })];
    await first.arrived;
    first.release();
    expect(await Promise.all(reports)).toEqual([2, 3]);
    expect(asked().map((members) => members.refused)).toEqual([refused, fingerprint(2)]);
  });

  it('does not come back with an answer that was overtaken', async () => {
    const late = heldBack(goodAnswer(1));
    const { nth, answer } = await startClientWorld(late.answer);
    const early = nth();
    await late.arrived;
    answer(goodAnswer(2));
    await nth({ refused });
    late.release();
    expect([await early, await nth()]).toEqual([1, 2]);
  });
});
