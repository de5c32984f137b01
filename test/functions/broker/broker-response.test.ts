import { describe, expect, it } from 'vitest';
import { jsonResponse, problemResponse } from '../../../functions/broker/http/broker-response.ts';
import { Problem } from '../../../functions/broker/problem.ts';

const NOT_KEPT = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
const PROBLEM = { ...NOT_KEPT, 'content-type': 'application/problem+json' };

describe('an answer', () => {
  it('of JSON is kept by nobody', () => {
    expect(jsonResponse({ finding: 'accepted' }, { 'cache-status': 'token-broker; hit' })).toEqual({
      status: 200,
      headers: { ...NOT_KEPT, 'content-type': 'application/json', 'cache-status': 'token-broker; hit' },
      body: '{"finding":"accepted"}',
    });
  });

  it('of a problem says what it is, and whether to try again', () => {
    const shape = { status: 200, contentType: 'text/html', bytes: 5, members: [] };
    const problem = new Problem('token-response-unusable', 'No token.', { shape });
    const { status, headers, body } = problemResponse(problem, 'request-1');
    expect({ status, headers }).toEqual({ status: 424, headers: PROBLEM });
    expect(JSON.parse(body)).toEqual({
      type: 'token-response-unusable',
      title: 'The answer of the token endpoint is unusable',
      status: 424,
      detail: 'No token.',
      retryable: false,
      request_id: 'request-1',
      response_shape: shape,
    });
  });

  it.each([
    [new Problem('refused-again', '', { retryAfterSeconds: 7 }), { 'retry-after': '7' }],
    [new Problem('refused-again', '', { retryAfterSeconds: 0 }), { 'retry-after': '0' }],
    [new Problem('method-not-allowed', ''), { allow: 'POST' }],
    [new Problem('not-found', ''), {}],
  ])('to %s has the headers %j besides', (problem, headers) => {
    expect(problemResponse(problem, 'request-1').headers).toEqual({ ...PROBLEM, ...headers });
  });
});
