import { getEventListeners } from 'node:events';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { FAILURES, type FailureType, failure, TokenBrokerError } from '../../../client/error.ts';
import type { CallOptions, TokenBrokerOptions } from '../../../client/token-broker.ts';
import { PROBLEM_ADVICE, PROBLEMS } from '../../../functions/vocabulary.ts';
import { AWS_ANSWERS, issued, PROBLEM_TYPES, problem } from './broker-answers.ts';
import { GOOD, NOW, PAIR, startClientWorld, stopTimers, tooLate } from './client-world.ts';
import { type Answer, answerWith } from './loopback-server.ts';

const HTML = { 'content-type': 'text/html' };
const PROBLEM = { 'content-type': 'application/problem+json' };

const reset: Answer = (response) => response.socket?.resetAndDestroy();
const halfClose: Answer = (response) => response.socket?.end();
const never: Answer = () => undefined;
const drip: Answer = (response) => {
  response.writeHead(200, { 'content-length': '1000' }).write('{"access_token":"marked');
};
const breakOff: Answer = (response) => {
  response.writeHead(200, { 'content-length': '1000' }).write('{"access_token":"marked', () => response.destroy());
};

describe("the broker's problems", () => {
  it.each(PROBLEM_TYPES)('"%s" arrives with all its members, and is repeated when that helps', async (type) => {
    const { broker, server } = await startClientWorld(problem(type));
    const error = await failureOf(broker.token(PAIR));
    const { status, retryable, title } = PROBLEMS[type];
    expect(error).toMatchObject({ type, status, retryable, advice: PROBLEM_ADVICE[type] });
    expect(error.message).toBe(`${type}: What happened: ${type}. (request request-1)`);
    expect(error.problem).toMatchObject({ type, title, status, retryable, request_id: 'request-1' });
    // `refused-again` is for the caller to decide about; a refusal by the access rules is followed by another question.
    const attempts = server.requests.filter(({ url }) => url === '/token').length;
    expect(attempts).toBe(retryable && type !== 'refused-again' ? 4 : 1);
  });

  it('keeps members that this version does not know', async () => {
    const body = { type: 'new', title: 'New', detail: 'Something new.', status: 424, hint: 'update' };
    const type = { 'content-type': 'application/problem+json; charset=utf-8' };
    const { broker } = await startClientWorld(answerWith(424, { ...body, request_id: 1, retryable: 'yes' }, type));
    const error = await failureOf(broker.token(PAIR));
    expect(error).toMatchObject({ type: 'new', retryable: false, problem: { hint: 'update', request_id: undefined } });
    expect(error.message).toBe('new: Something new.');
  });
});

it.each(Object.entries(FAILURES))('"%s" says in sentences what happened and what to do', (type, { detail, advice }) => {
  expect(failure(type as FailureType)).toMatchObject({ message: `${type}: ${detail}`, advice });
  for (const sentence of [detail, advice]) expect(sentence).toMatch(/^[A-Z].{15}/);
});

describe("AWS's own answers, which may repeat the signed request, are not quoted", () => {
  it.each(AWS_ANSWERS)('$name become "$type", and are repeated when that helps', async ({ type, answer }) => {
    const { broker, server } = await startClientWorld(answer);
    const error = await failureOf(broker.token(PAIR));
    const retryable = ['aws-throttled', 'aws-function-failed', 'aws-function-timeout'].includes(type);
    expect(error).toMatchObject({ type, problem: undefined, retryable, advice: expect.stringMatching(/^[A-Z].*\.$/) });
    expect(server.requests).toHaveLength(retryable ? 4 : 1);
  });
});

it.each([
  ['HTML', answerWith(404, '<html>marked</html>', HTML)],
  ['HTML with a 200', answerWith(200, '<html>marked</html>', HTML)],
  ['an empty 204', answerWith(204, '')],
  ['a token beside five megabytes', answerWith(200, issued(NOW, { beside: 'x'.repeat(5_000_000) }))],
  ['a redirect', answerWith(302, '', { location: 'https://example.com/marked' })],
  ...['type', 'title', 'detail'].map((name): [string, Answer] => {
    const members = { type: 'marked', title: 'marked', detail: 'marked', [name]: 1 };
    return [`a problem whose ${name} is no text`, answerWith(400, members, PROBLEM)];
  }),
  ['JSON that only looks like a problem', answerWith(400, { type: 'marked', title: '', detail: '' })],
])('an answer that neither the broker nor AWS sent is "unexpected-answer", and not repeated: %s', async (_, answer) => {
  const { broker, server } = await startClientWorld(answer);
  expect(await failureOf(broker.token(PAIR))).toMatchObject({ type: 'unexpected-answer', retryable: false });
  expect(server.requests).toHaveLength(1);
});

