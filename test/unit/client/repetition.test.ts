import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { TokenBrokerError } from '../../../client/error.ts';
import { AWS_ANSWERS, PROBLEM_TYPES, problem } from './broker-answers.ts';
import { GOOD, NOW, PAIR, startClientWorld, tooLate } from './client-world.ts';
import { type Answer, answerWith } from './loopback-server.ts';

const AFTER_7_S = { 'retry-after': '7' };
const HTML = { 'content-type': 'text/html' };

const reset: Answer = (response) => response.socket?.resetAndDestroy();
const halfClose: Answer = (response) => response.socket?.end();
const never: Answer = () => undefined;
const drip: Answer = (response) => {
  response.writeHead(200, { 'content-length': '1000' }).write('{"access_token":"marked');
};
const TIMEOUT_MS = 5_000;
const breakOff: Answer = (response) => {
  response.writeHead(200, { 'content-length': '1000' }).write('{"access_token":"marked', () => response.destroy());
};

/** With `random` at a half: half of 200, 400 and 800 ms. */
const BACKOFF = [100, 200, 400];

describe('a retryable failure', () => {
  it.each<[string, Answer, string, readonly number[]]>([
    ['429 of the Function URL', aws('aws-throttled'), 'aws-throttled', BACKOFF],
    ['429 with Retry-After', answerWith(429, '', AFTER_7_S), 'aws-throttled', [7_100, 7_200, 7_400]],
    ['500 of the broker', problem('internal'), 'internal', BACKOFF],
    ['502 of a function that crashed', aws('aws-function-failed'), 'aws-function-failed', BACKOFF],
    ['503 without Retry-After', problem('secrets-unavailable'), 'secrets-unavailable', BACKOFF],
    [
      '503 with Retry-After',
      problem('token-endpoint-unavailable', AFTER_7_S),
      'token-endpoint-unavailable',
      [7_100, 7_200, 7_400],
    ],
    ['504 of the broker', problem('token-endpoint-timeout'), 'token-endpoint-timeout', BACKOFF],
    ['504 of a function that timed out', aws('aws-function-timeout'), 'aws-function-timeout', BACKOFF],
    ['503 in HTML', answerWith(503, '<html>marked</html>', HTML), 'aws-function-failed', BACKOFF],
    ['a connection that is reset', reset, 'network-error', BACKOFF],
    ['a connection that is closed half-way', halfClose, 'network-error', BACKOFF],
    ['an answer that breaks off', breakOff, 'network-error', BACKOFF],
  ])('is thrown after four attempts with pauses: %s', async (_, answer, type, waits) => {
    const world = await startClientWorld(answer);
    const error = await failureOf(world.broker.token(PAIR));
    expect(error).toMatchObject({ type, retryable: true });
    expect(world.server.requests).toHaveLength(4);
    expect(world.waits).toEqual(waits);
  });

  it.each<[string, Answer]>([
    ['does not come', never],
    ['comes too slowly', drip],
  ])('is thrown after four attempts with pauses: an answer that %s', async (_, answer) => {
    const world = await startClientWorld(tooLate(TIMEOUT_MS, answer), { timeoutMs: TIMEOUT_MS });
    const error = await failureOf(world.broker.token(PAIR));
    expect(error).toMatchObject({ type: 'timeout', retryable: true });
    expect(world.server.requests).toHaveLength(4);
    expect(world.waits).toEqual(BACKOFF);
  });

  it.each<[string, Answer]>([
    ['a throttled request', aws('aws-throttled')],
    ['a broker that failed', problem('internal')],
    ['a pause that the broker asked for', problem('token-endpoint-unavailable', AFTER_7_S)],
    ['a connection that is reset', reset],
  ])('stays hidden from the caller when a later attempt succeeds: %s', async (_, answer) => {
    const world = await startClientWorld([answer, answer, GOOD]);
    expect(await world.broker.token(PAIR)).toMatchObject({ expiresAt: world.clock.now + 3_599_000 });
    expect(world.server.requests).toHaveLength(3);
  });

  it('is thrown after as many attempts as the options allow', async () => {
    const world = await startClientWorld(problem('internal'), { maxAttempts: 2 });
    await failureOf(world.broker.check(PAIR));
    expect(world.server.requests).toHaveLength(2);
  });

  it('is thrown at once when the pause would end after the deadline', async () => {
    const world = await startClientWorld(problem('token-endpoint-unavailable', AFTER_7_S));
    const error = await failureOf(world.broker.token({ ...PAIR, deadline: NOW + 7_100 }));
    expect(error).toMatchObject({ type: 'token-endpoint-unavailable', retryAfterSeconds: 7 });
    expect(world.server.requests).toHaveLength(1);
    expect(world.waits).toEqual([]);
  });

  it('is thrown within 30 s when the caller names no deadline', async () => {
    const world = await startClientWorld(problem('token-endpoint-unavailable', { 'retry-after': '12' }));
    await failureOf(world.broker.token(PAIR));
    expect(world.server.requests).toHaveLength(3);
    expect(world.clock.now - NOW).toBeLessThan(30_000);
  });

  it('pauses for a random part of a backoff that grows to 5 s', async () => {
    const none = await startClientWorld(problem('internal'), { random: () => 0, maxAttempts: 8, patienceMs: 1e6 });
    await failureOf(none.broker.token(PAIR));
    expect(none.waits).toEqual([0, 0, 0, 0, 0, 0, 0]);
    const all = await startClientWorld(problem('internal'), { random: () => 1, maxAttempts: 8, patienceMs: 1e6 });
    await failureOf(all.broker.token(PAIR));
    expect(all.waits).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  });
});

