import { describe, expect, it } from 'vitest';
import type { SecretReading, StagedVersions } from '../../../functions/broker/credential/secret.ts';
import type { IssueRequest } from '../../../functions/broker/http/request.ts';
import { decide, type Issue, livingToken, type Step, type View } from '../../../functions/broker/pair/decision.ts';
import { EMPTY_RECORD, type PairRecord, type Wait } from '../../../functions/broker/pair/record.ts';
import type { Service } from '../../../functions/broker/service.ts';
import type { ProblemType } from '../../../functions/contract.ts';
import { found, ISSUE_REQUEST } from '../../support/broker-world.ts';
import { exampleService, START } from '../../support/example.ts';
import { exampleCall, exampleToken } from '../../support/pair-examples.ts';

const SECOND_MS = 1_000;

/** Lives for an hour from START; its soft window begins after 48 minutes, its hard margin half a minute before the end. */
const TOKEN = exampleToken({ refreshAt: START + 2_880 * SECOND_MS });
const PUBLISHED: PairRecord = {
  ...EMPTY_RECORD,
  fence: 1,
  token: TOKEN,
  attemptedAt: START,
};
const SOFT = START + 2_900 * SECOND_MS;
const LAST_MOMENT = START + 3_570 * SECOND_MS - 1;
const HARD = START + 3_570 * SECOND_MS;

interface Changes extends Partial<Omit<View, 'record'>> {
  readonly record?: Partial<PairRecord>;
  readonly request?: Partial<IssueRequest>;
  readonly service?: Partial<Service>;
  readonly now?: number;
}

function stepOf({ record, request, service, now = START, ...view }: Changes = {}): Step<Issue> {
  return decide(
    {
      record: { ...PUBLISHED, ...record },
      isAlone: false,
      leaseIsOver: true,
      observedExpired: false,
      mayRenew: true,
      ...view,
    },
    exampleCall({ service: exampleService(service) }),
    { ...ISSUE_REQUEST, ...request },
    now,
  );
}

/** The step, and what matters of it; every answer is the token of the record. */
function told(changes: Changes): string {
  const step = stepOf(changes);
  switch (step.kind) {
    case 'answer':
    case 'renew':
      expect(step.answer.token).toBe(changes.record?.token ?? TOKEN);
      return step.kind === 'answer' ? step.answer.cache : `renew for ${step.timeoutMs} ms`;
    case 'request':
      return step.forced ? 'force' : 'request';
    case 'fail':
      return [step.problem.type, step.problem.retryAfterSeconds].filter((part) => part !== undefined).join(' ');
    default:
      return step.kind;
  }
}

const pause = (until: number, type: ProblemType = 'token-endpoint-unavailable'): Wait => ({
  until,
  step: 1,
  problem: { type, detail: 'down' },
});
const versions = (listing: SecretReading): StagedVersions => ({
  name: 'token-broker/test/acme',
  stage: 'AWSCURRENT',
  listing,
  candidates: [listing],
});
const alone = (listing: SecretReading): Changes => ({ isAlone: true, versions: versions(listing) });

