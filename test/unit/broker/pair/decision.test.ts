import { describe, expect, it } from 'vitest';
import type { IssueRequest } from '../../../../functions/broker/pair/decision.ts';
import { decideIssue, type View } from '../../../../functions/broker/pair/decision.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import { Problem } from '../../../../functions/broker/problem.ts';
import type { Service } from '../../../../functions/broker/service.ts';
import { ISSUE_REQUEST } from '../../../support/broker-world.ts';
import { exampleService, SECOND_MS, START } from '../../../support/example.ts';
import { closedToken, exampleCall, exampleToken, exampleWait as pause } from '../../../support/pair/pair-examples.ts';

/** Lives for an hour from START; its soft window begins after 48 minutes, its hard margin half a minute before the end. */
const TOKEN = exampleToken({ refreshAt: START + 2_880 * SECOND_MS });
const SOFT = START + 2_900 * SECOND_MS;
const HARD = START + 3_570 * SECOND_MS;
const PUBLISHED: PairRecord = { ...EMPTY_RECORD, token: TOKEN, attemptedAt: START };

interface Changes extends Partial<Omit<View, 'record'>> {
  readonly record?: Partial<PairRecord>;
  readonly request?: Partial<IssueRequest>;
  readonly service?: Partial<Service>;
  readonly now?: number;
}

