import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type AnsweredRequest,
  type FunctionUrl,
  type FunctionUrlSettings,
  startFunctionUrl,
} from '../../../bin/local/function-url/server.ts';
import { send } from '../../support/requests.ts';
import { sign } from '../../support/signers.ts';

const CALLER = {
  role: 'arn:aws:iam::111111111111:role/billing',
  accessKeyId: 'AKIDBILLING',
  secretAccessKey: 'billing-secret',
};
const DATE = new Date('2026-11-21T06:16:00Z');
const MAX_PAYLOAD_BYTES = 6_291_456;

const open: FunctionUrl[] = [];
afterEach(() => Promise.all(open.splice(0).map((functionUrl) => functionUrl.close())));

describe('a result of the function', () => {
  it.each([
    ['a full answer', { statusCode: 201, headers: { 'Content-Type': 'text/a' }, body: 'b' }, 201, 'text/a', 'b'],
    ['an answer without headers', { statusCode: 403, body: '{}' }, 403, 'application/json', '{}'],
    ['an answer without a body', { statusCode: 400 }, 400, 'application/json', ''],
    ['a body that is null', { statusCode: 400, body: null }, 400, 'application/json', ''],
    ['a body in base64', { statusCode: 200, body: 'w6k=', isBase64Encoded: true }, 200, 'application/json', 'é'],
    ['an object of its own', { client: 'acme' }, 200, 'application/json', '{"client":"acme"}'],
    ['an array', [1], 200, 'application/json', '[1]'],
    ['a text', 'plain', 200, 'application/json', 'plain'],
    ['nothing', undefined, 200, 'application/json', 'null'],
  ])('becomes HTTP: %s', async (_what, result, status, contentType, body) => {
    const answer = await call(await start({ handler: async () => result }));
    expect(answer).toMatchObject({ status, body, headers: { 'content-type': contentType } });
  });

  it('sets every cookie, and cannot write the headers of the connection', async () => {
    const headers = { 'Content-Length': '99', Connection: 'close', 'WWW-Authenticate': 'Basic' };
    const answer = await call(
      await start({ handler: async () => ({ statusCode: 200, headers, cookies: ['a=1', 'b=2; Secure'], body: 'x' }) }),
    );
    expect(answer).toMatchObject({ status: 200, body: 'x' });
    expect(answer.headers).toMatchObject({
      'set-cookie': ['a=1', 'b=2; Secure'],
      'content-length': '1',
      'x-amzn-remapped-content-length': '99',
      'x-amzn-remapped-connection': 'close',
      'x-amzn-remapped-www-authenticate': 'Basic',
    });
    expect(answer.headers).not.toHaveProperty('www-authenticate');
  });

  it.each<[string, FunctionUrlSettings['handler']]>([
    ['an error', () => Promise.reject(new Error('quite secret'))],
    ['no result in time', () => new Promise(() => {})],
    ['a status that does not exist', async () => ({ statusCode: 99 })],
    ['a status that is no number', async () => ({ statusCode: 'ok' })],
    ['a header that cannot be sent', async () => ({ statusCode: 200, headers: { 'x-a': 'b\r\nc: d' } })],
    ['a header whose name cannot be sent', async () => ({ statusCode: 200, headers: { 'x a': 'b' } })],
    ['headers that are a list', async () => ({ statusCode: 200, headers: ['x-a: b'] })],
    ['a result that is not JSON', async () => 1n],
    ['more than 6 MB', async () => 'x'.repeat(MAX_PAYLOAD_BYTES)],
  ])('that is %s becomes an opaque 502', async (_what, handler) => {
    const answered: AnsweredRequest[] = [];
    const functionUrl = await start({ handler, timeoutMs: 20, onAnswer: (answer) => answered.push(answer) });
    expect(await call(functionUrl)).toMatchObject({ status: 502, body: 'Internal Server Error' });
    expect(answered).toEqual([
      { requestId: expect.any(String), method: 'POST', path: '/path', status: 502, failure: expect.any(Error) },
    ]);
  });
});