it.each<[string, string, Changes]>([
  ['a living token', 'shared', {}],
  ['a disabled client, even with a living token', 'client-disabled', { record: { disabled: true } }],
  ['a living token during a pause', 'shared', { record: { pause: pause(SOFT + 1) }, now: SOFT }],
  ['a living token under another’s lease', 'shared', { leaseIsOver: false, now: SOFT }],
  ['no token', 'request', { record: { token: undefined } }],
  ['no token, after another attempt just now', 'request', { record: { token: undefined, forcedAt: START } }],
  ['a token from a clock that is half a minute ahead', 'shared', { now: START - 30 * SECOND_MS }],
  ['a token from a clock that is further ahead', 'request', { now: START - 30 * SECOND_MS - 1 }],
  ['the last moment before the hard margin', 'renew for 1000 ms', { now: LAST_MOMENT }],
  ['the hard margin', 'request', { now: HARD }],
  [
    'the hard margin of the longest life time seen',
    'shared',
    { record: { token: { ...TOKEN, lifetimeSeenMs: 1 } }, now: HARD, mayRenew: false },
  ],
  ['the hard margin, under another’s lease', 'wait', { now: HARD, leaseIsOver: false }],
  ['a pause', 'token-endpoint-unavailable 7', { now: HARD, record: { pause: pause(HARD + 6_001) } }],
  [
    'a pause under another’s lease',
    'token-endpoint-timeout 1',
    { now: HARD, leaseIsOver: false, record: { pause: pause(HARD + 1, 'token-endpoint-timeout') } },
  ],
  ['the end of a pause', 'request', { now: HARD, record: { pause: pause(HARD) } }],
])('decides on %s: %s', (_, step, changes) => {
  expect(told(changes)).toBe(step);
});

it('tells the caller of a disabled client who can help, and the one of a refused token how long to wait', () => {
  const detailOf = (changes: Changes) => {
    const step = stepOf(changes);
    return step.kind === 'fail' ? step.problem.detail : step.kind;
  };

  expect(detailOf({ record: { disabled: true } })).toMatch(/disabled .* an operator/i);
  expect(detailOf({ record: { pause: pause(HARD + 1) }, now: HARD })).toBe('down');
  expect(detailOf({ record: { forcedAt: START }, request: { refused: TOKEN.fingerprint } })).toMatch(
    /refused .* 30 seconds/,
  );
});

describe('an environment that is alone', () => {
  it.each<[string, string, Changes]>([
    ['issues the token that it knows while the secret is there', 'memory', alone(found('v1'))],
    ['issues it while Secrets Manager is down', 'memory', alone({ outcome: 'unavailable', cause: 'down' })],
    ['issues it when the secret is no JSON', 'memory', alone(found('v1', 'text'))],
    ['issues it when the secret is binary', 'memory', alone({ outcome: 'binary' })],
    ['issues nothing when the secret is missing', 'credential-missing', alone({ outcome: 'missing' })],
    ['issues nothing when the secret is deleted', 'credential-missing', alone({ outcome: 'deleted' })],
    [
      'issues nothing when it may not read the secret',
      'secrets-unavailable',
      alone({ outcome: 'denied', cause: 'no' }),
    ],
    [
      'issues nothing when the secret names other services',
      'credential-missing',
      alone(found('v1', { services: ['other'] })),
    ],
    [
      'issues nothing to a disabled client',
      'client-disabled',
      { ...alone({ outcome: 'missing' }), record: { disabled: true } },
    ],
    ['makes a token request when it has no token', 'request', { ...alone(found('v1')), now: HARD }],
    ['renews its token', 'renew for 1000 ms', { ...alone(found('v1')), now: SOFT }],
    [
      'renews it although the record is closed',
      'renew for 1000 ms',
      { ...alone(found('v1')), now: SOFT, record: { closedUntil: Infinity } },
    ],
  ])('%s: %s', (_, step, changes) => {
    expect(told(changes)).toBe(step);
  });
});

