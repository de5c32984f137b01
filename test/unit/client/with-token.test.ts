import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { IssuedToken } from '../../../client/answers.ts';
import { TokenRefused } from '../../../client/with-token.ts';
import { issued, problem } from './broker-answers.ts';
import {
  fingerprint,
  goodAnswer,
  MINUTE_MS,
  NOW,
  PAIR,
  spyOnWarnings,
  startClientWorld,
  tokenText,
} from './client-world.ts';
import { type Answer, answerWith, startLoopbackServer } from './loopback-server.ts';

/** A broker that gives one token after the other, and a service that accepts the tokens in `accepted`. */
async function startWorlds(accepted: readonly number[], ...answers: readonly Answer[]) {
  const service = await startLoopbackServer((response, request) => {
    const isAccepted = accepted.some((n) => request.headers.authorization === `Bearer ${tokenText(n)}`);
    const refusal = request.url === '/forbidden' ? 403 : 401;
    if (isAccepted && request.url === '/moved') return answerWith(307, {}, { location: '/x' })(response, request);
    answerWith(isAccepted ? 200 : refusal, { isAccepted })(response, request);
  });
  onTestFinished(service.close);
  const tokens = answers.length > 0 ? answers : [1, 2, 3].map((n) => goodAnswer(n));
  const world = await startClientWorld(tokens, { services: { [PAIR.service]: [`${service.url}/v1`] } });
  return { ...world, service };
}

const POST = { method: 'POST', headers: { 'x-one': '1' } };

/** A request with a body of more than a mebibyte. */
const largeRequest = (url: string): FetchArguments => [
  new Request(url, { ...POST, body: `hello${'x'.repeat(1024 * 1024)}` }),
  undefined,
];

/** A stream without an iterator. */
const OLD_FORM = Object({ pipe: () => undefined, toString: () => 'hello' });

type FetchArguments = [string | Request, RequestInit | undefined];

