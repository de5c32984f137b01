import { describe, expect, it, onTestFinished } from 'vitest';
import { EMPTY_RECORD } from '../../functions/broker/pair/record.ts';
import { FUNCTION_FAILED } from '../../local/function-url/server.ts';
import { createBrokerWorld } from '../support/broker-world.ts';
import { type Exchange, faultsOf } from '../support/contract/contract.ts';
import { exampleToken } from '../support/pair/pair-examples.ts';

/** A problem as the broker answers it, but for the changes. */
function answered(changes: Partial<Exchange> = {}, members: object = {}): Exchange {
  const problem = { type: 'internal', title: 'The broker failed', status: 500, detail: 'It failed.', retryable: true };
  const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  return {
    method: 'POST',
    path: '/token',
    status: 500,
    headers: { ...headers, 'content-type': 'application/problem+json' },
    body: JSON.stringify({ ...problem, request_id: 'request-1', ...members }),
    ...changes,
  };
}

describe('an answer that docs/openapi.yaml describes', () => {
  it('has no fault when AWS sends it for a function that failed', () => {
    const { headers, body } = FUNCTION_FAILED;
    expect(
      faultsOf({ ...answered(), status: 502, headers: { ...headers } as Exchange['headers'], body: `${body}` }),
    ).toEqual([]);
  });

  it.each<[string, Exchange, string]>([
    ['another status', answered({ status: 418 }), 'POST /token: 418 is not described for POST /token'],
    ['a 404 where something is', answered({ status: 404 }), 'POST /token: 404 is not described for POST /token'],
    ['a 200 where nothing is', answered({ path: '/', status: 200 }), 'POST /: 200 is not described for POST /'],
    ['another method', answered({ method: 'GET' }), 'GET /token: 500 is not described for GET /token'],
    ['a type of another status', answered({}, { type: 'access-denied' }), 'type must be equal to one of the allowed'],
    ['a member too many', answered({}, { cause: 'x' }), 'must NOT have additional properties'],
    ['another type of content', answered({ headers: { 'content-type': 'text/html' } }), 'text/html is not described'],
    ['a header too few', answered({ headers: {} }), 'the header cache-control is missing'],
    ['a header too many', answered({ headers: { ...answered().headers, server: 'x' } }), 'server is not described'],
    ['a header that is wrong', answered({ headers: { ...answered().headers, 'retry-after': 'soon' } }), 'retry-after'],
  ])('does not allow %s', (_, exchange, fault) => {
    expect(faultsOf(exchange)).toContainEqual(expect.stringContaining(fault));
  });
});

it('every answer of the token endpoint fails the test in which it is not as described', async ({ task }) => {
  // As `it.fails` does it, without a line of its own in every log.
  onTestFinished(() => {
    expect(task.result?.errors).toMatchObject([{ message: expect.stringContaining('do not describe') }]);
    Object.assign(task.result ?? {}, { state: 'pass', errors: [] });
  });
  const record = { ...EMPTY_RECORD, token: exampleToken({ fingerprint: 'no-fingerprint' }) };
  const store = { read: async () => ({ record, tag: 'seen' }), replace: async () => undefined };
  await createBrokerWorld({ store }).post({ client: 'acme', service: 'customer-insights' });
});
