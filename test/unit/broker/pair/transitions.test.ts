import { describe, expect, it } from 'vitest';
import type { LeasedRequest } from '../../../../functions/broker/pair/call.ts';
import type { Outcome } from '../../../../functions/broker/pair/outcome.ts';
import type { PairRecord } from '../../../../functions/broker/pair/record.ts';
import { cleared, leased, settled, withdrawn } from '../../../../functions/broker/pair/transitions.ts';
import { HOUR_MS, START } from '../../../support/example.ts';
import {
  CHECKED,
  exampleRequest,
  exampleToken,
  exampleWait,
  fullRecord,
  HOLD_KEY,
  latches,
} from '../../../support/pair/pair-examples.ts';

const MINE = exampleRequest();
const LOST = exampleRequest({ lease: { id: 'lost', until: START } });
const AT = START + 1_000;
const TOKEN = exampleToken({ fingerprint: 'new' });
const WAIT = exampleWait(START + 4_000);
const FREE: PairRecord = { ...fullRecord(), lease: undefined, pause: WAIT, disabled: { since: START } };
const FULL: PairRecord = { ...FREE, lease: MINE.lease };
const lease = (changes: Partial<LeasedRequest> = {}, isCheck = false) =>
  leased({ ...MINE, record: FREE, ...changes }, isCheck, START);
/** What the record holds of another version, and under other settings. */
const OTHERS = {
  rejected: new Map([...FULL.rejected].filter(([version]) => version !== 'v1')),
  held: new Map([...FULL.held].filter(([key]) => key !== HOLD_KEY)),
};
const OUTCOMES = {
  token: { kind: 'accepted', token: TOKEN, at: AT },
  trial: { kind: 'accepted', token: TOKEN, checked: { ...CHECKED, at: AT }, at: AT },
  rejected: { kind: 'rejected', at: AT },
  pause: { kind: 'failed', wait: exampleWait(AT), holds: false, at: AT },
  hold: { kind: 'failed', wait: exampleWait(AT), holds: true, at: AT },
  silence: { kind: 'failed', wait: { ...exampleWait(AT), unheard: true }, holds: true, at: AT },
} as const satisfies Record<string, Outcome>;

describe('the record under a new lease', () => {
  it('has the lease, and the time of the attempt', () => {
    expect(lease({ version: { ...MINE.version, versionId: 'v3' } })).toEqual({ ...FULL, attemptedAt: START });
  });

  it('has the time of a forced request, and of a check neither', () => {
    expect(lease({ forced: true })).toMatchObject({ attemptedAt: START, forcedAt: START });
    expect(lease({}, true)).toEqual({ ...FULL, rejected: expect.any(Map) });
  });

  it('counts the chance of a version that was rejected before, before that is sent, and no other', () => {
    const { rejected } = lease();
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
    expect(settled(FULL, MINE, OUTCOMES[kind])).toEqual({ ...FREE, ...changes });
  });

  it.each(['token', 'trial', 'pause', 'hold'] as const)('changes nothing once another lease has begun: %s', (kind) => {
    expect(settled(FULL, LOST, OUTCOMES[kind])).toBe(FULL);
  });

  it('is counted once per lease, also when its chance was counted before', () => {
    const charged = lease();
    const once = settled(charged, MINE, OUTCOMES.rejected);
    expect(once.rejected.get('v1')).toEqual({ count: 2, at: AT, by: 'mine' });
    expect(settled(once, MINE, OUTCOMES.rejected)).toEqual(once);
  });

  it('is counted once under a lease that was lost, when it is a rejection', () => {
    const record = { ...FULL, rejected: latches({ v1: START }) };
    const counted = settled(record, LOST, OUTCOMES.rejected);
    expect(counted).toEqual({ ...record, rejected: new Map([['v1', { count: 2, at: AT, by: 'lost' }]]) });
    expect(settled(counted, LOST, OUTCOMES.rejected)).toEqual(counted);
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
      expect(settled(record, id === 'mine' ? MINE : LOST, OUTCOMES[kind]).pause).toEqual(stays ? record.pause : WAIT);
    },
  );

  it('drops holds that ended more than a day ago', () => {
    const ended = (agoMs: number) => exampleWait(AT - 24 * HOUR_MS - agoMs);
    const held = new Map([
      ['v8:a', ended(0)],
      ['v9:a', ended(1)],
    ]);
    expect([...settled({ ...FULL, held }, MINE, OUTCOMES.hold).held.keys()]).toEqual(['v8:a', HOLD_KEY]);
  });

  it('keeps the latches of the hundred versions that were rejected last', () => {
    const versions = Array.from({ length: 100 }, (_, n) => `old-${n}`);
    const rejected = latches(Object.fromEntries(versions.map((version) => [version, START])));
    const kept = settled({ ...FULL, rejected }, MINE, OUTCOMES.rejected).rejected;
    expect([...kept.keys()]).toEqual([...versions.slice(1), 'v1']);
  });
});

it('a withdrawal takes the token away, and the lease with it', () => {
  expect(withdrawn(FULL)).toEqual({ ...FREE, token: undefined });
});

it('an operator’s retry opens the way for every version, and takes no lease away', () => {
  expect(cleared(FULL)).toEqual({ ...FULL, rejected: new Map(), held: new Map(), pause: undefined });
});
