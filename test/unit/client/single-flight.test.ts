import { describe, expect, it } from 'vitest';
import { problem } from './broker-answers.ts';
import { fingerprint, GOOD, goodAnswer, heldBack, NOW, PAIR, startClientWorld } from './client-world.ts';

describe('callers at the same time', () => {
  it('share one request for a pair', async () => {
    const { broker, asked } = await startClientWorld([goodAnswer(1), goodAnswer(2)]);
    const tokens = await Promise.all(Array.from({ length: 50 }, () => broker.token(PAIR)));
    expect(asked()).toHaveLength(1);
    expect(new Set(tokens).size).toBe(1);
  });

  it('share its failure, and the next caller asks again', async () => {
    const { broker, asked, answer } = await startClientWorld(problem('credential-rejected'));
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => broker.token(PAIR)));
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(asked()).toHaveLength(1);
    answer(GOOD);
    await broker.token(PAIR);
    expect(asked()).toHaveLength(2);
  });

  it('stop waiting each for itself: the others get their token', async () => {
    const slow = heldBack(goodAnswer(1));
    const { broker, asked } = await startClientWorld(slow.answer);
    const controller = new AbortController();
    const first = broker.token({ ...PAIR, signal: controller.signal });
    const second = broker.token(PAIR);
    // Awaited from the start: it may have ended before the request arrives.
    const third = expect(broker.token({ ...PAIR, deadline: NOW + 20 })).rejects.toMatchObject({ type: 'timeout' });
    await slow.arrived;
    controller.abort();
    await expect(first).rejects.toMatchObject({ type: 'aborted' });
    await third;
    slow.release();
    expect(await second).toMatchObject({ fingerprint: fingerprint(1) });
    expect(asked()).toHaveLength(1);
  });

  it('end the request when the last one stops waiting, and the next caller starts anew', async () => {
    const ended = Promise.withResolvers<void>();
    const slow = heldBack((response) => void response.once('close', ended.resolve));
    const { broker, server } = await startClientWorld([slow.answer, goodAnswer(2)], { timeoutMs: 600_000 });
    slow.release();
    const controller = new AbortController();
    const waiting = [1, 2].map(() => broker.token({ ...PAIR, signal: controller.signal }));
    await slow.arrived;
    controller.abort();
    expect((await Promise.allSettled(waiting)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(2) });
    expect(server.requests).toHaveLength(2);
    await ended.promise;
  });

  it('let the request go on until the latest of their deadlines', async () => {
    const world = await startClientWorld(problem('token-endpoint-unavailable', { 'retry-after': '7' }));
    const impatient = askBy(world, NOW + 5_000);
    const patient = askBy(world, NOW + 25_000);
    const outcomes = await Promise.allSettled([impatient, patient]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(world.server.requests).toHaveLength(4);
  });
});

describe('a refused token', () => {
  it('is reported by one caller, and no other caller gets it meanwhile', async () => {
    const successor = heldBack(goodAnswer(2));
    const { broker, asked } = await startClientWorld([goodAnswer(1), successor.answer]);
    await broker.token(PAIR);
    const reports = Array.from({ length: 20 }, () => broker.token({ ...PAIR, refused: fingerprint(1) }));
    const others = Array.from({ length: 20 }, () => broker.token(PAIR));
    await successor.arrived;
    successor.release();
    const tokens = await Promise.all([...reports, ...others]);
    expect(new Set(tokens.map((token) => token.fingerprint))).toEqual(new Set([fingerprint(2)]));
    expect(asked()).toEqual([PAIR, { ...PAIR, refused: fingerprint(1) }]);
  });

  it('that has a successor already costs no request', async () => {
    const { broker, asked } = await startClientWorld([goodAnswer(1), goodAnswer(2)]);
    await broker.token(PAIR);
    await broker.token({ ...PAIR, refused: fingerprint(1) });
    expect(await broker.token({ ...PAIR, refused: fingerprint(1) })).toMatchObject({ fingerprint: fingerprint(2) });
    expect(asked()).toHaveLength(2);
  });

  it('is not handed out again when there is no successor', async () => {
    const { broker, answer, asked } = await startClientWorld(goodAnswer(1), { maxAttempts: 1 });
    await broker.token(PAIR);
    answer(problem('internal'), goodAnswer(2));
    await expect(broker.token({ ...PAIR, refused: fingerprint(1) })).rejects.toMatchObject({ type: 'internal' });
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(2) });
    expect(asked()).toHaveLength(3);
  });

  it('is not handed out to callers that waited for a report that failed', async () => {
    const failing = heldBack(problem('internal'));
    const { broker, answer } = await startClientWorld(goodAnswer(1), { maxAttempts: 1 });
    await broker.token(PAIR);
    answer(failing.answer, goodAnswer(2));
    const report = broker.token({ ...PAIR, refused: fingerprint(1) });
    const others = [1, 2, 3].map(() => broker.token(PAIR));
    await failing.arrived;
    failing.release();
    await expect(report).rejects.toMatchObject({ type: 'internal' });
    const given = await Promise.all(others);
    expect(given.map((token) => token.fingerprint)).toEqual([2, 2, 2].map(fingerprint));
  });

  it('is reported by the other callers when the first one stops waiting', async () => {
    const successor = heldBack(goodAnswer(2));
    const controller = new AbortController();
    const { broker, answer, asked } = await startClientWorld(goodAnswer(1));
    await broker.token(PAIR);
    answer(successor.answer);
    const first = broker.token({ ...PAIR, refused: fingerprint(1), signal: controller.signal });
    const second = broker.token({ ...PAIR, refused: fingerprint(1) });
    await successor.arrived;
    controller.abort();
    await expect(first).rejects.toMatchObject({ type: 'aborted' });
    const other = broker.token(PAIR);
    successor.release();
    expect((await Promise.all([second, other])).map((token) => token.fingerprint)).toEqual([2, 2].map(fingerprint));
    expect(asked()).toHaveLength(2);
  });

  it('is handed out again when the broker stands by it, and the report is not repeated', async () => {
    const { broker, answer, asked } = await startClientWorld(goodAnswer(1));
    await broker.token(PAIR);
    answer(problem('refused-again', { 'retry-after': '3' }));
    const report = broker.token({ ...PAIR, refused: fingerprint(1) });
    const other = broker.token(PAIR);
    await expect(report).rejects.toMatchObject({ type: 'refused-again', retryAfterSeconds: 3 });
    expect(await other).toMatchObject({ fingerprint: fingerprint(1) });
    expect(asked()).toHaveLength(2);
  });

  it('does not come back with an answer that was overtaken', async () => {
    const late = heldBack(goodAnswer(1));
    const { broker, answer } = await startClientWorld(late.answer);
    const early = broker.token(PAIR);
    await late.arrived;
    answer(goodAnswer(2));
    await broker.token({ ...PAIR, refused: fingerprint(1) });
    late.release();
    expect(await early).toMatchObject({ fingerprint: fingerprint(1) });
    expect(await broker.token(PAIR)).toMatchObject({ fingerprint: fingerprint(2) });
  });
});

function askBy(world: Awaited<ReturnType<typeof startClientWorld>>, deadline: number) {
  return world.broker.token({ ...PAIR, deadline });
}
