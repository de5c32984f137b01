import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import type { Service } from '../../../../functions/broker/service.ts';
import {
  SendFailure,
  type SendFailureKind,
  type SendLimits,
} from '../../../../functions/broker/token-request/send-http.ts';
import { buildTokenRequest, createTokenRequester } from '../../../../functions/broker/token-request/token-request.ts';
import type { TokenResponse } from '../../../../functions/broker/token-response/bytes.ts';
import { exampleService, START } from '../../../support/example.ts';

const ANSWER: TokenResponse = { status: 200, headers: {}, body: new TextEncoder().encode('{"token":"t"}') };
const CREDENTIAL = {
  clientId: new Redacted('acme'),
  secret: new Redacted('s:1'),
  authorization: new Redacted('Basic YWNtZTpzOjE='),
};

/** Requests a token with a clock that moves only while an attempt or a pause lasts; an answer follows these attempts. */
async function request(
  attempts: readonly (TokenResponse | Error)[],
  { attemptMs = 10, random = 0.5, deadline = START + 60_000, frozenMs = 0 } = {},
) {
  let now = START;
  const sent: SendLimits[] = [];
  const pauses: number[] = [];
  const requestToken = createTokenRequester({
    sendHttp: async (_request, limits) => {
      sent.push(limits);
      now += attemptMs;
      const outcome = attempts[sent.length - 1] ?? ANSWER;
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    now: () => now,
    sleep: async (ms) => {
      pauses.push(ms);
      now += ms + frozenMs;
    },
    random: () => random,
  });
  const outcome = await requestToken(exampleService(), CREDENTIAL, deadline).catch((error: Error) => error);
  return { outcome, sent, pauses };
}

function failure(kind: SendFailureKind, code = 'CODE', status?: number): SendFailure {
  return new SendFailure(kind, code, status === undefined ? undefined : { status, headers: { 'x-token': 'leaked' } });
}

describe('a token request', () => {
  it.each([200, 301, 401, 429, 500])('takes a %d as the answer, and reports when it began and came', async (status) => {
    const response = { ...ANSWER, status };
    const { outcome, sent } = await request([response], { attemptMs: 40 });
    expect(outcome).toEqual({ response, requestStartedAt: START, receivedAt: START + 40 });
    expect(sent).toEqual([{ timeoutMs: 4_000, maxBodyBytes: 262_144 }]);
  });

  it('is sent again when no connection was made, three times in all', async () => {
    const [one, all] = [[failure('connect')], Array(4).fill(failure('connect'))];
    expect((await request(one)).outcome).toMatchObject({ response: ANSWER, requestStartedAt: START + 60 });
    const { outcome, sent } = await request(all);
    expect(outcome).toMatchObject({ problem: { type: 'token-endpoint-unavailable' }, isUnheard: false });
    expect(sent).toHaveLength(3);
  });

  it.each([
    [0, [0, 0]],
    [0.99, [99, 198]],
  ])('waits a random part of 100 ms, then of 200 ms: %d', async (random, expected) => {
    expect((await request([failure('connect'), failure('connect')], { random })).pauses).toEqual(expected);
  });

  it('is not sent again by an instance that was frozen while it waited, and has no time left', async () => {
    const { outcome, sent } = await request([failure('connect')], { frozenMs: 3_700 });
    expect(outcome).toMatchObject({ problem: { type: 'token-endpoint-unavailable' }, isUnheard: false });
    expect(sent).toHaveLength(1);
    expect((await request([failure('connect')], { frozenMs: 3_690 })).sent).toHaveLength(2);
  });

  it('leaves to a repeat the rest of the time for all attempts', async () => {
    const { sent } = await request([failure('connect')], { attemptMs: 2_000, random: 0 });
    expect(sent.map(({ timeoutMs }) => timeoutMs)).toEqual([4_000, 2_000]);
  });

  it.each([
    ['begins', 300, 2],
    ['does not begin', 299, 1],
  ])('%s a repeat with a pause of 50 ms when %i ms are left', async (_, leftMs, attempts) => {
    const { sent } = await request([failure('connect')], { attemptMs: 3_000, deadline: START + 3_000 + leftMs });
    expect(sent).toHaveLength(attempts);
  });

  it('passes on any error but a failure of sending as the bug that it is', async () => {
    const bug = new TypeError('a bug');
    expect((await request([bug])).outcome).toBe(bug);
  });
});

describe('an answer that broke off', () => {
  it.each([
    ['broken', 300],
    ['encoded', 401],
  ] as const)('is "%s" after a %d: the status and the headers count', async (kind, status) => {
    const { outcome, sent } = await request([failure(kind, 'CODE', status)]);
    expect(outcome).toMatchObject({ response: { status, headers: { 'x-token': 'leaked' }, body: new Uint8Array() } });
    expect(sent).toHaveLength(1);
  });

  it('is a problem after a 299', async () => {
    expect((await request([failure('broken', 'ECONNRESET', 299)])).outcome).toMatchObject({
      problem: {
        type: 'token-endpoint-unavailable',
        detail: 'auth.example.com closed the connection before its answer was complete (ECONNRESET, status 299).',
        shape: undefined,
      },
      isUnheard: false,
    });
  });

  it.each(['too-large', 'encoded'] as const)(
    'is reported by its shape when it is "%s", without a value',
    async (kind) => {
      const { outcome } = await request([failure(kind, 'CODE', 200)]);
      expect(outcome).toMatchObject({ problem: { shape: { status: 200, contentType: 'none', members: [] } } });
      expect(JSON.stringify(outcome)).not.toContain('leaked');
    },
  );
});

describe('a failure of sending', () => {
  it.each([
    ['connect', 'ENOTFOUND', 'token-endpoint-unavailable', 'cannot be connected to', false],
    ['tls', 'CERT_HAS_EXPIRED', 'token-endpoint-error', 'has a TLS certificate or protocol', false],
    ['broken', 'ECONNRESET', 'token-endpoint-unavailable', 'closed the connection', true],
    ['timeout', 'ETIMEDOUT', 'token-endpoint-timeout', 'took the token request', true],
    ['malformed', 'HPE_INVALID_CONSTANT', 'token-endpoint-error', 'answered with something that is not HTTP', true],
    ['too-large', 'BODY_TOO_LARGE', 'token-response-unusable', 'sent an answer that is larger', false],
    ['encoded', 'CONTENT_ENCODING', 'token-response-unusable', 'sent an answer with a content encoding', false],
  ] as const)(
    '"%s" (%s) is %s, and may hide a rejection when no status came',
    async (kind, code, type, said, isUnheard) => {
      const { outcome, sent } = await request(Array(3).fill(failure(kind, code)));
      const detail = expect.stringMatching(new RegExp(`^auth\\.example\\.com ${said}.*\\(${code}\\)\\.$`));
      expect(outcome).toMatchObject({ problem: { type, detail, cause: undefined }, isUnheard });
      expect(sent).toHaveLength(kind === 'connect' ? 3 : 1);
    },
  );

  it('shows nothing of the answer when it is printed', () => {
    expect(String(failure('broken', 'ECONNRESET', 200))).toBe('SendFailure: broken (ECONNRESET)');
    expect(inspect(failure('broken', 'ECONNRESET', 200), { showHidden: true, depth: 9 })).not.toContain('leaked');
  });
});

describe('the request that is sent', () => {
  const parameters = { grant_type: 'client_credentials', scope: 'a b', note: 'ü+&=' };

  function build(changes: Partial<Service> = {}) {
    const { url, ...rest } = buildTokenRequest(exampleService(changes), CREDENTIAL);
    return { ...rest, url: url.href };
  }

  it('is a POST of nothing but the authorization, which does not show in print', () => {
    expect(build()).toEqual({
      method: 'POST',
      url: 'https://auth.example.com/auth/v1/token',
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'content-length': '0',
        'user-agent': 'token-broker',
        authorization: new Redacted('Basic YWNtZTpzOjE='),
      },
      body: '',
    });
    expect(JSON.stringify(build())).toContain('"authorization":"[redacted]"');
  });

  it('has the parameters in the query, with spaces that every server can read', () => {
    const query = 'grant_type=client_credentials&scope=a%20b&note=%C3%BC%2B%26%3D';
    const { url, headers, body } = build({ parameters, parametersIn: 'query' });
    expect([url, body]).toEqual([`https://auth.example.com/auth/v1/token?${query}`, '']);
    expect(headers).not.toHaveProperty('content-type');
  });

  it('has the parameters in a form body with its length in bytes', () => {
    const form = 'grant_type=client_credentials&scope=a+b&note=%C3%BC%2B%26%3D';
    const { url, headers, body } = build({ parameters, parametersIn: 'body' });
    expect([url, body]).toEqual(['https://auth.example.com/auth/v1/token', form]);
    const type = 'application/x-www-form-urlencoded';
    expect(headers).toMatchObject({ 'content-type': type, 'content-length': String(form.length) });
  });

  it('has the headers of the settings, but for those that the broker relies on', () => {
    const fixed = { Authorization: 'Basic eDp5', 'Accept-Encoding': 'gzip', 'Content-Length': '7' };
    const { headers } = build({ headers: { 'X-Api-Version': '2', Accept: '*/*', 'User-Agent': 'example', ...fixed } });
    expect(headers).toEqual({ ...build().headers, 'x-api-version': '2', accept: '*/*', 'user-agent': 'example' });
  });

  it.each([
    ['https://auth.example.com/', '/auth/v1/token', 'https://auth.example.com/auth/v1/token'],
    ['https://auth.example.com/base/', '/oauth/token', 'https://auth.example.com/base/oauth/token'],
    ['https://auth.example.com:8443', '//evil.example/token', 'https://auth.example.com:8443//evil.example/token'],
  ])('goes to %s with the path %s appended', (authUrl, tokenPath, expected) => {
    expect(build({ authUrl, tokenPath }).url).toBe(expected);
  });
});
