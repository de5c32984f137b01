import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createTokenBroker } from '../../../client/index.ts';
import { ACCESS } from '../../support/example.ts';
import { send } from '../../support/requests.ts';
import { type Answer, answerWith, startLoopbackServer } from '../../unit/client/loopback-server.ts';
import { startServing } from '../../unit/client/serve/forward-world.ts';
import { findLeaks, marksOf, SPELLINGS } from './marks.ts';
import { captureOutput } from './output.ts';

const FORM = 'application/x-www-form-urlencoded';
const GRANT = 'grant_type=client_credentials&client_id=acme&scope=customer-insights';

describe.each(SPELLINGS)('token-broker serve, with %s marks', (spelling) => {
  // The key is held against the mark of a credential's secret.
  const { token, secret: key, sessionToken } = marksOf(spelling);
  const good = { access_token: token, token_type: 'Bearer', expires_in: 60, expiry_source: 'response' };

  const answers: readonly (readonly [string, Answer])[] = [
    ['a token', answerWith(200, { ...good, expires_at: '2026-01-01T00:00:00Z', fingerprint: '0123456789abcdef' })],
    ['a token that it cannot read', answerWith(200, { ...good, fingerprint: token })],
    ['no JSON', answerWith(200, `{"access_token":"${token}"`)],
    ['a 500 that repeats a token', answerWith(500, { message: token, token })],
    ['a 403 of AWS with a session token', answerWith(403, { message: `The security token ${sessionToken} is` })],
    ['an answer that breaks off', (response) => void response.writeHead(200).write(token, () => response.destroy())],
  ];

  let written: ReturnType<typeof captureOutput>;
  let broker: Awaited<ReturnType<typeof startLoopbackServer>>;
  let part: Answer = answerWith(500, {});
  beforeAll(async () => {
    broker = await startLoopbackServer((response, request) => part(response, request));
  });
  afterAll(() => broker.close());

  it.each(answers)('shows neither a token, the key nor the keys of AWS when the broker sends %s', async (_, answer) => {
    part = answer;
    written = captureOutput();
    const { ask, notes } = await start();
    const asked = [
      await ask({ 'x-token-broker-key': key }, GRANT),
      await ask({}, `${GRANT}&client_secret=${encodeURIComponent(key)}`),
      await ask({ 'x-token-broker-key': key }, `client=acme&service=customer-insights&${token}=1`),
      await ask({ 'x-token-broker-key': key }, `${GRANT}&client_secret=${token}`),
      await ask({ 'x-token-broker-key': `${key}x` }, GRANT),
      await ask({ authorization: `Basic ${Buffer.from(`acme:${key}x`).toString('base64')}` }, GRANT),
      await ask({}, `grant_type=${encodeURIComponent(key)}&client_secret=${encodeURIComponent(key)}`),
      await ask({ 'x-token-broker-key': key, origin: key }, GRANT),
      await ask({ 'x-token-broker-key': key }, '', '/whoami'),
    ];
    const answered = asked.map(({ status, headers, body }) => {
      const { access_token: given, ...rest } = JSON.parse(body);
      if (status === 200) expect(given).toBe(token);
      // The one place where a token may stand.
      return [headers, status === 200 ? rest : body];
    });
    expect(asked.map(({ status }) => status).slice(2, 8)).toEqual([400, 400, 401, 401, 400, 403]);
    expectNoLeak({ notes, answered });
  });

  const apis: readonly (readonly [string, Answer])[] = [
    ['an answer', answerWith(200, { ok: true })],
    ['a 401', answerWith(401, {})],
    ['a 500', answerWith(500, {})],
    ['a redirect', answerWith(302, '', { location: 'https://example.org/' })],
    ['an answer that breaks off', (response) => void response.writeHead(200).write('half', () => response.destroy())],
    ['nothing', (response) => void response.destroy()],
    ['what is not HTTP', (response) => void response.socket?.end('SSH-2.0\r\n')],
  ];

  it.each(apis)('shows neither a token, the key nor a call when the API sends %s', async (_, answer) => {
    part = answers[0]?.[1] ?? part;
    const api = await startLoopbackServer(answer);
    onTestFinished(api.close);
    written = captureOutput();
    const { ask, notes, calls } = await start(api.url);
    const bearer = `bearer ${key}`;
    const basic = `Basic ${Buffer.from(`acme:${encodeURIComponent(key)}`).toString('base64')}`;
    const headers = [
      { 'x-token-broker-key': key, cookie: `k=${key}`, 'x-api-key': key },
      { authorization: bearer, 'x-copy': bearer, 'x-token-broker-key': key },
      { authorization: basic, 'x-copy': basic },
      { authorization: `Bearer ${key}x` },
    ];
    const answered = [];
    for (const path of [`/x?token=${encodeURIComponent(token)}`, `/${encodeURIComponent(key)}`, '/../x', '/x']) {
      for (const shown of headers) {
        const body = path === '/x' ? `secret=${key}` : token;
        answered.push(await ask(shown, body, `/api/acme/customer-insights${path}`).catch(() => undefined));
      }
    }
    const sentOn = api.requests.map(({ url, headers, body }) => ({ url, headers, body }));
    // The API gets the token that the call has, and the token in its own header.
    const withoutToken = JSON.stringify(sentOn, (_, value) => (value === `Bearer ${token}` ? '' : value));
    expect(withoutToken).not.toContain(key);
    expect(withoutToken).not.toContain(basic);
    expect(sentOn.every((request) => request.headers.authorization === `Bearer ${token}`)).toBe(true);
    expect(sentOn.length).toBeGreaterThan(2);
    expectNoLeak({ notes, calls, answered });
  });

  it('shows a key in a body that streams through to the API alone, because only kept bodies are searched', async () => {
    part = answers[0]?.[1] ?? part;
    const api = await startLoopbackServer(answerWith(401, {}));
    onTestFinished(api.close);
    written = captureOutput();
    const { ask, notes, calls } = await start(api.url);
    const body = `${'x'.repeat(64 * 1024)}${key}`;
    const answered = [await ask({ 'x-token-broker-key': key }, body, '/api/acme/customer-insights/x')];
    expect(api.requests.map((request) => request.body)).toEqual([body]);
    expectNoLeak({ notes, calls, answered });
  });

  function expectNoLeak(seen: Readonly<Record<string, readonly unknown[]>>) {
    const texts = Object.entries(seen).map(([place, parts]) => [place, JSON.stringify(parts)]);
    expect(findLeaks({ ...written, ...Object.fromEntries(texts) }, spelling)).toEqual([]);
    expect(written.unhandled).toBe('');
  }

  async function start(api?: string) {
    const credentials = { ...ACCESS.credentials, sessionToken };
    const own = createTokenBroker({ url: broker.url, credentials, maxAttempts: 1 });
    const { url, notes, calls } = await startServing({ broker: own, key, api });
    const ask = (headers: Record<string, string>, body: string, path = '/token') =>
      send({ method: 'POST', url: url + path, headers: { 'content-type': FORM, ...headers }, body });
    return { ask, notes, calls };
  }
});