describe('in the soft window', () => {
  it.each<[string, string, Changes]>([
    ['which has not begun, no call renews', 'shared', { now: TOKEN.refreshAt - 1 }],
    ['from its first millisecond on, a call renews', 'renew for 1000 ms', { now: TOKEN.refreshAt }],
    ['a call that has tried does not try again', 'shared', { mayRenew: false }],
    ['no call renews under another’s lease', 'shared', { leaseIsOver: false }],
    ['no call renews within 15 s of an attempt', 'shared', { record: { attemptedAt: SOFT - 14_999 } }],
    ['a call renews 15 s after an attempt', 'renew for 1000 ms', { record: { attemptedAt: SOFT - 15_000 } }],
    ['no call renews when a new token would end the old one', 'shared', { service: { singleActiveToken: true } }],
    ['no call renews during a pause', 'shared', { record: { pause: pause(SOFT + 1) } }],
    ['a call renews when a pause is over', 'renew for 1000 ms', { record: { pause: pause(SOFT) } }],
    ['no call renews a token that the environment cannot open', 'shared', { record: { closedUntil: SOFT + 1 } }],
    ['a call renews it when it may be replaced', 'renew for 1000 ms', { record: { closedUntil: SOFT } }],
    [
      'a call renews within the one second of a renewal, even for a slow service',
      'renew for 1000 ms',
      { service: { requestTimeoutMs: 6_000 } },
    ],
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
    ['waits as long as the service’s settings say', 'renew for 6000 ms', { service: { requestTimeoutMs: 6_000 } }],
    ['that no token ever has asks for nothing', 'shared', { request: { minTtlMs: 3_601 * SECOND_MS } }],
    ['asks for nothing within 30 s of an attempt', 'shared', { record: { attemptedAt: now - 29_999 } }],
    ['asks again after 30 s', 'renew for 4000 ms', { record: { attemptedAt: now - 30_000 } }],
    ['asks for nothing during a pause', 'shared', { record: { pause: pause(now + 1) } }],
    ['asks for nothing when a new token would end the old one', 'shared', { service: { singleActiveToken: true } }],
    ['waits longer than a renewal in the soft window', 'renew for 4000 ms', { now: SOFT }],
    [
      'leaves a renewal after 15 s in the soft window',
      'renew for 1000 ms',
      { now: SOFT, record: { attemptedAt: SOFT - 15_000 } },
    ],
  ])('%s: %s', (_, step, changes) => {
    expect(told({ now, request, ...changes })).toBe(step);
  });
});

describe('a refused token', () => {
  const now = START + 60 * SECOND_MS;
  const refused = TOKEN.fingerprint;

  it.each<[string, string, Changes]>([
    ['is replaced', 'force', {}],
    ['is replaced although a new token ends the old one', 'force', { service: { singleActiveToken: true } }],
    ['that is not the current one leaves that', 'shared', { request: { refused: 'ffffffffffffffff' } }],
    ['that is all the service has is issued', 'shared', { record: { token: { ...TOKEN, sameTokenAgain: true } } }],
    ['is replaced once in 30 s', 'refused-again 1', { record: { forcedAt: now - 29_999 } }],
    ['is replaced once in 30 s, and the caller is told when', 'refused-again 30', { record: { forcedAt: now } }],
    ['is replaced again after 30 s', 'force', { record: { forcedAt: now - 30_000 } }],
    [
      'brings the problem of a pause',
      'token-endpoint-unavailable 1',
      { record: { pause: pause(now + 1), forcedAt: now } },
    ],
    ['is replaced when a pause is over', 'force', { record: { pause: pause(now) } }],
    ['waits for another’s lease', 'wait', { leaseIsOver: false }],
    [
      'waits for another’s lease although it was forced just now',
      'wait',
      { leaseIsOver: false, record: { forcedAt: now } },
    ],
    ['that has lapsed is nothing special', 'request', { now: HARD, record: { forcedAt: HARD } }],
  ])('%s: %s', (_, step, changes) => {
    expect(told({ now, ...changes, request: { refused, ...changes.request } })).toBe(step);
  });
});

it('a token lives until its hard margin, which is that of the longest life time seen', () => {
  expect(livingToken(PUBLISHED, LAST_MOMENT)).toBe(TOKEN);
  expect(livingToken(PUBLISHED, HARD)).toBeUndefined();
  const short = { ...TOKEN, lifetimeSeenMs: 5 * SECOND_MS };
  expect(livingToken({ ...PUBLISHED, token: short }, HARD)).toBe(short);
  expect(livingToken(EMPTY_RECORD, START)).toBeUndefined();
});
