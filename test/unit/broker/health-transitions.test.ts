import { describe, expect, it } from 'vitest';
import type { Entry, PairObservation } from '../../../functions/broker/health/evaluate.ts';
import { findTransitions } from '../../../functions/broker/health/notify.ts';
import { START } from '../../support/example.ts';

const KEY = 'acme/customer-insights';
const MINUTE = 60_000;

describe('the version of a secret', () => {
  it.each([
    ['rejected', 'v1', 'v2', true],
    ['rejected', 'v1', 'v1', false],
    ['secret-malformed', 'v1', 'v2', true],
    ['secret-malformed', 'v1', 'v1', false],
    // A look that could not tell the version says nothing about another one.
    ['rejected', undefined, 'v2', false],
    ['rejected', 'v1', undefined, false],
    ['misconfigured', 'v1', 'v2', false],
    ['disabled', 'v1', 'v2', false],
  ] as const)('that is %s as %s and then as %s is news: %s', (condition, first, second, isNews) => {
    const { transitions } = look(acme(condition, second), { condition, since: START, at: START, version: first });
    expect(transitions).toHaveLength(isNews ? 1 : 0);
  });
});

describe('what is remembered', () => {
  it('of something good is forgotten after fifteen minutes, when every run is over that may have looked before', () => {
    const keysAt = (at: number, condition: Entry['condition']) => [
      ...look(undefined, { condition, since: at, at }).quiet.keys(),
    ];
    expect(keysAt(START - 15 * MINUTE, 'accepted')).toEqual([KEY]);
    expect(keysAt(START - 15 * MINUTE - 1, 'accepted')).toEqual([]);
    expect(keysAt(START - 15 * MINUTE - 1, 'rejected')).toEqual([KEY]);
  });

  it('of something bad is since when it is so, and when it was last seen', () => {
    const before = { condition: 'rejected', since: START - 2 * MINUTE, at: START - MINUTE, version: 'v1' } as const;
    const { transitions, quiet } = look(acme('rejected', 'v1'), before);
    expect(transitions).toEqual([]);
    expect(quiet.get(KEY)).toEqual({ ...before, at: START });
  });
});

function acme(condition: PairObservation['condition'], version: string | undefined): PairObservation {
  return {
    kind: 'pair',
    pair: { client: 'acme', service: 'customer-insights' },
    condition,
    version,
    since: START,
    at: START,
  };
}

function look(observation: PairObservation | undefined, before: Entry) {
  const observations = observation === undefined ? [] : [observation];
  return findTransitions(new Map([[KEY, before]]), { observations, forgotten: new Set() }, START);
}
