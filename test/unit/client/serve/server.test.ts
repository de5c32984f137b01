import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TokenBrokerError } from '../../../../client/index.ts';
import { type RequestToSend, send } from '../../../support/requests.ts';
import { PAIR } from '../client-world.ts';
import { beginningOf, KEY, startServing } from './forward-world.ts';

const FORM = 'application/x-www-form-urlencoded';
const GRANT = { grant_type: 'client_credentials', scope: PAIR.service };
const SILENT_API = { api: 'http://127.0.0.1:9' };
const basic = (user: string, password: string) =>
  `Basic ${Buffer.from([user, password].map(encodeURIComponent).join(':')).toString('base64')}`;

describe('POST /token', () => {
  it('takes JSON, a form and an OAuth form, and answers each out of one cache', async () => {
    const { ask, fake } = await startWorld();
    const token = { access_token: 'fake-token-1', token_type: 'Bearer', fingerprint: expect.any(String) };
    const json = { 'content-type': 'application/json', 'x-token-broker-key': KEY };
    const inJson = await ask({ body: JSON.stringify(PAIR), headers: json });
    const inForm = await ask({ form: PAIR });
    const inOAuth = await ask({ form: { ...GRANT, client_id: PAIR.client } });

    expect(inJson).toMatchObject({ status: 200, json: { ...token, expires_at: expect.any(String) } });
    // A second may pass between two of them.
    const { expires_at: _, ...rest } = { ...inJson.json, expires_in: expect.any(Number) };
    expect(inForm.json).toEqual({ ...inJson.json, ...rest });
    expect(inOAuth).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' }, json: rest });
    expect(Object.keys(inOAuth.json)).toEqual(Object.keys(rest));
    expect(fake.requests).toHaveLength(1);
  });

  it('hands min_ttl and refused to the client', async () => {
    const { ask, fake } = await startWorld();
    const { json } = await ask({ form: { ...GRANT, client_id: 'acme' } });
    const more = { min_ttl: '60', refused: json.fingerprint };
    expect(await ask({ form: { ...GRANT, client_id: 'acme', ...more } })).toMatchObject({
      json: { access_token: 'fake-token-2' },
    });
    expect(fake.requests[1]).toMatchObject({ members: { ...PAIR, min_ttl: 60, refused: json.fingerprint } });
  });

  it.each([
    ['client=acme', 400, 'invalid-request', undefined],
    [`${new URLSearchParams({ ...GRANT, scope: 'a b', client_id: 'acme' })}`, 400, 'invalid-request', 'invalid_scope'],
    [`x=${'x'.repeat(16_384)}`, 413, 'content-too-large', undefined],
  ])('says what is wrong with %s, in the words of the broker', async (body, status, type, error) => {
    const { ask, fake, notes } = await startWorld();
    const { json, headers } = await ask({ body });
    expect(json).toMatchObject({ type, status });
    expect(json.error).toBe(error);
    expect(headers['content-type']).toBe(error ? 'application/json' : 'application/problem+json');
    expect([fake.requests, notes]).toEqual([[], []]);
  });

  it('hands on the problem of the broker with the refused role and its rules, as the terminal, and notes it', async () => {
    const { ask, fake, notes } = await startWorld();
    fake.fail('access-denied', { retryAfterSeconds: 7 });
    const role =
      'Your role is arn:aws:iam::111111111111:role/fake; its access rules allow token, check for all clients';
    const problem = { type: 'access-denied', status: 403, retryable: false, request_id: 'fake-request' };
    const inForm = await ask({ form: PAIR });
    expect(inForm).toMatchObject({ status: 403, json: { ...problem, detail: expect.stringContaining(role) } });
    expect(inForm.headers).toMatchObject({ 'retry-after': '7', 'content-type': 'application/problem+json' });
    expect(notes).toEqual([expect.stringContaining('access-denied')]);

    const { headers, json } = await ask({ form: { ...GRANT, client_id: 'acme' } });
    expect(headers).toMatchObject({ 'retry-after': '7', 'content-type': 'application/json' });
    expect(json).toMatchObject({ ...problem, error: 'unauthorized_client', error_description: json.detail });
    fake.fail('credential-rejected');
    const detail = 'The fake broker is set to fail: credential-rejected.';
    expect(await ask({ form: PAIR })).toMatchObject({ status: 424, json: { detail } });
  });

  it.each([
    [true, 503, 'temporarily_unavailable'],
    [false, 424, 'server_error'],
  ])('says of a failure before the broker what to do, and whether trying again helps: %s', async (...expected) => {
    const [retryable, status, error] = expected;
    const failure = new TokenBrokerError('network-error', 'There was no answer', { retryable, advice: 'Wait.' });
    const { ask, notes } = await startWorld({ broker: { token: () => Promise.reject(failure) } });
    const { json } = await ask({ form: { ...GRANT, client_id: 'acme' } });
    const detail = 'There was no answer. Wait.';
    expect(json).toMatchObject({ type: failure.type, status, retryable, error, detail, error_description: detail });
    // Another caller that waited for the same request.
    await ask({ form: PAIR });
    expect(notes).toEqual([`network-error: ${detail}`]);
  });

  it('keeps a defect opaque', async () => {
    const { ask, notes } = await startWorld({
      broker: { token: () => Promise.reject(new RangeError('marked-secret')) },
    });
    const { status, body, json } = await ask({ form: PAIR });
    expect({ status, type: json.type }).toEqual({ status: 500, type: 'internal' });
    expect(body + notes).not.toContain('marked-secret');
    expect(notes).toEqual([`internal: RangeError (request ${json.request_id})`]);
  });
});