describe('a connection', () => {
  it.each<[string, string, () => Answer]>([
    ['is reset', 'network-error', () => reset],
    ['is closed half-way', 'network-error', () => halfClose],
    ['breaks off in the answer', 'network-error', () => breakOff],
    ['brings no answer', 'timeout', () => tooLate(20_000, never)],
    ['brings an answer too slowly', 'timeout', () => tooLate(20_000, drip)],
  ])('that %s becomes "%s" after four attempts with pauses', async (_, type, answer) => {
    const { broker, server, waits } = await startClientWorld(answer(), { patienceMs: 1e6 });
    expect(await failureOf(broker.token(PAIR))).toMatchObject({ type, retryable: true });
    expect(server.requests).toHaveLength(4);
    // With `random` at a half: half of 200, 400 and 800 ms.
    expect(waits).toEqual([100, 200, 400]);
  });

  it.each([
    ['ECONNREFUSED', ': ECONNREFUSED', { name: 'TypeError', code: 'ECONNREFUSED', message: 'ECONNREFUSED' }],
    ['marked, which is no code', '', { name: 'TypeError', message: 'TypeError' }],
  ])('that cannot be made becomes "network-error" with the facts of its cause: %s', async (code, told, facts) => {
    // The message of the engine may quote a header.
    const engine = Object.assign(new TypeError('invalid header value "marked-secret"'), { code });
    const fetch = () => Promise.reject(new TypeError('marked', { cause: engine }));
    const { broker, server } = await startClientWorld(never, { fetch });
    const { message, cause } = await failureOf(broker.token(PAIR));
    expect({ message, cause }).toMatchObject({
      message: `network-error: There was no answer${told}`,
      cause: { ...facts, host: new URL(server.url).host },
    });
  });
});

describe('the advice for a connection that fails', () => {
  const PROXY = { HTTPS_PROXY: 'http://proxy.example.com:3128' };
  const TIMEOUT = '--network-family-autoselection-attempt-timeout';

  it.each<[string, NodeJS.ProcessEnv, string, RegExp]>([
    ['ECONNREFUSED', PROXY, 'https', /HTTPS_PROXY.*NODE_USE_ENV_PROXY=1/],
    ['ENOTFOUND', { https_proxy: 'http://proxy.example.com:3128' }, 'https', /NODE_USE_ENV_PROXY=1/],
    ['UND_ERR_CONNECT_TIMEOUT', PROXY, 'https', /NODE_USE_ENV_PROXY=1/],
    ['ETIMEDOUT', PROXY, 'https', /NODE_USE_ENV_PROXY=1/],
    ['ECONNREFUSED', { ...PROXY, NODE_USE_ENV_PROXY: '1' }, 'https', /^Try again; if it lasts/],
    ['ECONNREFUSED', { ...PROXY, NODE_OPTIONS: '--use-env-proxy' }, 'https', /^Try again; if it lasts/],
    ['ECONNREFUSED', {}, 'https', /^Try again; if it lasts/],
    ['ECONNREFUSED', PROXY, 'http', /^Try again; if it lasts/],
    ['SELF_SIGNED_CERT_IN_CHAIN', {}, 'https', /NODE_EXTRA_CA_CERTS/],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', PROXY, 'https', /NODE_EXTRA_CA_CERTS/],
    // @see nodejs/node#54359
    ['ETIMEDOUT', {}, 'https', new RegExp(TIMEOUT)],
    // @see nodejs/undici#2161, nodejs/undici#3442
    ['UND_ERR_ABORTED', { ...PROXY, NODE_USE_ENV_PROXY: '1' }, 'https', /^The proxy refuses/],
    ['ERR_PROXY_TUNNEL', { ...PROXY, NODE_USE_ENV_PROXY: '1' }, 'https', /^The proxy refuses/],
  ])('after %s with %j to %s names the setting', async (code, env, protocol, advice) => {
    const names = ['HTTPS_PROXY', 'https_proxy', 'NODE_USE_ENV_PROXY', 'NODE_OPTIONS'];
    for (const name of names) vi.stubEnv(name, env[name]);
    onTestFinished(() => void vi.unstubAllEnvs());
    const cause = new Error('Request was cancelled.', { cause: Object.assign(new Error('marked'), { code }) });
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
    const url = protocol === 'https' ? 'https://abc.lambda-url.eu-west-1.on.aws' : 'http://127.0.0.1:9';
    const { broker } = await startClientWorld(never, { fetch, url });
    expect((await failureOf(broker.token(PAIR))).advice).toMatch(advice);
  });
});

describe('AWS credentials', () => {
  const lacking = (code: string) => () =>
    Promise.reject(Object.assign(new Error('Cannot find package /home/marked'), { code }));
  const usable = { accessKeyId: 'AKIDMARKED', secretAccessKey: 'marked-secret-access-key' };
  const UNAVAILABLE = 'aws-credentials-unavailable';

  it.each<[string, TokenBrokerOptions['credentials'], FailureType]>([
    ['with a line break in the session token', { ...usable, sessionToken: 'mar\nked' }, UNAVAILABLE],
    ['with an empty access key', { ...usable, accessKeyId: '' }, UNAVAILABLE],
    ['that cannot be read', () => Promise.reject(new Error('no profile')), UNAVAILABLE],
    ['that take too long', () => new Promise(() => {}), 'timeout'],
    ['that lack a module of the SDK in ESM', lacking('ERR_MODULE_NOT_FOUND'), 'aws-sdk-missing'],
    ['that lack a module of the SDK in CommonJS', lacking('MODULE_NOT_FOUND'), 'aws-sdk-missing'],
  ])('%s are not sent', async (_, credentials, type) => {
    const { broker, server } = await startClientWorld(GOOD, { credentials, timeoutMs: 50 });
    expect(await failureOf(broker.token(PAIR))).toMatchObject({ type });
    expect(server.requests).toEqual([]);
  });
});

