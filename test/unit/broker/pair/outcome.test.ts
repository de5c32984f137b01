import { describe, expect, it } from 'vitest';
import type { Obtained } from '../../../../functions/broker/pair/obtain-token.ts';
import { outcomeOf } from '../../../../functions/broker/pair/outcome.ts';
import { EMPTY_RECORD, type PairRecord, type Wait } from '../../../../functions/broker/pair/record.ts';
import { settled } from '../../../../functions/broker/pair/transitions.ts';
import { Problem } from '../../../../functions/broker/problem.ts';
import type { SecretStage } from '../../../../functions/vocabulary.ts';
import { HOUR_MS, SECOND_MS, START } from '../../../support/example.ts';
import {
  exampleCall,
  exampleRequest,
  exampleToken,
  exampleWait,
  HOLD_KEY,
} from '../../../support/pair/pair-examples.ts';

const SHAPE = { status: 429, contentType: 'none', bytes: 0, members: [] };

const failed = (changes: { retryAfterSeconds?: number; shape?: typeof SHAPE } = {}): Obtained => ({
  outcome: 'failed',
  problem: new Problem('token-endpoint-unavailable', 'down', changes),
});
const answered = (status: number, retryAfterSeconds?: number) =>
  failed({ shape: { ...SHAPE, status }, ...(retryAfterSeconds && { retryAfterSeconds }) });
const HELD: Obtained = { outcome: 'held', problem: new Problem('token-endpoint-error', 'down', { cause: 'why' }) };
const UNHEARD: Obtained = {
  outcome: 'failed',
  isUnheard: true,
  problem: new Problem('token-endpoint-timeout', 'down', { retryAfterSeconds: 7 }),
};

interface Options {
  readonly record?: Partial<PairRecord>;
  readonly stage?: SecretStage;
}

/** The record after a request of v1, and what it made of it. */
function settle(obtained: Obtained, { record, stage }: Options = {}, at = START) {
  const before = { ...EMPTY_RECORD, ...record };
  const request = exampleRequest({ record: before });
  const outcome = outcomeOf(exampleCall({ stage }), request, obtained, at);
  return { outcome, record: settled({ ...before, lease: request.lease }, request, outcome) };
}

/** The waits in whole seconds that follow so many failures, each asked for when the one before has ended. */
function waitsOf(obtained: Obtained, options: Options, times: number) {
  const seconds: number[] = [];
  let { record = {} } = options;
  let now = START;
  let last: Wait | undefined;
  while (seconds.length < times) {
    const next = settle(obtained, { ...options, record }, now);
    last = next.outcome.kind === 'failed' ? next.outcome.wait : expect.fail(next.outcome.kind);
    seconds.push((last.until - now) / SECOND_MS);
    record = next.record;
    now = last.until;
  }
  return { seconds, last, pause: record.pause, hold: record.held?.get(HOLD_KEY) };
}

