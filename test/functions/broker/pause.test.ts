import { describe, expect, it } from 'vitest';
import { pauseAfter, pauseProblem } from '../../../functions/broker/pair/pause.ts';
import type { Pause } from '../../../functions/broker/pair/record.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { START } from '../../support/example.ts';

const SECOND_MS = 1_000;
const down = (retryAfterSeconds?: number) => new Problem('token-endpoint-unavailable', 'down', { retryAfterSeconds });
const secondsOf = (pause: Pause) => (pause.until - START) / SECOND_MS;

describe('the pause after a failed token request', () => {
  it('doubles from 1 s to 15 s, and stays there', () => {
    const pauses: Pause[] = [];
    for (let n = 0; n < 1_100; n += 1) pauses.push(pauseAfter(down(), pauses.at(-1), START));

    expect(pauses.slice(0, 7).map(secondsOf)).toEqual([1, 2, 4, 8, 15, 15, 15]);
    expect(pauses.at(-1)).toMatchObject({ until: START + 15 * SECOND_MS, step: 1_100 });
  });

  it.each([
    [1, 1],
    [120, 120],
    [300, 300],
    [301, 300],
    [1e9, 300],
  ])('is what the service asks for with %i s: %i s', (asked, seconds) => {
    expect(secondsOf(pauseAfter(down(asked), undefined, START))).toBe(seconds);
  });

  it('keeps the problem without its cause', () => {
    const shape = { status: 200, contentType: 'none', bytes: 0, members: [] };
    const problem = new Problem('token-response-unusable', 'odd', { shape, cause: 'a secret' });

    expect(pauseAfter(problem, undefined, START).problem).toEqual({ type: problem.type, detail: 'odd', shape });
  });
});

describe('what is told during a pause', () => {
  const pause = (type: Problem['type']) => pauseAfter(new Problem(type, 'why'), undefined, START);

  it.each([
    [0, 1],
    [1, 1],
    [999, 1],
    [5_000, 1],
  ])('%i ms after its start is to come back in %i s', (ms, seconds) => {
    const { until, ...rest } = pause('token-endpoint-unavailable');
    expect(pauseProblem({ until, ...rest }, START + ms)).toMatchObject({
      type: 'token-endpoint-unavailable',
      detail: 'why',
      retryAfterSeconds: seconds,
    });
  });

  it('rounds up', () => {
    const pause = pauseAfter(down(10), undefined, START);
    expect(pauseProblem(pause, START + 1).retryAfterSeconds).toBe(10);
    expect(pauseProblem(pause, START + SECOND_MS).retryAfterSeconds).toBe(9);
  });

  it.each(['token-response-unusable', 'token-endpoint-error', 'credential-malformed'] as const)(
    'of %s is that no caller can mend it by coming back',
    (type) => {
      expect(pauseProblem(pause(type), START).retryAfterSeconds).toBeUndefined();
    },
  );
});
