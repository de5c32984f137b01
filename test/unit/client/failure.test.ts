import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { TokenBrokerError } from '../../../client/error.ts';
import type { AwsCredentials } from '../../../client/sign.ts';
import type { TokenBrokerOptions } from '../../../client/token-broker.ts';
import { PROBLEMS } from '../../../functions/contract.ts';
import { AWS_ANSWERS, PROBLEM_TYPES, problem } from './broker-answers.ts';
import { PAIR, startClientWorld } from './client-world.ts';
import { type Answer, answerWith, startLoopbackServer } from './loopback-server.ts';

const CREDENTIALS = {
  accessKeyId: 'AKIDMARKED',
  secretAccessKey: 'marked-secret-access-key',
  sessionToken: 'marked-session-token',
};

let server: Awaited<ReturnType<typeof startClientWorld>>['server'];

async function failureOf(answer: Answer, options: Partial<TokenBrokerOptions> = {}): Promise<TokenBrokerError> {
  const world = await startClientWorld(answer, { credentials: CREDENTIALS, maxAttempts: 1, ...options });
  server = world.server;
  const error = await world.broker.token(PAIR).catch((reason) => reason);
  expect(error).toBeInstanceOf(TokenBrokerError);
  expect(inspect(error, { depth: 9 })).not.toMatch(/marked/i);
  return error;
}

describe("the broker's problems", () => {
  it.each(PROBLEM_TYPES)('"%s" arrives with its type, status and detail', async (type) => {
    const error = await failureOf(problem(type));
    const { status, retryable, title } = PROBLEMS[type];
    expect(error).toMatchObject({ type, status, retryable, advice: undefined });
    expect(error.message).toBe(`${type}: What happened: ${type}. (request request-1)`);
    expect(error.problem).toMatchObject({ type, title, status, retryable, request_id: 'request-1' });
  });

  it('carries the seconds after which trying again makes sense', async () => {
    const error = await failureOf(problem('token-endpoint-unavailable', { 'retry-after': '17' }));
    expect(error.retryAfterSeconds).toBe(17);
  });

  it('keeps members that this version does not know', async () => {
    const body = { type: 'new', title: 'New', detail: 'Something new.', status: 424, hint: 'update' };
    const error = await failureOf(answerWith(424, body, { 'content-type': 'application/problem+json' }));
    expect(error).toMatchObject({ type: 'new', retryable: false, problem: { hint: 'update' } });
  });
});

describe("AWS's own answers", () => {
  it.each(AWS_ANSWERS)('$name become "$type"', async ({ type, answer }) => {
    const error = await failureOf(answer);
    expect(error.type).toBe(type);
    expect(error.problem).toBeUndefined();
    expect(error.retryable).toBe(['aws-throttled', 'aws-function-failed', 'aws-function-timeout'].includes(type));
    expect(error.advice).toMatch(/^[A-Z].*\.$/);
  });

  it('are never quoted, because they may repeat what was signed', async () => {
    const message = 'The request signature we calculated does not match. x-amz-security-token:marked-session-token';
    expect(await failureOf(answerWith(403, { message }))).toMatchObject({ type: 'aws-signature-mismatch' });
  });
});

describe('an answer that neither the broker nor AWS sent', () => {
  it.each([
    ['HTML', answerWith(404, '<html>marked</html>', { 'content-type': 'text/html' })],
    ['an empty 204', answerWith(204, '')],
    ['a redirect', answerWith(302, '', { location: 'https://example.com/marked' })],
    ['a problem that is not JSON', answerWith(400, '{', { 'content-type': 'application/problem+json' })],
    ['a problem without a type', answerWith(400, { title: 'marked' }, { 'content-type': 'application/problem+json' })],
    ['JSON that only looks like a problem', answerWith(400, { type: 'marked', title: '', detail: '' })],
    ['an endless body', answerWith(200, 'marked'.repeat(1_000_000))],
  ])('such as %s becomes "unexpected-answer"', async (_, answer) => {
    const error = await failureOf(answer);
    expect(error).toMatchObject({ type: 'unexpected-answer', retryable: false });
    expect(server.requests).toHaveLength(1);
  });
});

it('a closed port becomes "network-error" with its code', async () => {
  const closed = await startLoopbackServer(() => {});
  await closed.close();
  const error = await failureOf(() => {}, { url: closed.url });
  expect(error.message).toBe('network-error: There was no answer: ECONNREFUSED');
});

describe('AWS credentials', () => {
  it.each<[string, AwsCredentials]>([
    ['a line break in the session token', { ...CREDENTIALS, sessionToken: 'marked\n' }],
    ['a letter that no header carries', { ...CREDENTIALS, accessKeyId: 'MARKED€' }],
    ['an empty access key', { ...CREDENTIALS, accessKeyId: '' }],
  ])('with %s are not sent', async (_, credentials) => {
    expect(await failureOf(() => {}, { credentials })).toMatchObject({ type: 'aws-credentials-unavailable' });
    expect(server.requests).toEqual([]);
  });

  it('that take too long end with the time limit', async () => {
    const error = await failureOf(() => {}, { credentials: () => new Promise(() => {}), timeoutMs: 50 });
    expect(error.type).toBe('timeout');
  });
});
