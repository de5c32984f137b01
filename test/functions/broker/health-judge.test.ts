import { describe, expect, it } from 'vitest';
import type { CheckedPair, MissedPair } from '../../../functions/broker/health/check-pairs.ts';
import { judgePairs, judgeService } from '../../../functions/broker/health/evaluate.ts';
import type { Entry, Judgement } from '../../../functions/broker/health/transitions.ts';
import { START } from '../../support/example.ts';

const SERVICE = 'customer-insights';
const MINUTE = 60_000;
const INCIDENT: Entry = { condition: 'incident', since: START - 90 * MINUTE, at: START - 60 * MINUTE };

describe('an incident of a service', () => {
  it('begins with the first pair that got no answer, which may be known from before the run', () => {
    const checked = [
      ...found(4, { finding: 'unreachable', checkedAt: START }),
      ...found(1, { finding: 'throttled', provenBy: 'pause', checkedAt: START - MINUTE }),
      ...found(1, { finding: 'accepted', checkedAt: START - 2 * MINUTE }),
    ];
    expect(judge({ checked })).toMatchObject({ condition: 'incident', since: START - MINUTE, at: START });
  });

  it('begins no later than it is seen, whatever the clock of the broker says', () => {
    const checked = found(5, { finding: 'unreachable', checkedAt: START + MINUTE });
    expect(judge({ checked })).toMatchObject({ condition: 'incident', since: START });
  });

  it('is over from now on', () => {
    const checked = found(5, { finding: 'accepted', checkedAt: START - MINUTE });
    expect(judge({ checked, before: INCIDENT })).toMatchObject({ condition: 'answering', since: START });
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
    expect(judge({ checked, missed })).toMatchObject({
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
    expect(judge({ checked, before: INCIDENT })).toMatchObject({ condition });
  });
});

describe('a pair', () => {
  it('has been so since the broker found out, and no later than we learned of it', () => {
    const early = found(1, { finding: 'rejected', checkedAt: START - MINUTE, at: START });
    const late = found(1, { finding: 'rejected', checkedAt: START + MINUTE, at: START });
    const { observations } = judgePairs([...early, ...late])(new Map());
    expect(observations.map(({ since }) => since)).toEqual([START - MINUTE, START]);
  });

  it.each([
    ['is looked at', undefined, 1],
    ['is looked at after an incident', { ...INCIDENT, condition: 'answering' }, 1],
    ['is left aside during an incident', INCIDENT, 0],
  ] as const)('that got no answer %s', (_what, before, count) => {
    const entries = new Map(before === undefined ? [] : [['service', before]]);
    expect(judgePairs(found(1, { finding: 'unreachable' }))(entries).observations).toHaveLength(count);
  });

  it('that is listed no more is remembered for ten minutes, in which the list may not show it yet', () => {
    const { forgets } = judgement({ checked: found(1, { finding: 'accepted' }) });
    const entry = (at: number): Entry => ({ condition: 'rejected', since: at, at });
    expect(forgets('gone/customer-insights', entry(START - 10 * MINUTE))).toBe(false);
    expect(forgets('gone/customer-insights', entry(START - 10 * MINUTE - 1))).toBe(true);
    expect(forgets('client-0/customer-insights', entry(START - 10 * MINUTE - 1))).toBe(false);
    expect(forgets('service', entry(START - 10 * MINUTE - 1))).toBe(false);
  });
});

interface Look {
  readonly checked: readonly CheckedPair[];
  readonly missed?: readonly MissedPair[];
  readonly before?: Entry;
}

function judge(look: Look) {
  return judgement(look).observations[0];
}

function judgement({ checked, missed = [], before }: Look): Judgement {
  const pairs = [...checked, ...missed].map(({ pair }) => pair);
  const entries = new Map(before === undefined ? [] : [['service', before]]);
  return judgeService({ service: SERVICE, pairs, walk: { checked, missed }, at: START })(entries);
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