describe('a repetition', () => {
  const FOR_LONG = { random: () => 1, maxAttempts: 8, patienceMs: 1e6 };

  it.each([
    ['waits for as long as the broker asks, and a random time longer', 7, {}, {}, [7_100, 7_200, 7_400]],
    ['is not made when its pause would end after the deadline', 7, {}, { deadline: NOW + 7_100 }, []],
    ['ends within 30 s when the caller names no deadline', 12, {}, {}, [12_100, 12_200]],
    ['pauses for a backoff that grows to 5 s', 0, FOR_LONG, {}, [200, 400, 800, 1_600, 3_200, 5_000, 5_000]],
  ])('%s', async (_, retryAfterSeconds, options, more, expected) => {
    const failing = problem('token-endpoint-unavailable', { 'retry-after': `${retryAfterSeconds}` });
    const { broker, server, waits } = await startClientWorld(failing, options);
    const error = await failureOf(broker.token({ ...PAIR, ...more }));
    expect(error).toMatchObject({ type: 'token-endpoint-unavailable', retryAfterSeconds });
    expect([waits, server.requests.length]).toEqual([expected, expected.length + 1]);
  });
});

describe('a caller that stops waiting', () => {
  it.each(['an attempt', 'a pause'])('during %s gets "aborted" at once, and nothing more is sent', async (during) => {
    const controller = new AbortController();
    const stop = () => controller.abort(new Error('changed my mind'));
    const sleep = (_: number, signal: AbortSignal) => {
      stop();
      return signal.aborted ? Promise.reject(signal.reason) : new Promise(() => undefined);
    };
    const { broker, server } = await startClientWorld(during === 'a pause' ? problem('internal') : stop, { sleep });
    const error = await failureOf(broker.token({ ...PAIR, signal: controller.signal }));
    const stopped = { type: 'aborted', retryable: false, detail: 'The caller stopped waiting' };
    expect(error).toMatchObject({ ...stopped, cause: { message: 'changed my mind' } });
    expect(server.requests).toHaveLength(1);
  });

  const passed = new DOMException('passed', 'TimeoutError');
  const late = { type: 'timeout', detail: 'There was no answer in time: the deadline has passed' };

  it.each<[string, CallOptions, object]>([
    ['by its signal', { signal: AbortSignal.abort() }, { type: 'aborted' }],
    ['by the time-out of its signal', { signal: AbortSignal.abort(passed) }, { type: 'signal-timeout', cause: passed }],
    ['by its deadline', { deadline: NOW }, late],
  ])('before the call, %s, reads no credentials and sends nothing', async (_, more, expected) => {
    const credentials = vi.fn();
    const { broker, server } = await startClientWorld(GOOD, { credentials });
    for (const call of [broker.token, broker.check]) {
      expect(await failureOf(call({ ...PAIR, ...more }))).toMatchObject(expected);
    }
    expect([credentials.mock.calls, server.requests]).toEqual([[], []]);
  });

  it.each(['token', 'check'] as const)('at its deadline gets "timeout" (%s)', async (operation) => {
    const { broker } = await startClientWorld(never);
    const error = await failureOf(broker[operation]({ ...PAIR, deadline: NOW + 50 }));
    expect(error).toMatchObject({ type: 'timeout', retryable: true, detail: 'There was no answer in time: 50 ms' });
  });

  it.each([
    ['has its token', undefined],
    ['gives up while AWS credentials are read', () => new Promise<never>(() => {})],
  ])('leaves neither a timer nor a listener behind when it %s', async (_, credentials) => {
    stopTimers();
    const controller = new AbortController();
    const { signal } = controller;
    const { broker } = await startClientWorld(GOOD, credentials && { credentials });
    const left = () => [vi.getTimerCount(), getEventListeners(signal, 'abort').length];
    const asking = broker.token({ ...PAIR, signal });
    expect(left()).toEqual([1, 1]);
    if (credentials) controller.abort();
    await asking.catch(() => undefined);
    expect(left()).toEqual([0, 0]);
  });
});

/** No member of a failure may hold a token or a part of the AWS credentials. */
async function failureOf(work: Promise<unknown>): Promise<TokenBrokerError> {
  const error = await work.catch((reason: unknown) => reason);
  if (!(error instanceof TokenBrokerError)) throw new Error('the call did not fail', { cause: error });
  expect(inspect(error, { depth: 9 })).not.toMatch(/marked/i);
  return error;
}