function stepOf({ record, request, service, now = START, ...view }: Changes = {}) {
  const known = { cache: 'shared', leaseIsOver: true, ...view } as const;
  const call = exampleCall({ service: exampleService(service) });
  try {
    return decideIssue({ record: { ...PUBLISHED, ...record }, ...known }, call, { ...ISSUE_REQUEST, ...request }, now);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** The step, and what matters of it; every answer is the token of the record. */
function told(changes: Changes): string {
  const step = stepOf(changes);
  if (step instanceof Problem)
    return [step.type, step.retryAfterSeconds].filter((part) => part !== undefined).join(' ');
  switch (step.kind) {
    case 'answer':
    case 'renew':
      expect(step.answer.token).toBe(changes.record?.token ?? TOKEN);
      return step.kind === 'answer' ? step.answer.cache : `renew for ${step.timeoutMs} ms`;
    case 'request':
      return step.forced ? 'force' : 'request';
    default:
      return step.kind;
  }
}

const paused = (until: number) => ({ record: { pause: pause(until) } });

it.each<[string, string, Changes]>([
  ['a living token', 'shared', {}],
  ['a disabled client, even with a living token', 'client-disabled', { record: { disabled: { since: START } } }],
  ['no token', 'request', { record: { token: undefined } }],
  ['no token, after a forced request just now', 'request', { record: { token: undefined, forcedAt: START } }],
  ['a token that cannot be opened', 'request', { record: { token: closedToken() } }],
  ['the last moment before the hard margin', 'renew for 1000 ms', { now: HARD - 1 }],
  ['the hard margin', 'request', { now: HARD }],
  ['the hard margin, under another’s lease', 'wait', { now: HARD, leaseIsOver: false }],
  ['a pause', 'token-endpoint-unavailable 7', { now: HARD, ...paused(HARD + 6_001) }],
  ['a pause under any lease', 'token-endpoint-unavailable 1', { now: HARD, leaseIsOver: false, ...paused(HARD + 1) }],
  ['the end of a pause', 'request', { now: HARD, ...paused(HARD) }],
])('decides on %s: %s', (_, step, changes) => {
  expect(told(changes)).toBe(step);
});

it.each<[RegExp, Changes]>([
  [/disabled .* an operator/i, { record: { disabled: { since: START } } }],
  [/^down$/, { now: HARD, ...paused(HARD + 1) }],
  [/refused .* 30 seconds/, { record: { forcedAt: START }, request: { refused: TOKEN.fingerprint } }],
])('says to the caller what is the matter: %o', (detail, changes) => {
  expect(stepOf(changes)).toMatchObject({ detail: expect.stringMatching(detail) });
});

describe('in the soft window', () => {
  it.each<[string, string, Changes]>([
    ['which has not begun, no call renews', 'shared', { now: TOKEN.refreshAt - 1 }],
    ['from its first millisecond on, a call renews', 'renew for 1000 ms', { now: TOKEN.refreshAt }],
    ['no call renews under another’s lease', 'shared', { leaseIsOver: false }],
    ['no call renews within 15 s of an attempt', 'shared', { record: { attemptedAt: SOFT - 14_999 } }],
    ['a call renews 15 s after an attempt', 'renew for 1000 ms', { record: { attemptedAt: SOFT - 15_000 } }],
    ['no call renews when a new token would end the old one', 'shared', { service: { singleActiveToken: true } }],
    ['no call renews during a pause', 'shared', paused(SOFT + 1)],
    ['a call renews when a pause is over', 'renew for 1000 ms', paused(SOFT)],
  ])('%s: %s', (_, step, changes) => {
    expect(told({ now: SOFT, ...changes })).toBe(step);
  });
});

describe('min_ttl', () => {
  const now = START + 600 * SECOND_MS;
  const request = { minTtlMs: 3_001 * SECOND_MS };

  it.each<[string, string, Changes]>([
    ['that the token has asks for nothing', 'shared', { request: { minTtlMs: 3_000 * SECOND_MS } }],
    ['that it has not, but a new one would, asks for one', 'renew for 4000 ms', {}],
    ['of the longest life seen asks for one', 'renew for 4000 ms', { request: { minTtlMs: 3_600 * SECOND_MS } }],
    ['that no token ever has asks for nothing', 'shared', { request: { minTtlMs: 3_601 * SECOND_MS } }],
    ['asks for nothing within 30 s of an attempt', 'shared', { record: { attemptedAt: now - 29_999 } }],
    ['asks again after 30 s', 'renew for 4000 ms', { record: { attemptedAt: now - 30_000 } }],
    ['leaves a renewal to the soft window', 'renew for 1000 ms', { now: SOFT, record: { attemptedAt: SOFT - 15_000 } }],
  ])('%s: %s', (_, step, changes) => {
    expect(told({ now, request, ...changes })).toBe(step);
  });
});

describe('a refused token', () => {
  const now = START + 60 * SECOND_MS;
  const refused = TOKEN.fingerprint;
  const NEW = { now: START + 2_000, record: { attemptedAt: START + 2_000 } };
  const SAME = { ...TOKEN, sameTokenAgain: true };
  /** A token that was all the service had so long after its beginning, some time later. */
  const same = (ageMs: number, laterMs: number): Changes => ({
    now: START + ageMs + laterMs,
    record: { token: SAME, forcedAt: START + ageMs },
  });

  it.each<[string, string, Changes]>([
    ['is replaced', 'force', {}],
    ['that is not the current one leaves that', 'shared', { request: { refused: 'ffffffffffffffff' } }],
    ['that is all the service has is issued', 'shared', same(0, 59_999)],
    // @see wso2/api-manager#773, rackerlabs/otter#694
    ['that was all the service had is replaced after a minute', 'force', same(0, 60_000)],
    ['that was all there is is issued for as long as it was old', 'shared', same(200_000, 199_999)],
    ['that was all there is is replaced after that', 'force', same(200_000, 200_000)],
    ['that was old when it was all there is is issued for five minutes', 'shared', same(1_000_000, 299_999)],
    ['that was old when it was all there is is replaced after those', 'force', same(1_000_000, 300_000)],
    ['is replaced once in 30 s', 'refused-again 1', { record: { forcedAt: now - 29_999 } }],
    ['is replaced once in 30 s, and the caller is told when', 'refused-again 30', { record: { forcedAt: now } }],
    ['is replaced again after 30 s', 'force', { record: { forcedAt: now - 30_000 } }],
    ['is not replaced within 5 s after it was published', 'refused-again 5', NEW],
    ['is not replaced within 5 s, to the millisecond', 'refused-again 1', { ...NEW, now: NEW.now + 4_999 }],
    ['is replaced after that', 'force', { ...NEW, now: NEW.now + 5_000 }],
    ['is replaced 9 s after its request', 'force', { now: START + 9_000, record: { attemptedAt: START + 8_999 } }],
    [
      'that is as new waits no longer for 30 s',
      'refused-again 30',
      { ...NEW, record: { ...NEW.record, forcedAt: NEW.now } },
    ],
    ['is answered with a pause', 'token-endpoint-unavailable 1', { record: { pause: pause(now + 1), forcedAt: now } }],
    ['waits for another’s lease', 'wait', { leaseIsOver: false, record: { forcedAt: now } }],
    ['that has lapsed is nothing special', 'request', { now: HARD, record: { forcedAt: HARD } }],
  ])('%s: %s', (_, step, changes) => {
    expect(told({ now, ...changes, request: { refused, ...changes.request } })).toBe(step);
  });
});
