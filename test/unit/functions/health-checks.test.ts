import { expect, it } from 'vitest';
import type { Check } from '../../../client/answers.ts';
import { failure, TokenBrokerError } from '../../../client/error.ts';
import { createPairChecker, createProbe } from '../../../functions/health-function.ts';
import { START } from '../../support/example.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };

it('gives the finding of a check as the broker told it', async () => {
  const told = { finding: 'rejected', provenBy: 'latch', version: 'v1', checkedAt: START } as const;
  const checkPair = createPairChecker({
    check: async (): Promise<Check> => ({ ...PAIR, stage: 'AWSCURRENT', ...told }),
  });
  expect(await checkPair(PAIR, 1_000)).toEqual({ kind: 'checked', ...told });
});

it.each([
  ['secrets-unavailable', problem(503, 'secrets-unavailable'), { failure: 'secrets-unavailable', retryable: true }],
  ['access-denied', problem(403, 'access-denied'), { failure: 'access-denied', retryable: false }],
  ['a throttled function', failure('aws-throttled'), { failure: 'aws-throttled', retryable: true }],
  ['a malformed type', problem(400, 'a "type" with <values>'), { failure: 'unknown-problem', retryable: false }],
  ['a bug', new TypeError('a value'), { failure: 'unexpected-error', retryable: false }],
])('takes %s for a failure of the broker, in one word', async (_what, error, expected) => {
  const checkPair = createPairChecker({ check: () => Promise.reject(error) });
  expect(await checkPair(PAIR, 1_000)).toEqual({ kind: 'failed', ...expected });
});

it.each([0, 0.5, 1.5])('ends a check after its time, also when that is %d ms', async (timeoutMs) => {
  const checkPair = createPairChecker({
    check: ({ signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(failure('aborted')));
      }),
  });
  expect(await checkPair(PAIR, timeoutMs)).toEqual({ kind: 'failed', failure: 'timeout', retryable: true });
});

it.each<[string, Error, string]>([
  ['the refusal', problem(403, 'access-denied'), 'denied'],
  ['that refusal from another server than the broker', failure('aws-forbidden'), 'unproven'],
  ['it with another status', problem(401, 'access-denied'), 'not-denied'],
  ['a missing credential', problem(424, 'credential-missing'), 'not-denied'],
  ['a service that is down', problem(503, 'token-endpoint-unavailable'), 'not-denied'],
  ['a wrong request', problem(400, 'invalid-request'), 'not-denied'],
  ['a broker that failed', problem(500, 'internal'), 'unproven'],
  ['no answer', failure('network-error'), 'unproven'],
  ['no credentials', failure('aws-credentials-unavailable'), 'unproven'],
  ['an answer that is not from the broker', failure('unexpected-answer'), 'unproven'],
  ['a bug', new TypeError('a value'), 'unproven'],
])('takes %s for what it proves of the access rules', async (_what, error, condition) => {
  const probe = createProbe({ token: () => Promise.reject(error) });
  expect(await probe(PAIR, 1_000)).toMatchObject({ condition, said: expect.stringMatching(/^[a-z-]+$/) });
});

function problem(status: number, type: string): TokenBrokerError {
  const retryable = status >= 500;
  const body = { type, title: 'title', detail: 'detail', status, retryable };
  return new TokenBrokerError(type, 'detail', { status, retryable, problem: body });
}
