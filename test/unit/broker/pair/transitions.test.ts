import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../../functions/broker/pair/outcome.ts';
import type { PairRecord } from '../../../../functions/broker/pair/record.ts';
import { cleared, leased, settled, withdrawn } from '../../../../functions/broker/pair/transitions.ts';
import { HOUR_MS, START } from '../../../support/example.ts';
import {
  CHECKED,
  exampleToken,
  exampleWait,
  fullRecord,
  HOLD_KEY,
  latches,
} from '../../../support/pair/pair-examples.ts';

const LEASE = { id: 'mine', until: START + 6_000 };
const USE = { version: 'v1', forced: false, isCheck: false };
const AT = START + 1_000;
const TOKEN = exampleToken({ fingerprint: 'new' });
const WAIT = exampleWait(START + 4_000);
const FREE: PairRecord = { ...fullRecord(), lease: undefined, pause: WAIT, disabled: { since: START } };
const FULL: PairRecord = { ...FREE, lease: LEASE };
/** What the record holds of another version, and under other settings. */
const OTHERS = {
  rejected: new Map([...FULL.rejected].filter(([version]) => version !== 'v1')),
  held: new Map([...FULL.held].filter(([key]) => key !== HOLD_KEY)),
};
const about = { version: 'v1', holdKey: HOLD_KEY, at: AT };
const OUTCOMES = {
  token: { kind: 'accepted', token: TOKEN, isPublished: true, ...about },
  trial: { kind: 'accepted', token: TOKEN, isPublished: false, checked: { ...CHECKED, at: AT }, ...about },
  rejected: { kind: 'rejected', ...about },
  pause: { kind: 'failed', wait: exampleWait(AT), holds: false, ...about },
  hold: { kind: 'failed', wait: exampleWait(AT), holds: true, ...about },
  silence: { kind: 'failed', wait: { ...exampleWait(AT), unheard: true }, holds: true, ...about },
} as const satisfies Record<string, Outcome>;

describe('the record under a new lease', () => {
  it('has the lease, and the time of the attempt', () => {
    expect(leased(FREE, LEASE, { ...USE, version: 'v3' }, START)).toEqual({ ...FULL, attemptedAt: START });
  });

  it('has the time of a forced request, and of a check neither', () => {
    expect(leased(FREE, LEASE, { ...USE, forced: true }, START)).toMatchObject({ attemptedAt: START, forcedAt: START });
    expect(leased(FREE, LEASE, { ...USE, isCheck: true }, START)).toEqual({
      ...FULL,
      rejected: expect.any(Map),
    });
  });

  it('counts the chance of a version that was rejected before, before that is sent, and no other', () => {
    const { rejected } = leased(FREE, LEASE, USE, START);
    expect(rejected.get('v1')).toEqual({ count: 2, at: START, by: 'mine' });
    expect(rejected.get('v2')).toBe(FULL.rejected.get('v2'));
  });
});

describe('the outcome of a request', () => {
  it.each<[keyof typeof OUTCOMES, Partial<PairRecord>]>([
    ['token', { ...OTHERS, token: TOKEN, pause: undefined, attemptedAt: AT }],
    ['trial', { ...OTHERS, checked: { ...CHECKED, at: AT } }],
    ['pause', { pause: exampleWait(AT) }],
    ['hold', { held: new Map(OTHERS.held).set(HOLD_KEY, exampleWait(AT)) }],
    ['rejected', { rejected: new Map(OTHERS.rejected).set('v1', { count: 2, at: AT, by: 'mine' }) }],
  ])('ends the lease and writes what it is about, and nothing else: %s', (kind, changes) => {
    expect(settled(FULL, 'mine', OUTCOMES[kind])).toEqual({ ...FREE, ...changes });
  });

  it.each(['token', 'trial', 'pause', 'hold'] as const)('changes nothing once another lease has begun: %s', (kind) => {
    expect(settled(FULL, 'lost', OUTCOMES[kind])).toBe(FULL);
  });

  it('is counted once per lease, also when its chance was counted before', () => {
    const charged = leased(FREE, LEASE, USE, START);
    const once = settled(charged, 'mine', OUTCOMES.rejected);
    expect(once.rejected.get('v1')).toEqual({ count: 2, at: AT, by: 'mine' });
    expect(settled(once, 'mine', OUTCOMES.rejected)).toEqual(once);
  });

  it('is counted once under a lease that was lost, when it is a rejection', () => {
    const record = { ...FULL, rejected: latches({ v1: START }) };
    const counted = settled(record, 'lost', OUTCOMES.rejected);
    expect(counted).toEqual({ ...record, rejected: new Map([['v1', { count: 2, at: AT, by: 'lost' }]]) });
    expect(settled(counted, 'lost', OUTCOMES.rejected)).toEqual(counted);
  });

  it.each<[keyof typeof OUTCOMES, string, boolean]>([
    ['trial', 'mine', false],
    ['rejected', 'mine', false],
    ['hold', 'mine', false],
    ['rejected', 'lost', true],
    ['silence', 'mine', true],
  ])(
    'ends the mark of silence of a pause when the service has answered, under its lease: %s, %s',
    (kind, id, stays) => {
      const record = { ...FULL, pause: { ...WAIT, unheard: true } as const };
      expect(settled(record, id, OUTCOMES[kind]).pause).toEqual(stays ? record.pause : WAIT);
    },
  );

  it('drops holds that ended more than a day ago', () => {
    const ended = (agoMs: number) => exampleWait(AT - 24 * HOUR_MS - agoMs);
    const held = new Map([
      ['v8:a', ended(0)],
      ['v9:a', ended(1)],
    ]);
    expect([...settled({ ...FULL, held }, 'mine', OUTCOMES.hold).held.keys()]).toEqual(['v8:a', HOLD_KEY]);
  });

  it('keeps the latches of the hundred versions that were rejected last', () => {
    const versions = Array.from({ length: 100 }, (_, n) => `old-${n}`);
    const rejected = latches(Object.fromEntries(versions.map((version) => [version, START])));
    const kept = settled({ ...FULL, rejected }, 'mine', OUTCOMES.rejected).rejected;
    expect([...kept.keys()]).toEqual([...versions.slice(1), 'v1']);
  });
});

it('a withdrawal takes the token away, and the lease with it', () => {
  expect(withdrawn(FULL)).toEqual({ ...FREE, token: undefined });
});

it('an operator’s retry opens the way for every version, and takes no lease away', () => {
  expect(cleared(FULL)).toEqual({ ...FULL, rejected: new Map(), held: new Map(), pause: undefined });
});
