import { describe, expect, it } from 'vitest';
import type { CheckedPair, MissedPair } from '../../../functions/broker/health/check-pairs.ts';
import {
  type Entries,
  type Entry,
  type Evaluation,
  evaluate,
  type PairObservation,
} from '../../../functions/broker/health/evaluate.ts';
import { findTransitions } from '../../../functions/broker/health/notify.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { START } from '../../support/example.ts';

const SERVICE = 'customer-insights';
const MINUTE = 60_000;
const DENIED = { condition: 'denied', said: 'access-denied' } as const;
const INCIDENT: Entry = { condition: 'incident', since: START - 90 * MINUTE, at: START - 60 * MINUTE };

describe('an incident of a service', () => {
  it('begins with the first pair that got no answer, which may be known from before the run', () => {
    const checked = [
      ...found(4, { finding: 'unreachable', checkedAt: START }),
      ...found(1, { finding: 'throttled', provenBy: 'pause', checkedAt: START - MINUTE }),
      ...found(1, { finding: 'accepted', checkedAt: START - 2 * MINUTE }),
    ];
    expect(incidentOf({ checked })).toMatchObject({ condition: 'incident', since: START - MINUTE, at: START });
  });

  it('begins no later than it is seen, even when the clock of the broker is ahead', () => {
    const checked = found(5, { finding: 'unreachable', checkedAt: START + MINUTE });
    expect(incidentOf({ checked })).toMatchObject({ condition: 'incident', since: START });
  });

  it('ends now, whenever the checks were made', () => {
    const checked = found(5, { finding: 'accepted', checkedAt: START - MINUTE });
    expect(incidentOf({ checked, before: INCIDENT })).toMatchObject({ condition: 'answering', since: START });
  });

  it('counts the pairs of its own service that were asked', () => {
    const checked = [
      ...found(4, { finding: 'unreachable' }),
      ...found(2, { finding: 'throttled', provenBy: 'pause' }),
      ...found(1, { finding: 'accepted' }),
      ...found(8, { finding: 'accepted', provenBy: 'traffic' }),
      ...found(16, { finding: 'unreachable' }, 'other'),
    ];
    const missed = [...unreached(3, SERVICE), ...unreached(32, 'other')];
    expect(incidentOf({ checked, missed })).toMatchObject({
      condition: 'incident',
      detail: 'Pairs that were asked: 7 (unreachable: 4, throttled: 2). Pairs that were not reached: 3.',
    });
  });

  it.each([
    ['over', 'callers got tokens after it was last seen', 'answering', 'traffic', INCIDENT.at + 1],
    ['not over', 'callers got tokens in the moment in which it was last seen', 'incident', 'traffic', INCIDENT.at],
    ['not over', 'credentials are known to be rejected', 'incident', 'latch', START],
    ['not over', 'secrets are missing', 'incident', 'secret', START],
  ] as const)('is %s because %s', (_is, _what, condition, provenBy, checkedAt) => {
    const checked = found(5, { finding: provenBy === 'traffic' ? 'accepted' : 'rejected', provenBy, checkedAt });
    expect(incidentOf({ checked, before: INCIDENT })).toMatchObject({ condition });
  });
});

describe('a pair', () => {
  it('is dated from when the broker found out, and no later than the run learned of it', () => {
    const early = found(1, { finding: 'rejected', checkedAt: START - MINUTE, at: START });
    const late = found(1, { finding: 'rejected', checkedAt: START + MINUTE, at: START });
    const { observations } = evaluateClient([...early, ...late]);
    expect(observations.map(({ since }) => since)).toEqual([START - MINUTE, START]);
  });

  it.each([
    ['is looked at', undefined, 1],
    ['is looked at after an incident', { ...INCIDENT, condition: 'answering' }, 1],
    ['is left aside during an incident', INCIDENT, 0],
  ] as const)('that got no answer %s', (_what, before, count) => {
    const entries = new Map(before === undefined ? [] : [['service', before]]);
    expect(evaluateClient(found(1, { finding: 'unreachable' }), entries).observations).toHaveLength(count);
  });

  it('whose check met the budget for checks is not looked at: it says nothing about the service', () => {
    const checked = found(8, { finding: 'throttled', provenBy: 'latch' });
    const [incident, ...pairs] = evaluateAll({ checked }).observations;
    expect(incident).toMatchObject({ condition: 'answering' });
    expect(pairs).toEqual([]);
  });

  describe('that the list does not show', () => {
    const key = 'client-0/customer-insights';
    const rejected = (at: number): Entries => new Map([[key, { condition: 'rejected', since: at, at }]]);

    it.each(['secret-missing', 'disabled'] as const)(
      'and that is %s is not told, and forgotten after ten minutes',
      (finding) => {
        const gone = { checked: found(1, { finding, provenBy: 'secret' }), listed: [] };
        const early = evaluateAll({ ...gone, entries: rejected(START - 10 * MINUTE) });
        expect(early.observations.map(({ kind }) => kind)).toEqual(['service']);
        // The list may not show a new client yet.
        expect([...early.forgotten]).toEqual([]);
        expect([...evaluateAll({ ...gone, entries: rejected(START - 10 * MINUTE - 1) }).forgotten]).toEqual([key]);
      },
    );
  });
});

const KEY = 'acme/customer-insights';

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

interface Look {
  readonly checked: readonly CheckedPair[];
  readonly missed?: readonly MissedPair[];
  /** Those of the checks when left out. */
  readonly listed?: readonly Pair[];
  readonly entries?: Entries;
  readonly before?: Entry;
}

function incidentOf(look: Look) {
  return evaluateAll(look).observations[0];
}

function evaluateAll({ checked, missed = [], before, ...look }: Look): Evaluation {
  const { listed = [...checked, ...missed].map(({ pair }) => pair) } = look;
  const { entries = new Map(before === undefined ? [] : [['service', before]]) } = look;
  const run = { kind: 'run', listed, unknown: [], probe: DENIED, at: START } as const;
  return evaluate({ ...run, service: SERVICE, checks: { checked, missed } }, entries);
}

function evaluateClient(checked: readonly CheckedPair[], entries: Entries = new Map()): Evaluation {
  return evaluate({ kind: 'client', service: SERVICE, checked }, entries);
}

function found(count: number, look: Partial<CheckedPair> & Pick<CheckedPair, 'finding'>, service = SERVICE) {
  return Array.from({ length: count }, (_, index): CheckedPair => {
    const pair = { client: `client-${index}`, service };
    return { pair, provenBy: 'request', checkedAt: START, at: START, ...look };
  });
}

function unreached(count: number, service: string) {
  return Array.from({ length: count }, (_, index): MissedPair => {
    return { pair: { client: `client-${index}`, service }, reason: 'out-of-time' };
  });
}

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
