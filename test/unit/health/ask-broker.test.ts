import { once } from 'node:events';
import { expect, it } from 'vitest';
import { failure, TokenBrokerError } from '../../../client/error.ts';
import { createPairChecker, createProbe } from '../../../functions/health/ask-broker.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };

it.each([
  [problem(503, 'secrets-unavailable'), 'secrets-unavailable', true],
  [problem(403, 'access-denied'), 'access-denied', false],
  [failure('aws-throttled'), 'aws-throttled', true],
  [problem(400, 'a "type" with <values>'), 'unknown-problem', false],
  [new TypeError('a value'), 'unexpected-error', false],
])('takes "%s" for a failure of the broker, in one word: %s', async (error, word, retryable) => {
  const checkPair = createPairChecker({ check: () => Promise.reject(error) });
  expect(await checkPair(PAIR, 1_000)).toEqual({ kind: 'failed', failure: word, retryable });
});

it('takes from a broker that cannot reach its table which right or key it lacks', async () => {
  const checked = async (type: string, text: string) =>
    createPairChecker({ check: () => Promise.reject(problem(503, type, text)) })(PAIR, 1_000);
  const failed = { kind: 'failed', failure: 'table-unavailable', retryable: true };
  const refused = { ...failed, detail: 'dynamodb:UpdateItem' };
  expect(await checked('table-unavailable', 'a value dynamodb:UpdateItem (a value)')).toEqual(refused);
  expect(await checked('table-unavailable', 'a value dynamodb:value')).toEqual(failed);
  expect(await checked('table-unavailable', 'its sealing key value')).toEqual({ ...failed, detail: 'sealing key' });
  expect(await checked('internal', 'dynamodb:GetItem')).toEqual({ ...failed, failure: 'internal' });
});

it.each([{}, { detail: 'why', cause: 'service', credentialExpiresAt: '2026-12-01T00:00:00.000Z' }] as const)(
  'takes from the answer of the broker what a report needs: %o',
  async (known) => {
    const answer = { finding: 'accepted', provenBy: 'request', version: 'v1', checkedAt: 1, ...known } as const;
    const checkPair = createPairChecker({ check: async () => ({ ...PAIR, stage: 'AWSCURRENT', ...answer }) });
    expect(await checkPair(PAIR, 1_000)).toEqual({ kind: 'checked', ...answer });
  },
);

it.each([-1, 0, 0.5, 1.5])('ends a check after its time, also when that is %d ms', async (timeoutMs) => {
  const check = ({ signal }: { readonly signal?: AbortSignal | undefined }) =>
    once(signal ?? new EventTarget(), 'abort').then(() => Promise.reject(failure('signal-timeout')));
  const checkPair = createPairChecker({ check });
  expect(await checkPair(PAIR, timeoutMs)).toEqual({ kind: 'failed', failure: 'timeout', retryable: true });
});

it.each<[string, Error, string]>([
  ['the refusal', problem(403, 'access-denied'), 'denied'],
  ['that refusal from another server than the broker', failure('aws-forbidden'), 'unproven'],
  ['it with another status', problem(401, 'access-denied'), 'not-denied'],
  ['a service that is down', problem(503, 'token-endpoint-unavailable'), 'not-denied'],
  ['a broker that failed', problem(500, 'internal'), 'unproven'],
  ['no answer', failure('network-error'), 'unproven'],
  ['a bug', new TypeError('a value'), 'unproven'],
])('takes %s for what it proves of the access rules', async (_what, error, condition) => {
  const probe = createProbe({ token: () => Promise.reject(error) });
  expect(await probe(PAIR, 1_000)).toMatchObject({ condition, said: expect.stringMatching(/^[a-z-]+$/) });
});

function problem(status: number, type: string, detail = 'detail'): TokenBrokerError {
  const retryable = status >= 500;
  const body = { type, title: 'title', detail, status, retryable };
  return new TokenBrokerError(type, 'detail', { status, retryable, problem: body });
}