describe('the other paths', () => {
  it('are POST /whoami, with the role of the process, and GET /ping, which needs no key', async () => {
    const { ask, url } = await startWorld();
    const role = 'arn:aws:iam::111111111111:role/fake';
    const rules = [{ clients: 'all', services: 'all', operations: ['token', 'check'] }];
    expect((await ask({ path: '/whoami', body: '' })).json).toEqual({ role, account: '111111111111', rules });
    expect(await ask({ path: '/ping', method: 'GET', headers: {} })).toMatchObject({ status: 200, json: { ok: true } });
    // `wget --spider` sends a HEAD. @see eduard256/Strix#3, caidaoli/ccLoad#129
    expect(await fetch(`${url}/ping`, { method: 'HEAD' })).toMatchObject({ status: 200 });
  });

  it.each([
    ['GET', '/token', 405],
    ['POST', '/check', 404],
    ['POST', '/token?client=acme', 404],
  ])('%s %s does not exist', async (method, path, status) => {
    expect(await (await startWorld()).ask({ method, path })).toMatchObject({ status });
  });
});

it.each(['127.0.0.2', '::1'])('the server listens on 127.0.0.1 alone, and not on %s', async (host) => {
  const { port } = await startWorld();
  const socket = connect(port, host);
  onTestFinished(() => void socket.destroy());
  await expect(once(socket, 'connect')).rejects.toThrow();
});