describe('the wait after a request in vain', () => {
  const proven = { record: { token: exampleToken({ expiresAt: START }) } };
  const trial = { stage: 'AWSPENDING' } as const;
  const [PAUSES, HOLDS] = ['pauses the pair', 'holds the version'];
  const TO_15_S = [1, 2, 4, 8, 15, 15, 15];
  const TO_1_MIN = [1, 2, 4, 8, 16, 32, 60, 60];
  const TO_5_MIN = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300];
  const TO_1_H = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 3_600, 3_600];

  it.each<[string, string, Obtained, Options, number[]]>([
    ['that says nothing of the credential', PAUSES, failed(), {}, TO_15_S],
    ['for which the service asks for a wait', PAUSES, failed({ retryAfterSeconds: 60 }), {}, [60, 60]],
    ['for which it asks for too much', PAUSES, failed({ retryAfterSeconds: 301 }), {}, [300, 300]],
    ['of a 429 that names no time', PAUSES, answered(429), {}, TO_5_MIN],
    ['of a 429 that asks for an hour', PAUSES, answered(429, 3_600), {}, [300]],
    // @see ging/fiware-idm#43
    ['of a 500, with a proven version,', PAUSES, answered(500), proven, TO_15_S],
    // @see mastodon/mastodon#5111, spring-attic/spring-security-oauth#1007
    ['of a 302, such as one to a log-in page,', HOLDS, answered(302), {}, TO_1_H],
    ['of a 307', HOLDS, answered(307), {}, TO_1_H],
    ['of a 408', PAUSES, answered(408), {}, TO_15_S],
    ['of a 502', PAUSES, answered(502), {}, TO_15_S],
    ['that was refused', HOLDS, HELD, proven, TO_1_H],
    ['that brought no answer, with a version that is not proven,', HOLDS, UNHEARD, {}, TO_1_H],
    ['that brought no answer, with a proven version,', PAUSES, UNHEARD, proven, TO_1_MIN],
    ['of a trial', HOLDS, failed(), trial, TO_15_S],
    ['of a trial for which the service asks for a wait', HOLDS, failed({ retryAfterSeconds: 301 }), trial, [300]],
    ['of a trial that brought no answer', HOLDS, UNHEARD, trial, TO_1_H],
    ['of a trial that brought no answer, with a proven version,', HOLDS, UNHEARD, { ...trial, ...proven }, TO_1_MIN],
  ])('%s %s', (_, whose, obtained, options, expected) => {
    const { seconds, last, pause, hold } = waitsOf(obtained, options, expected.length);
    expect(seconds).toEqual(expected);
    expect([pause, hold]).toEqual(whose === PAUSES ? [last, undefined] : [undefined, last]);
    expect(last).toMatchObject({ step: expected.length, problem: { detail: 'down' } });
    expect(last?.unheard).toBe(obtained === UNHEARD || undefined);
  });

  it.each([
    // The longest that the service asks for is shorter than the hold from the fourth on.
    [403, 10, [10, 10, 10, 10, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 3_600], /^down$/],
    [500, 1, TO_1_H, /^Not accepted yet: the service answered 500.*client retry ends the wait\.$/],
  ])('of a %i that asks for %i s holds a version that was never accepted', (status, asked, expected, detail) => {
    const { seconds, last, pause } = waitsOf(answered(status, asked), {}, expected.length);
    expect([seconds, pause]).toEqual([expected, undefined]);
    expect(last?.problem).toMatchObject({ type: 'token-endpoint-unavailable', detail: expect.stringMatching(detail) });
  });

  it('is five minutes for a proven version from the 31st request in a row that brought no answer', () => {
    expect(waitsOf(UNHEARD, proven, 33).seconds.slice(28)).toEqual([60, 60, 300, 300, 300]);
  });

  it('counts as the first unheard one after any number of answers in vain', () => {
    const pause = exampleWait(START, 'token-endpoint-unavailable', 40);
    const { record } = settle(UNHEARD, { record: { ...proven.record, pause } });
    expect(record.pause).toMatchObject({ step: 1, until: START + SECOND_MS, unheard: true });
  });

  it.each<[string, Obtained]>([
    ['a pause', failed()],
    ['a hold', HELD],
  ])('begins anew after %s that ended more than a day ago', (_, obtained) => {
    const old = exampleWait(START - 24 * HOUR_MS - 1, 'token-endpoint-error', 9);
    const { outcome } = settle(obtained, {
      record: { ...proven.record, pause: old, held: new Map([[HOLD_KEY, old]]) },
    });
    expect(outcome).toMatchObject({ wait: { step: 1, until: START + SECOND_MS } });
  });

  it('has the cause of the problem, for the log', () => expect(settle(HELD).outcome).toMatchObject({ cause: 'why' }));
});

it.each<[string, Obtained]>([
  ['accepted', { outcome: 'token', token: exampleToken() }],
  ['rejected', { outcome: 'rejected' }],
  ['misconfigured', HELD],
  ['unreachable', failed()],
  ['throttled', answered(429)],
])('a trial writes what it found, and nothing for callers: %s', (finding, obtained) => {
  const before = { token: exampleToken({ credentialVersion: 'v0' }), pause: exampleWait(START - 1) };
  for (const stage of ['AWSPENDING', 'AWSPREVIOUS'] as const) {
    const { record } = settle(obtained, { record: before, stage });
    const checked = { version: 'v1', at: START, finding };
    expect(record).toMatchObject({ lease: undefined, ...before, attemptedAt: 0, checked });
  }
  expect(settle(obtained).record.checked).toBeUndefined();
});