describe('fetch', () => {
  it('sends the token with the method, body and headers of the call', async () => {
    const { broker, service } = await startWorlds([1]);
    const init = { method: 'PUT', body: 'hello', headers: { 'x-one': '1', authorization: 'Basic b3RoZXI=' } };
    const response = await broker.fetch(new URL('/things?a=b', service.url), init, PAIR);
    expect([response.status, await response.json()]).toEqual([200, { isAccepted: true }]);
    const headers = { 'x-one': '1', authorization: `Bearer ${tokenText(1)}` };
    expect(service.requests).toMatchObject([{ method: 'PUT', url: '/things?a=b', body: 'hello', headers }]);
  });

  it.each<[string, (url: string) => FetchArguments]>([
    ['no body', (url) => [url, undefined]],
    ['a Request without a body', (url) => [new Request(url), undefined]],
    ['bytes', (url) => [url, { method: 'POST', body: new TextEncoder().encode('hello') }]],
    // ky, openapi-fetch and the fetch adapter of axios make one
    ['a Request with a body', (url) => [new Request(url, { ...POST, body: 'hello' }), undefined]],
    ['a Request with a mebibyte', (url) => [new Request(url, { ...POST, body: 'x'.repeat(1024 * 1024) }), undefined]],
    ['a Request whose body init replaces', (url) => [new Request(url, { ...POST, body: 'x' }), { body: 'hello' }]],
  ])('reports a 401 and repeats %s once, with the successor', async (_, call) => {
    const { broker, service, asked } = await startWorlds([2]);
    expect((await broker.fetch(...call(service.url), PAIR)).status).toBe(200);
    expect(asked()).toEqual([PAIR, { ...PAIR, refused: fingerprint(1) }]);
    const [first, second, ...more] = service.requests;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers.authorization).toBe(`Bearer ${tokenText(2)}`);
    expect(more).toEqual([]);
  });

  const standing = (seconds: number) => problem('refused-again', { 'retry-after': `${seconds}` });

  it.each<[string, Answer, number, object?]>([
    ['second 401 when the successor is refused, too', goodAnswer(2), 2],
    ['first 401 when the broker stands by the token', problem('refused-again'), 1],
    ['first 401 when the broker would let it wait for long', standing(10), 1],
    ['first 401 when the wait is longer than the call may take', standing(9), 1, { deadline: NOW + 9_000 }],
    ['first 401 when the broker gives the same token again', goodAnswer(1), 1],
  ])('returns the %s', async (_, answer, sent, more) => {
    const { broker, service, asked, waits } = await startWorlds([], goodAnswer(1), answer);
    const response = await broker.fetch(service.url, undefined, { ...PAIR, ...more });
    expect([response.status, await response.json()]).toEqual([401, { isAccepted: false }]);
    expect([service.requests.length, waits]).toEqual([sent, []]);
    expect(asked()).toHaveLength(2);
  });

  it('and withToken wait once for a service that does not know its new token yet, and repeat with it', async () => {
    const accepted: number[] = [];
    const learning: Answer = (...exchange) => {
      accepted.push(1);
      standing(3)(...exchange);
    };
    const { broker, service, asked, waits } = await startWorlds(accepted, goodAnswer(1), learning);
    expect((await broker.fetch(service.url, undefined, PAIR)).status).toBe(200);
    accepted.length = 0;
    const use = ({ accessToken }: IssuedToken) => {
      if (accepted.length === 0) throw new TokenRefused();
      return accessToken;
    };
    expect(await broker.withToken(PAIR, use)).toBe(tokenText(1));
    expect([asked().length, service.requests.length, waits]).toEqual([3, 2, [3_000, 3_000]]);
  });

  /** @see mswjs/msw#2180 */
  it('sends by the global fetch of the moment, which may be replaced after the client was created', async () => {
    const { broker, service } = await startWorlds([1]);
    const replaced = vi.fn(globalThis.fetch);
    vi.stubGlobal('fetch', replaced);
    onTestFinished(() => void vi.unstubAllGlobals());
    expect((await broker.fetch(service.url, undefined, PAIR)).status).toBe(200);
    expect(replaced).toHaveBeenCalledTimes(2);
  });

  it('warns once of a host that no service names, because no setting repairs its 401', async () => {
    const warn = spyOnWarnings();
    const { broker, service } = await startWorlds([]);
    const unnamed = service.url.replace('127.0.0.1', 'localhost');
    for (let n = 0; n < 3; n += 1) expect((await broker.fetch(unnamed, undefined, PAIR)).status).toBe(401);
    await broker.fetch(service.url, undefined, { ...PAIR, service: 'other' });
    const setting = `services: { "customer-insights": ["${unnamed}"] }`;
    const warning = `A 401 of ${unnamed} replaces no token without ${setting}`;
    expect(warn.mock.calls).toEqual([[warning, 'TokenBrokerWarning']]);
  });

  /** @see e2b-dev/E2B#1610, nodejs/undici#4789 */
  it('is made for a library that takes a fetch of its own, and has a Request of its own', async () => {
    const { broker, service } = await startWorlds([2]);
    const fetch: typeof globalThis.fetch = broker.fetchFor(PAIR);
    const request = new Request(`${service.url}/moved`, { ...POST, body: 'hello' });
    vi.stubGlobal('Request', class extends Request {});
    onTestFinished(() => void vi.unstubAllGlobals());
    expect((await fetch(request)).status).toBe(200);
    expect(service.requests.map(({ body }) => body)).toEqual(['hello', 'hello', 'hello']);
    expect(() => broker.fetchFor(Object({ client: 'acme' }))).toThrow(/service is missing.*fetchFor/);
  });

  it('says why there is no successor', async () => {
    const { broker, service } = await startWorlds([], goodAnswer(1), problem('credential-rejected'));
    await expect(broker.fetch(service.url, undefined, PAIR)).rejects.toMatchObject({ type: 'credential-rejected' });
  });

  it.each<[string, (url: string) => FetchArguments, Answer]>([
    ['a stream', (url) => [url, { ...POST, body: new Blob(['hello']).stream(), duplex: 'half' }], goodAnswer(2)],
    // @see n8n-io/n8n#37000, sindresorhus/got#1691
    ['a form of the package form-data, which is a stream', (url) => [url, { ...POST, body: OLD_FORM }], goodAnswer(2)],
    ['the body of a Request that is too large', largeRequest, goodAnswer(2)],
    ['it for a failure', largeRequest, problem('not-found')],
  ])('does not repeat %s, but reports the token for the next call', async (_, call, answer) => {
    const { broker, service, asked } = await startWorlds([2], goodAnswer(1), answer, goodAnswer(2));
    expect((await broker.fetch(...call(service.url), PAIR)).status).toBe(401);
    expect(service.requests).toMatchObject([{ method: 'POST', headers: { 'x-one': '1' } }]);
    expect(service.requests[0]?.body).toMatch(/^hello/);
    expect(asked()).toEqual([PAIR, { ...PAIR, refused: fingerprint(1) }]);
    expect((await broker.fetch(service.url, undefined, PAIR)).status).toBe(200);
  });

  it.each([
    ['401 of a host that is not named', (url: string) => url.replace('127.0.0.1', 'localhost'), PAIR],
    ['401 of a host that is named for another service', (url: string) => url, { ...PAIR, service: 'other' }],
    ['403', (url: string) => `${url}/forbidden`, PAIR],
  ])('returns a %s to its caller, and reports nothing', async (answer, urlOf, pair) => {
    const { broker, service, asked } = await startWorlds([]);
    expect((await broker.fetch(urlOf(service.url), undefined, pair)).status).toBe(Number.parseInt(answer, 10));
    expect(service.requests).toHaveLength(1);
    expect(asked()).toEqual([pair]);
  });

  it('reports nothing when the service leads to another of its hosts, which answers 401', async () => {
    const { service } = await startWorlds([]);
    const location = service.url.replace('127.0.0.1', 'localhost');
    const front = await startLoopbackServer(answerWith(307, '', { location }));
    onTestFinished(front.close);
    const client = await startClientWorld([goodAnswer(1)], { services: { [PAIR.service]: [front.url, location] } });
    expect((await client.broker.fetch(front.url, undefined, PAIR)).status).toBe(401);
    expect(client.asked()).toEqual([PAIR]);
    expect(service.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it.each([
    ['BEARER', true],
    [undefined, true],
    ['DPoP', false],
  ])('of a token of the type %s says Bearer: %s', async (tokenType, isSent) => {
    const answer = answerWith(200, issued(NOW, { token_type: tokenType, access_token: tokenText(1) }));
    const { broker, service } = await startWorlds([1], answer);
    const sent = broker.fetch(service.url, undefined, PAIR);
    if (isSent) expect((await sent).status).toBe(200);
    else await expect(sent).rejects.toThrow(/not a bearer token/);
    expect(service.requests).toHaveLength(isSent ? 1 : 0);
  });

  it('requests and sends no token when the URL has no TLS', async () => {
    const { broker, asked } = await startWorlds([1]);
    await expect(broker.fetch('http://service.example.com', undefined, PAIR)).rejects.toThrow(/only sent to https/);
    expect(asked()).toEqual([]);
  });

  it.each<[string, (url: string, signal: AbortSignal) => [...FetchArguments, object?]]>([
    ['the call', (url, signal) => [url, { signal: new AbortController().signal }, { signal }]],
    ['init', (url, signal) => [url, { signal }]],
    ['the Request', (url, signal) => [new Request(url, { signal }), undefined]],
  ])('ends its wait for a token with the signal of %s', async (_, call) => {
    const controller = new AbortController();
    const { broker, service } = await startWorlds([1], () => controller.abort());
    const [input, init, more] = call(service.url, controller.signal);
    await expect(broker.fetch(input, init, { ...PAIR, ...more })).rejects.toMatchObject({ type: 'aborted' });
    expect(service.requests).toEqual([]);
  });
});

describe('withToken', () => {
  it('calls the function once more with the successor of a refused token, for which it waits as long', async () => {
    const { broker, clock, asked } = await startWorlds([]);
    const used: string[] = [];
    const result = await broker.withToken(PAIR, async (token) => {
      used.push(token.fingerprint);
      clock.now += 10 * MINUTE_MS;
      if (used.length === 1) throw new TokenRefused();
      return 'done';
    });
    expect(result).toBe('done');
    expect(used).toEqual([fingerprint(1), fingerprint(2)]);
    expect(asked()).toEqual([PAIR, { ...PAIR, refused: fingerprint(1) }]);
  });

  it.each<[string, readonly Error[], Answer, number, RegExp]>([
    [
      'the second refusal',
      [new TokenRefused('1'), new TokenRefused('2', { cause: 'x' })],
      goodAnswer(2),
      2,
      /: 2.*'x'/s,
    ],
    ['the first refusal when the broker stands by it', [new TokenRefused()], problem('refused-again'), 2, /service/],
    ['every other error unchanged', [new Error('out of paper')], goodAnswer(2), 1, /^Error: out of paper/],
  ])('throws %s', async (_, errors, answer, questions, text) => {
    const { broker, asked } = await startWorlds([], goodAnswer(1), answer);
    const left = [...errors];
    await expect(broker.withToken(PAIR, () => Promise.reject(left.shift()))).rejects.toBe(errors.at(-1));
    expect([inspect(errors.at(-1)), asked().length]).toEqual([expect.stringMatching(text), questions]);
  });
});