describe('a failure that is not retryable', () => {
  const problems = PROBLEM_TYPES.filter((type) => !TRANSIENT.includes(type));
  it.each<[string, Answer, string]>([
    ...problems.map((type): [string, Answer, string] => [type, problem(type), type]),
    ...AWS_ANSWERS.filter(({ type }) => type.startsWith('aws-') && !TRANSIENT.includes(type)).map(
      ({ name, type, answer }): [string, Answer, string] => [name, answer, type],
    ),
    ['an answer in HTML', answerWith(200, '<html>marked</html>', HTML), 'unexpected-answer'],
    ['a page that is not there', answerWith(404, '<html>marked</html>', HTML), 'unexpected-answer'],
  ])('is thrown after one attempt: %s', async (_, answer, type) => {
    const world = await startClientWorld(answer);
    const error = await failureOf(world.broker.token(PAIR));
    expect(error).toMatchObject({ type });
    // A refusal by the access rules is followed by the question who was refused.
    expect(world.server.requests.filter(({ url }) => url === '/token')).toHaveLength(1);
    expect(world.waits).toEqual([]);
  });

  it('is thrown at once when the AWS credentials cannot be read', async () => {
    const cause = new Error('no profile');
    const world = await startClientWorld(GOOD, { credentials: () => Promise.reject(cause) });
    expect(await failureOf(world.broker.token(PAIR))).toMatchObject({ type: 'aws-credentials-unavailable', cause });
    expect(world.server.requests).toEqual([]);
  });
});

describe('a caller that stops waiting', () => {
  it('during an attempt gets "aborted" at once, and nothing more is sent', async () => {
    const controller = new AbortController();
    const world = await startClientWorld(() => controller.abort(new Error('changed my mind')));
    const error = await failureOf(world.broker.token({ ...PAIR, signal: controller.signal }));
    expect(error).toMatchObject({ type: 'aborted', retryable: false, cause: { message: 'changed my mind' } });
    expect(world.server.requests).toHaveLength(1);
  });

  it('during a pause gets "aborted" at once, and nothing more is sent', async () => {
    const controller = new AbortController();
    const world = await startClientWorld(problem('internal'), {
      sleep: (_, signal) => {
        controller.abort();
        return signal.aborted ? Promise.reject(signal.reason) : new Promise(() => undefined);
      },
    });
    const error = await failureOf(world.broker.token({ ...PAIR, signal: controller.signal }));
    expect(error).toMatchObject({ type: 'aborted' });
    expect(world.server.requests).toHaveLength(1);
  });

  it.each(['token', 'check'] as const)(
    'before the call reads no credentials and sends nothing (%s)',
    async (operation) => {
      const credentials = vi.fn();
      const world = await startClientWorld(GOOD, { credentials });
      const error = await failureOf(world.broker[operation]({ ...PAIR, signal: AbortSignal.abort() }));
      expect(error).toMatchObject({ type: 'aborted' });
      expect(credentials).not.toHaveBeenCalled();
      expect(world.server.requests).toEqual([]);
    },
  );

  it.each(['token', 'check'] as const)('at its deadline gets "timeout" (%s)', async (operation) => {
    const world = await startClientWorld(never);
    const error = await failureOf(world.broker[operation]({ ...PAIR, deadline: NOW + 50 }));
    expect(error).toMatchObject({ type: 'timeout', retryable: true });
    expect(world.server.requests.length).toBeLessThanOrEqual(1);
  });

  it('whose deadline has passed sends nothing', async () => {
    const world = await startClientWorld(GOOD);
    expect(await failureOf(world.broker.token({ ...PAIR, deadline: NOW }))).toMatchObject({ type: 'timeout' });
    expect(world.server.requests).toEqual([]);
  });

  it('leaves neither a timer nor a listener behind', async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const started = vi.spyOn(globalThis, 'setTimeout');
    const cleared = vi.spyOn(globalThis, 'clearTimeout');
    onTestFinished(() => void vi.restoreAllMocks());
    const world = await startClientWorld(GOOD, { timeoutMs: 12_345 });
    await world.broker.token({ ...PAIR, signal, deadline: NOW + 23_456 });

    const ours = started.mock.calls.flatMap(([, ms], n) => ([12_345, 23_456].includes(ms ?? 0) ? [n] : []));
    // The call, its attempt, and the reading of what signs it.
    expect(ours).toHaveLength(3);
    for (const n of ours) expect(cleared).toHaveBeenCalledWith(started.mock.results[n]?.value);
    expect(added).toHaveBeenCalledTimes(2);
    expect(removed.mock.calls).toEqual(added.mock.calls.map(([type, listener]) => [type, listener]));
  });
});

/** What the client repeats. `refused-again` is retryable too, but the caller decides about it. */
const TRANSIENT: readonly string[] = [
  'internal',
  'token-endpoint-unavailable',
  'token-endpoint-timeout',
  'secrets-unavailable',
  'aws-throttled',
  'aws-function-failed',
  'aws-function-timeout',
];

function aws(type: string): Answer {
  const found = AWS_ANSWERS.find((each) => each.type === type);
  if (found === undefined) throw new Error(`AWS answers nothing like ${type}`);
  return found.answer;
}

/** No member of a failure may hold a token or a part of the AWS credentials. */
async function failureOf(work: Promise<unknown>): Promise<TokenBrokerError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof TokenBrokerError)) throw new Error('the call did not fail', { cause: error });
  expect(inspect(error, { depth: 9 })).not.toMatch(/marked/i);
  return error;
}