describe('the key', () => {
  it.each([
    ['client_secret', {}, { client_id: 'acme', client_secret: KEY }],
    ['X-Token-Broker-Key', { 'x-token-broker-key': KEY }, { client_id: 'acme' }],
    ['a bearer token, with its scheme in any case', { authorization: `bearer ${KEY}` }, { client_id: 'acme' }],
    ['the password of HTTP Basic, with the client beside it', { authorization: basic('acme', KEY) }, {}],
    ['Basic and the form alike', { authorization: basic('acme', KEY) }, { client_id: 'acme', client_secret: KEY }],
    ['Basic without a client', { authorization: basic('', KEY) }, { client_id: 'acme' }],
  ])('may come as %s', async (_, headers, members) => {
    const { ask, fake } = await startWorld();
    const form = { ...GRANT, ...members };
    expect(await ask({ headers: { 'content-type': FORM, ...headers }, form })).toMatchObject({ status: 200 });
    expect(fake.requests[0]?.members).toMatchObject(PAIR);
  });

  it.each([
    ['none', {}, {}],
    ['an empty one', { 'x-token-broker-key': '' }, { client_secret: KEY }],
    ['a wrong client_secret', {}, { client_secret: `${KEY}x` }],
    ['one of two that is wrong', { 'x-token-broker-key': 'x', authorization: basic('acme', KEY) }, {}],
    ['a wrong password of the right length', { authorization: basic('acme', KEY.toUpperCase()) }, {}],
    ['a user name alone', { authorization: `Basic ${Buffer.from(KEY).toString('base64')}` }, { client_secret: KEY }],
  ])('is missing or wrong: %s', async (_, headers, members) => {
    const { ask, fake } = await startWorld(SILENT_API);
    const form = { ...GRANT, client_id: 'acme', ...members };
    for (const path of ['/token', '/whoami', '/', '/token/', '/api/acme/customer-insights/x']) {
      const answer = await ask({ path, headers: { 'content-type': FORM, ...headers }, form });
      expect(answer).toMatchObject({
        status: 401,
        headers: { 'www-authenticate': 'Basic realm="token-broker"', 'content-type': 'application/json' },
        json: { error: 'invalid_client', type: 'unauthorized', retryable: false },
      });
      expect(answer.body).not.toContain(KEY);
    }
    expect(fake.requests).toEqual([]);
  });

  it('of the previous server is distinguished from a missing key', async () => {
    const { ask } = await startWorld();
    const detailOf = async (answer: ReturnType<typeof ask>) => (await answer).json.detail;
    const form = { ...GRANT, client_id: 'acme', client_secret: `tbk-2775-${'x'.repeat(43)}` };
    expect(await detailOf(ask({ headers: { 'content-type': FORM }, form }))).toMatch(/TOKEN_BROKER_SERVE_KEY/);
    const { ask: another } = await startWorld({ key: undefined });
    const told = 'This is not the key: the server makes a new one at each start; read the file again.';
    expect(await detailOf(another({ headers: { 'content-type': FORM }, form }))).toBe(told);
    expect(await detailOf(another({ path: '/whoami' }))).toBe(told);
    expect(await detailOf(another({ path: '/ping', method: 'GET' }))).toBe(told);
    // @see matthewhand/mcp-openapi-proxy#24
    for (const headers of [{}, { authorization: `Token ${KEY}` }]) {
      expect(await detailOf(another({ headers }))).toMatch(/^Send the key: /);
    }
  });

  // @see ory/hydra#1274, apigee/openbank#55
  it('in the body of JSON or of another form is no key, and the answer names the form that has one', async () => {
    const { ask } = await startWorld();
    const json = { detail: expect.stringMatching(/ client_secret of a form to \/token\.$/) };
    for (const type of ['application/json', FORM]) {
      const body = type === FORM ? `client_secret=${KEY}` : JSON.stringify({ ...PAIR, client_secret: KEY });
      expect(await ask({ headers: { 'content-type': type }, body })).toMatchObject({ status: 401, json });
    }
  });

  it.each([
    [{ client_id: 'globex' }, 'client_id: is not the user name of the headers.'],
    [{ client_secret: 'another' }, 'client_secret: is not the key of the headers.'],
  ])('and client of the headers are those of the form: %o', async (members, detail) => {
    const { ask, fake } = await startWorld();
    const headers = { 'content-type': FORM, authorization: basic('acme', KEY) };
    const answer = await ask({ headers, form: { ...GRANT, ...members } });
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request', detail } });
    expect(fake.requests).toEqual([]);
  });
});

