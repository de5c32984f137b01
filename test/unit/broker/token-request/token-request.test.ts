import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import type { Service } from '../../../../functions/broker/service.ts';
import {
  type HttpRequest,
  SendFailure,
  type SendFailureKind,
  type SendLimits,
} from '../../../../functions/broker/token-request/send-http.ts';
import { buildTokenRequest, createTokenRequester } from '../../../../functions/broker/token-request/token-request.ts';
import type { TokenResponse } from '../../../../functions/broker/token-response/content.ts';
import { exampleService, START } from '../../../support/example.ts';

const ANSWER: TokenResponse = { status: 200, headers: {}, body: new TextEncoder().encode('{"token":"t"}') };
const CREDENTIAL = {
  clientId: new Redacted('acme'),
  secret: new Redacted('s:1'),
  authorization: new Redacted('Basic YWNtZTpzOjE='),
  headers: {},
};

/** Requests a token with a clock that moves only while an attempt or a pause lasts; an answer follows these attempts. */
async function request(
  attempts: readonly (TokenResponse | Error)[],
  { attemptMs = 10, random = 0.5, deadline = START + 60_000, frozenMs = 0 } = {},
) {
  let now = START;
  const sent: SendLimits[] = [];
  const requests: HttpRequest[] = [];
  const pauses: number[] = [];
  const requestToken = createTokenRequester({
    sendHttp: async (sentRequest, limits) => {
      requests.push(sentRequest);
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
  return { outcome, sent, requests, pauses };
}

function failure(kind: SendFailureKind, code = 'CODE', status?: number): SendFailure {
  return new SendFailure(kind, code, status === undefined ? undefined : { status, headers: { 'x-token': 'leaked' } });
}

describe('a token request', () => {
  it.each([200, 301, 401, 429, 500])('takes a %d as the answer, and reports when it began and came', async (status) => {
    const response = { ...ANSWER, status };
    const { outcome, sent } = await request([response], { attemptMs: 40 });
    expect(outcome).toEqual({ response, requestStartedAt: START, receivedAt: START + 40, isClassical: false });
    expect(sent).toEqual([{ timeoutMs: 4_000, handshakeMs: 1_334, maxBodyBytes: 262_144 }]);
  });

  it('is sent again when no connection was made, three times in all', async () => {
    const [one, all] = [[failure('connect')], Array(4).fill(failure('connect'))];
    expect((await request(one)).outcome).toMatchObject({ response: ANSWER, requestStartedAt: START + 60 });
    const { outcome, sent } = await request(all);
    expect(outcome).toMatchObject({ problem: { type: 'token-endpoint-unavailable' }, isUnheard: false });
    expect(sent).toHaveLength(3);
  });

  it.each([
    // @see dadrian/tldr.fail#23
    ['TLS that did not stand', failure('handshake'), 'token-endpoint-unavailable', 3],
    // @see hashicorp/terraform-provider-aws#41655, GoogleCloudPlatform/cloud-sql-proxy#2294
    ['an alert of TLS', failure('tls', 'EPROTO'), 'token-endpoint-error', 2],
    ['an alert about protocols', failure('tls', 'EPROTO: no protocol in common'), 'token-endpoint-error', 2],
  ])(
    'is sent again with classical groups only, and all of the rest for it, after %s',
    async (_, fault, type, times) => {
      const { outcome, sent, requests } = await request([fault], { attemptMs: 1_334, random: 0 });
      expect(outcome).toMatchObject({ response: ANSWER, isClassical: true });
      expect(requests.map(({ isClassical }) => isClassical)).toEqual([false, true]);
      expect(sent[1]).toMatchObject({ timeoutMs: 2_666, handshakeMs: 2_666 });
      const all = await request(Array(4).fill(fault));
      expect(all.outcome).toMatchObject({ problem: { type }, isUnheard: false });
      expect(all.sent).toHaveLength(times);
    },
  );

  it('has no shorter limit for TLS when no time for another attempt would be left', async () => {
    const { sent } = await request([], { deadline: START + 499 });
    expect(sent).toMatchObject([{ timeoutMs: 499, handshakeMs: 499 }]);
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
    ['too-large', 401],
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

  it('is reported by its shape when it is too large, without a value', async () => {
    const { outcome } = await request([failure('too-large', 'CODE', 200)]);
    expect(outcome).toMatchObject({ problem: { shape: { status: 200, contentType: 'none', members: [] } } });
    expect(JSON.stringify(outcome)).not.toContain('leaked');
  });
});

describe('a failure of sending', () => {
  it.each([
    ['connect', 'ENOTFOUND', 'token-endpoint-unavailable', 'cannot be connected to', false],
    ['tls', 'CERT_HAS_EXPIRED', 'token-endpoint-error', 'has a TLS certificate or protocol', false],
    ['tls', 'EPROTO: not TLS', 'token-endpoint-error', 'has a TLS certificate or protocol', false],
    ['client-certificate', 'CODE', 'token-endpoint-error', 'wants a client certificate', false],
    ['broken', 'ECONNRESET', 'token-endpoint-unavailable', 'closed the connection', true],
    ['timeout', 'ETIMEDOUT', 'token-endpoint-timeout', 'took the token request', true],
    ['handshake', 'ETIMEDOUT', 'token-endpoint-unavailable', 'accepts TCP connections, but TLS does not stand', false],
    ['malformed', 'HPE_INVALID_CONSTANT', 'token-endpoint-error', 'answered with something that is not HTTP', true],
    ['too-large', 'BODY_TOO_LARGE', 'token-response-unusable', 'sent an answer that is larger', false],
  ] as const)(
    '"%s" (%s) is %s, and may hide a rejection when no status came',
    async (kind, code, type, said, isUnheard) => {
      const { outcome, sent } = await request(Array(3).fill(failure(kind, code)));
      const detail = expect.stringMatching(new RegExp(`^auth\\.example\\.com ${said}.*\\(${code}\\)\\.$`));
      expect(outcome).toMatchObject({ problem: { type, detail, cause: undefined }, isUnheard });
      expect(sent).toHaveLength(['connect', 'handshake'].includes(kind) ? 3 : 1);
    },
  );

  it.each([
    ['HPE_INVALID_HEADER_TOKEN', 'a character in a header'],
    ['HPE_INVALID_TRANSFER_ENCODING', 'length and chunked, or a wrong length'],
    ['HPE_UNEXPECTED_CONTENT_LENGTH', 'length and chunked, or a wrong length'],
    ['HPE_INVALID_CHUNK_SIZE', 'a chunk'],
    ['HPE_CR_EXPECTED', 'the end of a line'],
    ['HPE_INVALID_STATUS', 'the first line'],
    ['HPE_INVALID_VERSION', 'the first line'],
    ['HPE_CLOSED_CONNECTION', 'more bytes than its length', 200],
    ['HPE_INVALID_CONSTANT', 'more bytes than its length', 204],
  ])('names what Node refuses in HTTP: %s', async (code, fault, status?: number) => {
    const shown = status === undefined ? code : `${code}, status ${status}`;
    const detail = `auth.example.com answered with HTTP that Node refuses: ${fault} (${shown}).`;
    expect((await request([failure('malformed', code, status)])).outcome).toMatchObject({ problem: { detail } });
  });

  it('shows nothing of the answer when it is printed', () => {
    expect(String(failure('broken', 'ECONNRESET', 200))).toBe('SendFailure: broken (ECONNRESET)');
    expect(inspect(failure('broken', 'ECONNRESET', 200), { showHidden: true, depth: 9 })).not.toContain('leaked');
  });
});

describe('the request that is sent', () => {
  const parameters = { grant_type: 'client_credentials', scope: 'a b', note: 'ü+&=' };

  function build(changes: Partial<Service> = {}, credential: Partial<typeof CREDENTIAL> = {}) {
    const { url, ...rest } = buildTokenRequest(exampleService(changes), { ...CREDENTIAL, ...credential });
    return { ...rest, url: url.href };
  }

  it('is a POST of nothing but the authorization, which does not show in print', () => {
    expect(build()).toEqual({
      method: 'POST',
      url: 'https://auth.example.com/auth/v1/token',
      headers: {
        Accept: 'application/json',
        'Accept-Encoding': 'identity',
        'Content-Length': '0',
        'User-Agent': 'token-broker',
        Authorization: new Redacted('Basic YWNtZTpzOjE='),
      },
      body: '',
    });
    expect(JSON.stringify(build())).toContain('"Authorization":"[redacted]"');
  });

  const HOST = 'https://auth.example.com';
  const URL_OF = `${HOST}/auth/v1/token`;
  const PATH = '/token?grant_type=client_credentials&x=%20';
  const OWN = { client_id: '{client_id}', note: 'x{client_id}' };
  const IN_QUERY = 'grant_type=client_credentials&scope=a%20b&note=%C3%BC%2B%26%3D';
  const IN_BODY = 'grant_type=client_credentials&scope=a+b&note=%C3%BC%2B%26%3D';

  it.each<[string, Partial<Service>, string, string?]>([
    ['its parameters in the query, with spaces that every server can read', { parameters }, `${URL_OF}?${IN_QUERY}`],
    ['its parameters in a form', { parameters, parametersIn: 'body' }, URL_OF, IN_BODY],
    // @see apigee/openbank#55, DuendeArchive/IdentityServer4#2567
    ['an empty form, which is a form', { parametersIn: 'body' }, URL_OF, ''],
    ['its parameters in JSON', { parameters, parametersIn: 'json' }, URL_OF, JSON.stringify(parameters)],
    ['an empty object of JSON', { parametersIn: 'json' }, URL_OF, '{}'],
    ['the client id as a whole value', { parameters: OWN }, `${URL_OF}?client_id=ac%2Fme%261&note=x%7Bclient_id%7D`],
    ['the query of its path', { tokenPath: PATH, parameters: { a: 'b c' } }, `${HOST}${PATH}&a=b%20c`],
    ['a second question mark', { tokenPath: '/t?next=/a?b', parameters: { a: 'b' } }, `${HOST}/t?next=/a?b&a=b`],
    ['a base path', { authUrl: `${HOST}/base/`, tokenPath: '/oauth/token' }, `${HOST}/base/oauth/token`],
    ['another host in its path', { tokenPath: '//evil.example/token' }, `${HOST}//evil.example/token`],
  ])('has %s', (_, settings, url, body) => {
    const built = build(settings, { clientId: new Redacted('ac/me&1') });
    expect([built.url, built.body]).toEqual([url, body ?? '']);
    const type = settings.parametersIn === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
    expect(built.headers['Content-Type']).toBe(body === undefined ? undefined : type);
    expect(built.headers['Content-Length']).toBe(String(Buffer.byteLength(body ?? '')));
  });

  it('has the headers of the settings, but for those that the broker relies on', () => {
    const fixed = { authorization: 'Basic eDp5', 'ACCEPT-ENCODING': 'gzip', 'content-length': '7' };
    const { headers } = build({ headers: { 'X-Api-Version': '2', accept: '*/*', 'User-Agent': 'example', ...fixed } });
    const { Accept: _, ...rest } = build().headers;
    expect(headers).toEqual({ ...rest, 'X-Api-Version': '2', accept: '*/*', 'User-Agent': 'example' });
  });

  // @see request/request#3112, hyperblast/beefweb#147
  it('has header names in their usual capitals, and the headers of the client, which do not show in print', () => {
    const headers = { 'x-api-key': new Redacted('marked-key') };
    const built = build({ clientHeaders: ['x-api-key'], parametersIn: 'body' }, { headers });
    expect(Object.keys(built.headers).join()).toBe(
      'Accept,User-Agent,Content-Type,x-api-key,Authorization,Accept-Encoding,Content-Length',
    );
    expect(built.headers).toMatchObject(headers);
    expect(JSON.stringify(built)).not.toContain('marked');
  });
});
