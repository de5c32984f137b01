import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../../functions/broker/problem.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { Service } from '../../../functions/broker/service.ts';
import { SendFailure, type SendFailureKind, type SendLimits } from '../../../functions/broker/token-request/send.ts';
import { buildTokenRequest, createTokenRequester } from '../../../functions/broker/token-request/token-request.ts';
import type { TokenResponse } from '../../../functions/broker/token-response/body.ts';
import { exampleService, START } from '../../support/example.ts';

const ANSWER: TokenResponse = { status: 200, headers: {}, body: new TextEncoder().encode('{"token":"t"}') };
const CREDENTIAL = {
  clientId: new Redacted('acme'),
  secret: new Redacted('s:1'),
  authorization: new Redacted('Basic YWNtZTpzOjE='),
};

interface Setting {
  /** What the attempts come to, in turn. */
  readonly attempts: readonly (TokenResponse | Error)[];
  readonly attemptMs?: number;
  readonly random?: number;
  readonly service?: Partial<Service>;
  readonly deadline?: number;
}

/** Requests a token with a clock that moves only while an attempt or a pause lasts. */
async function request({ attempts, attemptMs = 10, random = 0.5, service = {}, deadline = START + 60_000 }: Setting) {
  let now = START;
  const sent: SendLimits[] = [];
  const pauses: number[] = [];

  const requestToken = createTokenRequester({
    send: async (_request, limits) => {
      sent.push(limits);
      now += attemptMs;
      const outcome = attempts[sent.length - 1] ?? ANSWER;
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    now: () => now,
    sleep: async (ms) => {
      pauses.push(ms);
      now += ms;
    },
    random: () => random,
  });

  const outcome = await requestToken(exampleService(service), CREDENTIAL, deadline).catch((error: Problem) => error);
  return { outcome, sent, pauses };
}

function failure(kind: SendFailureKind, code = 'CODE', status?: number): SendFailure {
  return new SendFailure(kind, code, status === undefined ? undefined : { status, headers: { 'x-token': 'leaked' } });
}

it('gives the answer with when its request began and when it came', async () => {
  const { outcome, sent } = await request({ attempts: [ANSWER], attemptMs: 40 });

  expect(outcome).toEqual({ response: ANSWER, requestStartedAt: START, receivedAt: START + 40 });
  expect(sent).toEqual([{ timeoutMs: 3_000, maxBodyBytes: 262_144 }]);
});

it.each([200, 301, 401, 429, 500, 503])('takes a %d as the answer and sends nothing more', async (status) => {
  const { outcome, sent } = await request({ attempts: [{ ...ANSWER, status }] });

  expect(outcome).toMatchObject({ response: { status } });
  expect(sent).toHaveLength(1);
});

describe('repeating', () => {
  it.each(['connect', 'stale-socket'] as const)('sends again after "%s"', async (kind) => {
    const { outcome, sent } = await request({ attempts: [failure(kind), ANSWER] });

    expect(outcome).toMatchObject({ response: ANSWER });
    expect(sent).toHaveLength(2);
  });

  it('ends after the third attempt', async () => {
    const { outcome, sent } = await request({ attempts: Array(4).fill(failure('connect')) });

    expect(outcome).toMatchObject({ type: 'token-endpoint-unavailable' });
    expect(sent).toHaveLength(3);
  });

  it.each([
    [0, [0, 0]],
    [0.5, [50, 100]],
    [0.99, [99, 198]],
  ])('waits a random part of 100 ms, then of 200 ms: %d', async (random, expected) => {
    const { pauses } = await request({ attempts: [failure('connect'), failure('connect')], random });

    expect(pauses).toEqual(expected);
  });

  it.each(['tls', 'timeout', 'broken', 'malformed', 'too-large', 'encoded'] as const)(
    'sends nothing again after "%s"',
    async (kind) => {
      const { outcome, sent } = await request({ attempts: [failure(kind)] });

      expect(outcome).toHaveProperty('type');
      expect(sent).toHaveLength(1);
    },
  );
});

describe('time', () => {
  it('gives a repeat what is left of the time for all attempts', async () => {
    const { sent } = await request({ attempts: [failure('connect')], attemptMs: 2_000, random: 0 });

    expect(sent.map(({ timeoutMs }) => timeoutMs)).toEqual([3_000, 2_000]);
  });

  it.each([
    ['begins', 300, 2],
    ['does not begin', 299, 1],
  ])('%s a repeat with a pause of 50 ms when %i ms are left', async (_, leftMs, attempts) => {
    const { sent } = await request({
      attempts: [failure('connect')],
      attemptMs: 3_000,
      random: 0.5,
      deadline: START + 3_000 + leftMs,
    });

    expect(sent).toHaveLength(attempts);
  });

  it('sends nothing when the deadline has passed', async () => {
    const { outcome, sent } = await request({ attempts: [], deadline: START });

    expect(outcome).toMatchObject({
      type: 'token-endpoint-timeout',
      detail: 'No time was left for a token request to auth.example.com.',
    });
    expect(sent).toEqual([]);
  });
});

describe('an answer that broke off', () => {
  it.each([
    ['broken', 300],
    ['broken', 401],
    ['timeout', 401],
    ['too-large', 401],
    ['encoded', 401],
    ['malformed', 400],
    ['broken', 429],
    ['encoded', 503],
  ] as const)('is "%s" after a %d: the status and the headers count', async (kind, status) => {
    const { outcome, sent } = await request({ attempts: [failure(kind, 'CODE', status)] });

    expect(outcome).toMatchObject({
      response: { status, headers: { 'x-token': 'leaked' }, body: new Uint8Array() },
    });
    expect(sent).toHaveLength(1);
  });

  it.each([200, 299])('is a problem after a %d', async (status) => {
    const { outcome } = await request({ attempts: [failure('broken', 'ECONNRESET', status)] });

    expect(outcome).toMatchObject({
      type: 'token-endpoint-unavailable',
      detail: `auth.example.com closed the connection before its answer was complete (ECONNRESET, status ${status}).`,
      shape: undefined,
    });
  });
});

it.each([
  ['connect', 'ENOTFOUND', 'token-endpoint-unavailable', 'The name auth.example.com cannot be resolved'],
  ['connect', 'EAI_AGAIN', 'token-endpoint-unavailable', 'The name auth.example.com cannot be resolved'],
  ['connect', 'EAI_NODATA', 'token-endpoint-unavailable', 'The name auth.example.com cannot be resolved'],
  ['connect', 'EAI_FAIL', 'token-endpoint-unavailable', 'The name auth.example.com cannot be resolved'],
  ['connect', 'ECONNREFUSED', 'token-endpoint-unavailable', 'No connection to auth.example.com'],
  ['stale-socket', 'ECONNRESET', 'token-endpoint-unavailable', 'auth.example.com keeps closing'],
  ['tls', 'CERT_HAS_EXPIRED', 'token-endpoint-unavailable', 'No trusted TLS connection to auth.example.com'],
  ['broken', 'ECONNRESET', 'token-endpoint-unavailable', 'auth.example.com closed the connection'],
  ['timeout', 'ETIMEDOUT', 'token-endpoint-timeout', 'auth.example.com took the token request'],
  ['malformed', 'HPE_INVALID_CONSTANT', 'token-endpoint-error', 'What auth.example.com answered is not HTTP'],
  ['too-large', 'BODY_TOO_LARGE', 'token-response-unusable', 'The answer of auth.example.com is larger'],
  ['encoded', 'CONTENT_ENCODING', 'token-response-unusable', 'The answer of auth.example.com has a content encoding'],
] as const)('explains "%s" (%s) as %s', async (kind, code, type, said) => {
  const { outcome } = await request({ attempts: Array(3).fill(failure(kind, code)) });

  expect(outcome).toMatchObject({ type, detail: expect.stringContaining(said) });
  expect(outcome).toMatchObject({ detail: expect.stringContaining(`(${code})`), cause: undefined });
});

it.each(['too-large', 'encoded'] as const)('tells the shape of an answer that is "%s", and no value', async (kind) => {
  const { outcome } = await request({ attempts: [failure(kind, 'CODE', 200)] });

  expect(outcome).toMatchObject({ shape: { status: 200, contentType: 'none', members: [] } });
  expect(JSON.stringify(outcome)).not.toContain('leaked');
});

it('passes on any error but a failure of sending as the bug that it is', async () => {
  const bug = new TypeError('a bug');

  expect((await request({ attempts: [bug] })).outcome).toBe(bug);
});

it('shows nothing of the answer when a failure is printed', () => {
  expect(String(failure('broken', 'ECONNRESET', 200))).toBe('SendFailure: broken (ECONNRESET)');
  expect(inspect(failure('broken', 'ECONNRESET', 200), { showHidden: true, depth: 9 })).not.toContain('leaked');
});

function build(changes: Partial<Service> = {}) {
  const { url, ...request } = buildTokenRequest(exampleService(changes), CREDENTIAL);
  return { ...request, url: url.href };
}

it('posts nothing but the authorization', () => {
  const { method, url, headers, body } = build();

  expect({ method, url, body }).toEqual({ method: 'POST', url: 'https://auth.example.com/auth/v1/token', body: '' });
  expect(headers).toEqual({
    accept: 'application/json',
    'accept-encoding': 'identity',
    'content-length': '0',
    'user-agent': 'token-broker',
    authorization: new Redacted('Basic YWNtZTpzOjE='),
  });
});

it('keeps the authorization out of a printed request', () => {
  expect(JSON.stringify(build())).toContain('"authorization":"[redacted]"');
});

describe('parameters', () => {
  const parameters = { grant_type: 'client_credentials', scope: 'a b', note: 'ü+&=' };

  it('go into the query, with spaces that every server can read', () => {
    const { url, headers, body } = build({ parameters, parametersIn: 'query' });

    expect(url).toBe(
      'https://auth.example.com/auth/v1/token?grant_type=client_credentials&scope=a%20b&note=%C3%BC%2B%26%3D',
    );
    expect(body).toBe('');
    expect(headers).not.toHaveProperty('content-type');
  });

  it('go into a form body with its length in bytes', () => {
    const { url, headers, body } = build({ parameters, parametersIn: 'body' });

    expect(url).toBe('https://auth.example.com/auth/v1/token');
    expect(body).toBe('grant_type=client_credentials&scope=a+b&note=%C3%BC%2B%26%3D');
    expect(headers).toMatchObject({
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(new TextEncoder().encode(body).length),
    });
  });
});

describe('headers of the settings', () => {
  it('are added, and replace those that only say a preference', () => {
    const { headers } = build({ headers: { 'X-Api-Version': '2', Accept: '*/*', 'User-Agent': 'example' } });

    expect(headers).toMatchObject({ 'x-api-version': '2', accept: '*/*', 'user-agent': 'example' });
  });

  it('replace none that the broker relies on', () => {
    const headers = { Authorization: 'Basic eDp5', 'Accept-Encoding': 'gzip', 'Content-Length': '7' };

    expect(build({ headers }).headers).toEqual(build().headers);
  });
});

it.each([
  ['https://auth.example.com/', '/auth/v1/token', 'https://auth.example.com/auth/v1/token'],
  ['https://auth.example.com/base', '/oauth/token', 'https://auth.example.com/base/oauth/token'],
  ['https://auth.example.com/base/', '/oauth/token', 'https://auth.example.com/base/oauth/token'],
  ['https://auth.example.com:8443', '/token', 'https://auth.example.com:8443/token'],
])('appends the path to %s', (authUrl, tokenPath, expected) => {
  expect(build({ authUrl, tokenPath }).url).toBe(expected);
});

it.each(['.evil.example/', '@evil.example/', '//evil.example/token', 'https://evil.example/'])(
  'stays on the host of authUrl when the path is "%s"',
  (tokenPath) => {
    expect(new URL(build({ tokenPath }).url).host).toBe('auth.example.com');
  },
);