describe('a caller that is not on this machine', () => {
  const foreign = [
    [421, 'Host: 127.0.0.1.example.com'],
    [421, 'Host:'],
    [403, 'Host: 127.0.0.1\r\nOrigin: http://127.0.0.1'],
    [403, 'Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site'],
    [403, 'Host: 127.0.0.1\r\nSec-Fetch-Site: same-origin'],
    [400, 'Host: 127.0.0.1\r\nHost: example.com'],
    [400, 'Host: 127.0.0.1\r\nAuthorization: Basic YTpi\r\nAuthorization: Basic YTpj'],
    [400, 'Host: 127.0.0.1\r\nX-Forwarded-For: 127.0.0.1'],
    [400, 'Host: 127.0.0.1\r\nForwarded:'],
    [400, 'Host: 127.0.0.1\r\nVia: 1.1 proxy'],
  ] as const;

  it.each(foreign)('gets %i before its body is read, the right key or not: %j', async (status, headers) => {
    const { port, fake } = await startWorld(SILENT_API);
    for (const request of ['POST /token', 'GET /ping', 'POST /whoami', 'OPTIONS /api/acme/customer-insights/x']) {
      const head = `${request} HTTP/1.1\r\n${headers}\r\nX-Token-Broker-Key: ${KEY}\r\nContent-Length: 100\r\n\r\n`;
      expect(await beginningOf(port, head)).toMatch(`HTTP/1.1 ${status} `);
    }
    expect(fake.requests).toEqual([]);
  });

  it.each(['127.0.0.1', 'localhost:2775', '[::1]', '127.9.9.9:1'])('is none when it asks for %s', async (host) => {
    const { port } = await startWorld();
    expect(await beginningOf(port, `GET /ping HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toMatch('HTTP/1.1 200 OK');
  });
});

const openFiles = Number(Object(process.report.getReport()).userLimits?.open_files?.soft);
const tooFew = openFiles < 3_000 ? ` (skipped: ${openFiles} files may be open)` : '';

it.skipIf(tooFew !== '')(`closes the connection after a thousand without an answer${tooFew}`, async () => {
  const { port, ask } = await startWorld();
  // Connections that have got an answer stay open for a minute, and silent connections for two seconds.
  await Promise.all(Array.from({ length: 1_000 }, () => reusable(port)));
  await expect(ask({ path: '/ping', method: 'GET' })).rejects.toThrow(/ECONNRESET|socket hang up/);
});

it('ends within seconds a connection whose request does not arrive, in its head or in its body', async () => {
  const { port } = await startWorld();
  const begun = performance.now();
  const body = `POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM}\r\nContent-Length: 100\r\n\r\nclient`;
  const sockets = ['', 'POST /token HTTP/1.1\r\nHost: loc', body].map((sent) => {
    const socket = connect(port, '127.0.0.1')
      .on('error', () => undefined)
      .resume();
    onTestFinished(() => void socket.destroy());
    socket.write(sent);
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, 'close')));
  expect(performance.now() - begun).toBeLessThan(8_000);
}, 20_000);

describe('the end', () => {
  it('answers a request on a connection that was idle, and closes this and all that stay idle', async () => {
    const { close, port } = await startWorld();
    const [idle, ...sockets] = await Promise.all(Array.from({ length: 11 }, () => reusable(port)));
    const ended = idle && once(idle.socket, 'end');
    const closed = close(60_000);
    const answers = await Promise.all(sockets.map(({ ask }) => ask()));
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n(.*\r\n)*connection: close\r\n/i);
    await Promise.all([closed, ended]);
  });

  it('does not wait for ever', async () => {
    const asked = Promise.withResolvers<void>();
    const token = () => {
      asked.resolve();
      return new Promise<never>(() => undefined);
    };
    const { ask, close } = await startWorld({ broker: { token } });
    const waiting = expect(ask({ form: PAIR })).rejects.toThrow('socket hang up');
    await asked.promise;
    await close(0);
    await waiting;
  });
});

type Asked = Partial<RequestToSend> & { readonly path?: string; readonly form?: Readonly<Record<string, string>> };

/** A server in front of a broker in memory, and a caller with the key of this test. */
async function startWorld(serving: Parameters<typeof startServing>[0] = {}) {
  const world = await startServing({ key: KEY, ...serving });
  const ask = async ({ path = '/token', form = {}, ...request }: Asked) => {
    const headers = { 'x-token-broker-key': KEY, 'content-type': FORM };
    const body = `${new URLSearchParams(form)}`;
    const answer = await send({ method: 'POST', url: world.url + path, headers, body, ...request });
    return { ...answer, json: JSON.parse(answer.body) };
  };
  return { ...world, ask };
}

/** A connection that has got an answer, and stays open for the next request. */
async function reusable(port: number) {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const ask = async () => {
    socket.write('GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [answer] = await once(socket, 'data');
    return `${answer}`;
  };
  expect(await ask()).not.toMatch(/connection: close/i);
  return { socket, ask };
}
