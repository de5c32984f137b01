import { describe, expect, it } from 'vitest';
import {
  expiredHolds,
  holdAfter,
  isLatched,
  pauseAfter,
  waitProblem,
} from '../../../functions/broker/pair/latch-and-pause.ts';
import type { Wait } from '../../../functions/broker/pair/record.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { START } from '../../support/example.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
const down = (retryAfterSeconds?: number) => new Problem('token-endpoint-unavailable', 'down', { retryAfterSeconds });
const secondsOf = ({ until }: Wait) => (until - START) / SECOND_MS;

/** What `next` gives again and again, each time after the one before. */
function series<Wait>(count: number, next: (before: Wait | undefined) => Wait): Wait[] {
  const waits: Wait[] = [];
  while (waits.length < count) waits.push(next(waits.at(-1)));
  return waits;
}

describe('a secret version', () => {
  const latchedAfter = (count: number, ms: number) => isLatched({ count, at: START, fence: 1 }, START + ms);

  it.each([
    ['once', 1, 15 * MINUTE_MS],
    ['twice', 2, 120 * MINUTE_MS],
  ])('that was rejected %s has its next chance after the right time', (_, count, delayMs) => {
    expect(latchedAfter(count, 0)).toBe(true);
    expect(latchedAfter(count, delayMs - 1)).toBe(true);
    expect(latchedAfter(count, delayMs)).toBe(false);
  });

  it.each([3, 4, 100])('that was rejected %i times has none', (count) => {
    expect(latchedAfter(count, 365 * DAY_MS)).toBe(true);
  });
});

describe('the pause after a failed token request', () => {
  it('doubles from 1 s to 15 s, and stays there', () => {
    const pauses = series<Wait>(1_100, (before) => pauseAfter(down(), before, START));

    expect(pauses.slice(0, 7).map(secondsOf)).toEqual([1, 2, 4, 8, 15, 15, 15]);
    expect(pauses.at(-1)).toMatchObject({ until: START + 15 * SECOND_MS, step: 1_100 });
  });

  it.each([
    [0, 0],
    [1, 1],
    [120, 120],
    [300, 300],
    [301, 300],
    [1e9, 300],
  ])('is what the service asks for with %i s: %i s', (asked, seconds) => {
    expect(secondsOf(pauseAfter(down(asked), { until: 0, step: 4, problem: down() }, START))).toBe(seconds);
  });
});

describe('the hold of a version', () => {
  const refused = new Problem('token-endpoint-error', 'status 404', { retryAfterSeconds: 60 });
  const holdsOf = (count: number) => series<Wait>(count, (before) => holdAfter(refused, before, START));

  it('doubles from 1 s to 1 h, stays there, and is never what the service asks for', () => {
    const holds = holdsOf(1_100);

    expect(holds.slice(0, 14).map(secondsOf)).toEqual([
      1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 3_600, 3_600,
    ]);
    expect(holds.at(-1)).toMatchObject({ until: START + 3_600 * SECOND_MS, step: 1_100 });
  });

  it('may be forgotten when it has been over for more than a day', () => {
    const held = new Map(
      [START - DAY_MS - 1, START - DAY_MS, START, START + 1].map((until, n) => [
        `v${n}:digest`,
        { until, step: 1, problem: refused },
      ]),
    );

    expect(expiredHolds(held, START)).toEqual(['v0:digest']);
  });
});

describe('what a pause or a hold keeps and tells', () => {
  const shape = { status: 200, contentType: 'none', bytes: 0, members: [] };
  const problem = new Problem('token-response-unusable', 'odd', { shape, cause: 'a secret' });

  it.each([
    [-5_000, 6],
    [0, 1],
    [1, 1],
    [999, 1],
    [1_000, 1],
    [5_000, 1],
    [-9_000, 10],
    [-9_001, 11],
  ])('%i ms after its start is to come back in %i s, with any problem', (ms, retryAfterSeconds) => {
    const hold = holdAfter(problem, undefined, START);
    const told = waitProblem(hold, START + ms, 'why it happened');

    expect(told).toBeInstanceOf(Problem);
    expect(told).toMatchObject({ type: 'token-response-unusable', detail: 'odd', shape, retryAfterSeconds });
    expect(told.cause).toBe('why it happened');
  });
});
