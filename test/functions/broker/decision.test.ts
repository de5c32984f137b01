import { describe, expect, it } from 'vitest';
import type { Sendable } from '../../../functions/broker/pair/choose-version.ts';
import { decide, type Situation, type Step } from '../../../functions/broker/pair/decision.ts';
import { EMPTY_RECORD, type PairRecord, type Pause } from '../../../functions/broker/pair/record.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { ISSUE_REQUEST } from '../../support/broker-world.ts';
import { START } from '../../support/example.ts';
import { exampleToken } from '../../support/pair-examples.ts';

const SECOND_MS = 1_000;
const REQUEST_TIMEOUT_MS = 4_000;

/** Lives for an hour from START; its soft window begins after 48 minutes, its hard margin half a minute before the end. */
const TOKEN = exampleToken({ refreshAt: START + 2_880 * SECOND_MS });
const PUBLISHED: PairRecord = {
  ...EMPTY_RECORD,
  fence: 1,
  token: TOKEN,
  lifetimeSeenMs: 3_600 * SECOND_MS,
  attemptedAt: START,
};

const SOFT = START + 2_900 * SECOND_MS;
const LAST_SECOND = START + 3_570 * SECOND_MS - 1;
const HARD = START + 3_570 * SECOND_MS;

const sendable = (versionId: string, stage: 'AWSCURRENT' | 'AWSPREVIOUS' = 'AWSCURRENT'): Sendable => ({
  kind: 'version',
  version: { versionId, stage, text: new Redacted('{}') },
});
const nothing = (endsTokens: boolean, type: Problem['type'] = 'credential-rejected'): Sendable => ({
  kind: 'none',
  problem: new Problem(type, 'nothing to send'),
  endsTokens,
});
const pause = (until: number, type: Problem['type'] = 'token-endpoint-unavailable'): Pause => ({
  until,
  step: 1,
  problem: { type, detail: 'down' },
});

function told(changes: Changes = {}): string {
  return describeStep(stepOf(changes));
}

function stepOf({ record, request, ...changes }: Changes): Step {
  return decide({
    record: { ...PUBLISHED, ...record },
    request: { ...ISSUE_REQUEST, ...request },
    sendable: sendable('v1'),
    leaseIsOver: true,
    singleActiveToken: false,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    now: START,
    ...changes,
  });
}

type Changes = Partial<Omit<Situation, 'record' | 'request'>> & {
  readonly record?: Partial<PairRecord>;
  readonly request?: Partial<Situation['request']>;
};

function describeStep(step: Step): string {
  switch (step.kind) {
    case 'renew':
      return `renew for ${step.patienceMs} ms`;
    case 'fail':
      return [step.problem.type, step.problem.retryAfterSeconds].filter((part) => part !== undefined).join(' ');
    default:
      return step.kind;
  }
}

const refused = TOKEN.fingerprint;

it.each<[string, string, Changes]>([
  ['a living token', 'issue', {}],
  ['a disabled client, whatever lives', 'credential-missing', { record: { disabled: true } }],
  ['a secret that was taken away, whatever lives', 'credential-rejected', { sendable: nothing(true) }],
  ['a living token although nothing can be sent', 'issue', { sendable: nothing(false), now: SOFT }],
  ['a living token during a pause', 'issue', { record: { pause: pause(SOFT + 1) }, now: SOFT }],
  ['a living token under another’s lease', 'issue', { leaseIsOver: false, now: SOFT }],
  ['no token', 'request', { record: { token: undefined } }],
  ['the last moment before the hard margin', 'renew for 4000 ms', { now: LAST_SECOND }],
  ['the hard margin', 'request', { now: HARD }],
  ['the hard margin, under another’s lease', 'wait', { now: HARD, leaseIsOver: false }],
  [
    'the hard margin, during a pause',
    'token-endpoint-unavailable 7',
    { now: HARD, record: { pause: pause(HARD + 6_001) } },
  ],
  ['the hard margin, when a pause ends', 'request', { now: HARD, record: { pause: pause(HARD) } }],
  ['the hard margin, with nothing to send', 'credential-rejected', { now: HARD, sendable: nothing(false) }],
  [
    'the hard margin, with nothing to send, under another’s lease',
    'credential-rejected',
    { now: HARD, sendable: nothing(false), leaseIsOver: false },
  ],
  [
    'the hard margin, with secrets out of reach',
    'secrets-unavailable',
    { now: HARD, sendable: nothing(false, 'secrets-unavailable') },
  ],
  [
    'the hard margin, with secrets out of reach, under the lease of another who may have read them',
    'wait',
    { now: HARD, sendable: nothing(false, 'secrets-unavailable'), leaseIsOver: false },
  ],
])('decides on %s: %s', (_, step, changes) => {
  expect(told(changes)).toBe(step);
});

