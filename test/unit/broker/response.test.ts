import { describe, expect, it } from 'vitest';
import type { CheckResult } from '../../../functions/broker/check-credential.ts';
import type { CheckRequest } from '../../../functions/broker/http/request.ts';
import { checkResponse, problemResponse, tokenResponse } from '../../../functions/broker/http/response.ts';
import type { StoredToken } from '../../../functions/broker/pair/record.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { START } from '../../support/example.ts';

const NOT_KEPT = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
const PROBLEM = { ...NOT_KEPT, 'content-type': 'application/problem+json' };

const TOKEN: StoredToken = {
  accessToken: new Redacted('token-1'),
  tokenType: 'Bearer',
  issuedAt: START,
  lifetimeSeenMs: 3_600_000,
  expiresAt: START + 3_600_000,
  expirySource: 'response',
  passThrough: { region: 'eu', expires_in: '7' },
  fingerprint: '0123456789abcdef',
  credentialVersion: 'v1',
  refreshAt: START + 2_880_000,
  sameTokenAgain: false,
};

const CHECK: CheckResult = {
  finding: 'accepted',
  version: 'v1',
  checkedAt: START,
  provenBy: 'traffic',
  expiresAt: START + 3_600_000,
};
const CHECKED: CheckRequest = { pair: { client: 'acme', service: 'customer-insights' }, stage: 'AWSCURRENT' };

describe('the seconds that are left of a token', () => {
  it.each([
    ['as many as it lives, when it was just issued', 0, 3_600],
    ['rounded down', 1, 3_599],
    ['none, when it has ended', 3_600_001, 0],
    ['never more than it lives, when the clock was set back by an hour', -3_600_000, 3_600],
  ])('are %s', (_, sinceMs, seconds) => {
    const now = START + sinceMs;
    const told = [tokenResponse({ token: TOKEN, cache: 'memory' }, now, now), checkResponse(CHECKED, CHECK, now)];
    expect(told.map(({ body }) => JSON.parse(body).expires_in)).toEqual([seconds, seconds]);
  });
});

describe('the answer to a check', () => {
  it('says when another one can find out more', () => {
    const throttled = { ...CHECK, finding: 'throttled', provenBy: 'latch', retryAfterSeconds: 12 } as const;
    expect(checkResponse(CHECKED, throttled, START).headers).toEqual({
      ...NOT_KEPT,
      'content-type': 'application/json',
      'retry-after': '12',
    });
    expect(checkResponse(CHECKED, CHECK, START).headers).not.toHaveProperty('retry-after');
  });
});

describe('a problem', () => {
  it.each(['token-endpoint-error', 'client-disabled', 'refused-again'] as const)(
    '%s says when the broker asks the service again, if that is known',
    (type) => {
      const headers = [9, undefined].map((retryAfterSeconds) => {
        return problemResponse(new Problem(type, '', { retryAfterSeconds }), 'request-1').headers['retry-after'];
      });
      expect(headers).toEqual(['9', undefined]);
    },
  );

  it.each([
    [new Problem('refused-again', '', { retryAfterSeconds: 7 }), { 'retry-after': '7' }],
    [new Problem('refused-again', '', { retryAfterSeconds: 0 }), { 'retry-after': '0' }],
    [new Problem('method-not-allowed', ''), { allow: 'POST' }],
    [new Problem('not-found', ''), {}],
  ])('%s has the headers %j besides', (problem, headers) => {
    expect(problemResponse(problem, 'request-1').headers).toEqual({ ...PROBLEM, ...headers });
  });
});