describe('the function', () => {
  it('is told its request id and its deadline', async () => {
    const found: unknown[] = [];
    const handler: FunctionUrlSettings['handler'] = async ({ requestContext }, context) => {
      found.push(requestContext.requestId, context.awsRequestId, context.getRemainingTimeInMillis());
    };
    const { headers } = await call(await start({ handler, timeoutMs: 9_000, region: 'us-east-1' }));
    const requestId = headers['x-amzn-requestid'];
    expect(found).toEqual([requestId, requestId, expect.toSatisfy((ms) => ms > 0 && ms <= 9_000)]);
  });

  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])('gets a %s', async (method) => {
    const functionUrl = await start({ handler: async ({ requestContext }) => requestContext.http.method });
    const answer = await call(functionUrl, { method, body: '' });
    expect(answer).toMatchObject({ status: 200, body: method === 'HEAD' ? '' : method });
  });
});

describe('Lambda throttles', () => {
  const THROTTLED = {
    status: 429,
    headers: { 'x-amzn-errortype': 'TooManyRequestsException' },
    body: '{"Reason":"ReservedFunctionConcurrentInvocationLimitExceeded","Type":"User","message":"Rate Exceeded."}',
  };

  it('every request while throttling is on, or as many as it is told', async () => {
    const functionUrl = await start();
    functionUrl.throttle(true);
    expect([await call(functionUrl), await call(functionUrl)]).toMatchObject([THROTTLED, THROTTLED]);
    functionUrl.throttle(false);
    expect(await call(functionUrl)).toMatchObject({ status: 200 });
    functionUrl.throttle(1);
    expect([await call(functionUrl), await call(functionUrl)]).toMatchObject([THROTTLED, { status: 200 }]);
  });
});

describe('a body of about 6 MB', () => {
  it.each([
    ['too many bytes', MAX_PAYLOAD_BYTES + 1, 413],
    ['far too many bytes', MAX_PAYLOAD_BYTES * 1.25, 413],
    ['bytes that are too many in base64', MAX_PAYLOAD_BYTES * 0.75, 413],
    ['bytes that are just few enough in base64', MAX_PAYLOAD_BYTES * 0.75 - 3_000, 200],
  ])('is refused by its size as an event: %s', async (_what, bytes, status) => {
    const answer = await call(await start({ handler: async () => 'ok' }), { body: new Uint8Array(bytes) });
    expect(answer.status).toBe(status);
    expect(answer.body).toBe(
      status === 200
        ? 'ok'
        : '{"message":"Request must be smaller than 6291456 bytes for the InvokeFunction operation"}',
    );
  });
});

describe('the server behind the Function URL', () => {
  it('says which port is taken and what to do', async () => {
    const { port } = new URL((await start()).url);
    await expect(start({ port: Number(port) })).rejects.toThrow(`port ${port} is in use; set PORT to another one`);
  });

  it.skipIf(process.platform !== 'linux')('listens on 127.0.0.1 alone (skipped elsewhere than on Linux)', async () => {
    const { port } = new URL((await start()).url);
    await expect(ask(`http://127.0.0.2:${port}`)).rejects.toThrow('ECONNREFUSED');
  });

  it('does not start for a caller that is no role', async () => {
    const role = 'arn:aws:iam::111111111111:user/billing';
    await expect(start({ callers: [{ ...CALLER, role }] })).rejects.toThrow(`not the ARN of a role: ${role}`);
  });

  it('survives a client that hangs up half-way', async () => {
    const functionUrl = await start();
    const socket = connect(Number(new URL(functionUrl.url).port), '127.0.0.1');
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.end('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf');
    socket.resume();
    await ended;
    expect(await ask(functionUrl.url)).toMatchObject({ status: 403 });
  });
});

async function start(settings: Partial<FunctionUrlSettings> = {}): Promise<FunctionUrl> {
  const functionUrl = await startFunctionUrl({
    handler: async () => 'ok',
    callers: [CALLER],
    port: 0,
    now: () => DATE.getTime(),
    ...settings,
  });
  open.push(functionUrl);
  return functionUrl;
}

async function call({ url }: FunctionUrl, given: { method?: string; body?: string | Uint8Array } = {}) {
  const request = { method: 'POST', url: `${url}/path?query`, headers: {}, body: '{}', ...given };
  return send({ ...request, headers: await sign('aws4fetch', request, CALLER, DATE) });
}

/** Unsigned: a 403 shows just as well that the server answers. */
function ask(url: string) {
  return send({ method: 'GET', url, headers: {}, body: '' });
}