it('tells the caller of a disabled client who can help, and the one of a refused token how long to wait', () => {
  const failure = (changes: Changes) => {
    const step = stepOf(changes);
    return step.kind === 'fail' ? step.problem.detail : step.kind;
  };

  expect(failure({ record: { disabled: true } })).toMatch(/disabled .* an operator/i);
  expect(failure({ record: { forcedAt: START }, request: { refused } })).toMatch(/refused .* 30 seconds/);
});

describe('in the soft window', () => {
  it('is whoever asks from its first millisecond on', () => {
    expect(told({ now: TOKEN.refreshAt - 1 })).toBe('issue');
    expect(told({ now: TOKEN.refreshAt })).toBe('renew for 1000 ms');
  });

  it.each<[string, string, Changes]>([
    ['one environment refreshes, and waits a second', 'renew for 1000 ms', {}],
    ['nobody does within 15 s of an attempt', 'issue', { record: { attemptedAt: SOFT - 14_999 } }],
    ['somebody does 15 s after an attempt', 'renew for 1000 ms', { record: { attemptedAt: SOFT - 15_000 } }],
    ['nobody does when a new token would end the old one', 'issue', { singleActiveToken: true }],
    ['a pause that is over is in nobody’s way', 'renew for 1000 ms', { record: { pause: pause(SOFT) } }],
    [
      'the request after one that was given up is waited for',
      'renew for 4000 ms',
      { record: { pause: pause(SOFT, 'token-endpoint-timeout') } },
    ],
    ['so is the one of another version', 'renew for 4000 ms', { sendable: sendable('v0', 'AWSPREVIOUS') }],
  ])('%s: %s', (_, step, changes) => {
    expect(told({ now: SOFT, ...changes })).toBe(step);
  });
});

describe('a living token of another version', () => {
  const now = START + 60 * SECOND_MS;

  it.each<[string, string, Changes]>([
    ['than AWSCURRENT is replaced, by whoever waits for the answer', 'renew for 4000 ms', { sendable: sendable('v2') }],
    ['is left for 15 s after an attempt', 'issue', { sendable: sendable('v2'), record: { attemptedAt: now - 14_999 } }],
    ['than AWSPREVIOUS, while that stands in, is left', 'issue', { sendable: sendable('v0', 'AWSPREVIOUS') }],
    ['is left when a new one would end it', 'issue', { sendable: sendable('v2'), singleActiveToken: true }],
  ])('%s: %s', (_, step, changes) => {
    expect(told({ now, ...changes })).toBe(step);
  });
});

describe('min_ttl', () => {
  const now = START + 600 * SECOND_MS;
  const minTtl = (seconds: number) => ({ minTtlMs: seconds * SECOND_MS });

  it.each<[string, string, Changes]>([
    ['that the token has asks for nothing', 'issue', { request: minTtl(3_000) }],
    ['that it has not, but a new one would, asks for one', 'renew for 4000 ms', { request: minTtl(3_001) }],
    ['that no token ever has asks for nothing', 'issue', { request: minTtl(3_601) }],
    [
      'asks for nothing within 30 s of an attempt',
      'issue',
      { request: minTtl(3_001), record: { attemptedAt: now - 29_999 } },
    ],
    ['asks again after 30 s', 'renew for 4000 ms', { request: minTtl(3_001), record: { attemptedAt: now - 30_000 } }],
    ['asks for nothing during a pause', 'issue', { request: minTtl(3_001), record: { pause: pause(now + 1) } }],
    [
      'asks for nothing when a new token would end the old one',
      'issue',
      { request: minTtl(3_001), singleActiveToken: true },
    ],
  ])('%s: %s', (_, step, changes) => {
    expect(told({ now, ...changes })).toBe(step);
  });
});

describe('a refused token', () => {
  const now = START + 60 * SECOND_MS;

  it.each<[string, string, Changes]>([
    ['is replaced', 'force', {}],
    ['is replaced although a new token ends the old one', 'force', { singleActiveToken: true }],
    ['that is not the current one leaves that', 'issue', { request: { refused: 'ffffffffffffffff' } }],
    ['that is all the service has is issued', 'issue', { record: { token: { ...TOKEN, sameTokenAgain: true } } }],
    ['is replaced once in 30 s', 'refused-again 1', { record: { forcedAt: now - 29_999 } }],
    ['is replaced again after 30 s', 'force', { record: { forcedAt: now - 30_000 } }],
    ['brings the problem of a pause', 'token-endpoint-unavailable 1', { record: { pause: pause(now + 1) } }],
    ['waits for another’s lease', 'wait', { leaseIsOver: false }],
    [
      'waits for another’s lease although it was forced just now',
      'wait',
      { leaseIsOver: false, record: { forcedAt: now } },
    ],
    ['cannot be replaced when nothing can be sent', 'credential-rejected', { sendable: nothing(false) }],
    ['that has lapsed is nothing special', 'request', { now: HARD }],
  ])('%s: %s', (_, step, changes) => {
    expect(told({ now, ...changes, request: { refused, ...changes.request } })).toBe(step);
  });
});
