import dns from 'node:dns';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createHttpsSender } from '../../../../functions/aws/https/sender.ts';
import type { SendHttp } from '../../../../functions/broker/token-request/send-http.ts';
import { bomb, http } from '../../../attacks/hostile-answers.ts';
import { startRawServer } from '../../../support/services/raw-server.ts';
import { exampleRequest, LIMITS, outcomeOf, post, stopTime } from './https-sending.ts';

const INTERIM = 'HTTP/1.1 103 X\r\n\r\n';
const CHUNKED_HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n';

type Limits = Partial<Parameters<SendHttp>[1]>;

/** The result of one request to a server that writes these bytes, and then falls silent or ends the connection. */
async function receive(bytes: string, { end = false, ...limits }: Limits & { end?: boolean } = {}) {
  const server = await startRawServer({ onRequest: (socket) => socket[end ? 'end' : 'write'](bytes, 'latin1') });
  return post(createHttpsSender(), server, limits);
}

it('sends the request as it was built', async () => {
  const server = await startRawServer({ onRequest: (socket) => socket.write(http(200, '')) });
  const url = `http://127.0.0.1:${server.port}/auth/v1/token?scope=a%20b`;
  const request = exampleRequest(url, { body: 'grant_type=x' });

  await outcomeOf(createHttpsSender(), { ...request, headers: { ...request.headers, 'content-length': '12' } });

  expect(server.requests).toEqual([
    'POST /auth/v1/token?scope=a%20b HTTP/1.1\r\nauthorization: Basic aHVudGVyMg==\r\ncontent-length: 12\r\n' +
      `Host: 127.0.0.1:${server.port}\r\nConnection: close\r\n\r\ngrant_type=x`,
  ]);
});

it('returns the answer unread: lower-case names, repeated headers joined, the bytes of the body', async () => {
  const head = 'HTTP/1.1 200 OK\r\nRetry-After: 1\r\nretry-after: 2\r\nX-Token: a\r\nContent-Length: 3\r\n\r\n';
  const server = await startRawServer({ onRequest: (socket) => socket.write(`${head}\x00\xff\xfe`, 'latin1') });
  const request = exampleRequest(`http://127.0.0.1:${server.port}/`);

  const response = await createHttpsSender()(request, { timeoutMs: 5_000, maxBodyBytes: 3 });

  expect(response.status).toBe(200);
  expect(response.headers).toEqual({ 'retry-after': '1, 2', 'x-token': 'a', 'content-length': '3' });
  expect([...response.body]).toEqual([0x00, 0xff, 0xfe]);
});

it.each([
  ['chunks', `${CHUNKED_HEAD}\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n`, false],
  ['an answer that the end of the connection ends', 'HTTP/1.0 200 OK\r\n\r\nabc', true],
  ['an answer before the connection is half-closed', http(200, 'abc'), true],
  ['an answer after as many interim ones as are read', INTERIM.repeat(16) + http(200, 'abc'), false],
  ['an identity encoding', http(200, 'abc', 'content-encoding: Identity'), false],
])('reads %s', async (_what, bytes, end) => {
  expect(await receive(bytes, { end })).toEqual({ status: 200, text: 'abc' });
});

// @see epam/ai-dial-core#1496, modelcontextprotocol/typescript-sdk#2408, thephpleague/oauth2-client#131
describe('a compressed body that was not asked for', () => {
  const TEXT = 'a token'.repeat(20);
  const encoded = (encoding: string, body: Buffer, status = 200) =>
    receive(http(status, body.toString('latin1'), encoding === '' ? 'x: y' : `content-encoding: ${encoding}`));

  it.each([
    ['gzip', gzipSync(TEXT)],
    ['X-GZIP', gzipSync(TEXT)],
    ['deflate', deflateSync(TEXT)],
    ['deflate', deflateRawSync(TEXT)],
    ['br', brotliCompressSync(TEXT)],
    ['deflate, gzip', gzipSync(deflateSync(TEXT))],
    ['gzip, br', brotliCompressSync(gzipSync(TEXT))],
    // @see urllib3/urllib3#5189
    ['gzip, identity', gzipSync(TEXT)],
    ['', gzipSync(TEXT)],
    // @see http4s/http4s#1167, nodejs/undici#2126
    ['gzip', gzipSync(TEXT).subarray(0, -8)],
    ['deflate', deflateSync(TEXT).subarray(0, -4)],
    // @see tokers/zstd-nginx-module#15
    ['zstd', zstdCompressSync(TEXT)],
    ['gzip', Buffer.from(TEXT)],
    ['br', Buffer.from(TEXT)],
    ['UTF-8', Buffer.from(TEXT)],
  ])('is inflated: %j (%#)', async (encoding, body) => {
    expect(await encoded(encoding, body, 400)).toEqual({ status: 400, text: TEXT });
  });

  it('has the limit of a body that is not compressed', async () => {
    const limits = (maxBodyBytes: number) => ({ maxBodyBytes });
    const bytes = (packed: Buffer, encoding: string) =>
      http(200, packed.toString('latin1'), `content-encoding: ${encoding}`);
    const full = 'x'.repeat(100);
    for (const [encoding, packed] of [
      ['gzip', gzipSync(full)],
      ['deflate', deflateSync(full)],
      ['deflate', deflateRawSync(full)],
      ['br', brotliCompressSync(full)],
      ['zstd', zstdCompressSync(full)],
    ] as const) {
      expect(await receive(bytes(packed, encoding), limits(100))).toEqual({ status: 200, text: full });
      expect(await receive(bytes(packed, encoding), limits(99))).toMatchObject({ kind: 'too-large' });
    }
  });

  it('is left as it is with a wrong checksum, or with a window of 16 MB (RFC 9659)', async () => {
    const wrong = Buffer.concat([gzipSync(TEXT).subarray(0, -8), Buffer.alloc(8)]);
    const wide = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x70, 0x29, 0, 0, ...Buffer.from('hello')]);
    expect(await encoded('gzip', wrong)).toEqual({ status: 200, text: wrong.toString() });
    expect(await encoded('zstd', wide)).toEqual({ status: 200, text: wide.toString() });
  });
});

it.each([
  ['a length', http(200, 'abcd')],
  ['chunks', `${CHUNKED_HEAD}\r\n4\r\nabcd\r\n0\r\n\r\n`],
])('takes a body of the limit and refuses one byte more, declared by %s', async (_what, bytes) => {
  expect(await receive(bytes, { maxBodyBytes: 4 })).toEqual({ status: 200, text: 'abcd' });
  const refused = { kind: 'too-large', code: 'BODY_TOO_LARGE', status: 200 };
  expect(await receive(bytes, { maxBodyBytes: 3 })).toEqual(refused);
});

it.each([
  ['before it begins', '', undefined],
  ['after the headers', 'HTTP/1.1 401 X\r\ncontent-length: 9\r\n\r\n', 401],
  ['before the last chunk', `${CHUNKED_HEAD}\r\n3\r\nabc\r\n`, 200],
  ['for another protocol', 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n', undefined],
])('calls an answer that breaks off %s broken', async (_what, bytes, status) => {
  expect(await receive(bytes, { end: true })).toEqual({ kind: 'broken', code: 'ECONNRESET', status });
});

it.each<[string, string, string, string, number?]>([
  ['headers beyond 16 KiB', http(200, 'abc', `x: ${'y'.repeat(17_000)}`), 'too-large', 'HPE_HEADER_OVERFLOW'],
  ['17 interim answers', INTERIM.repeat(17) + http(200, 'abc'), 'too-large', 'TOO_MANY_INTERIM_ANSWERS'],
  ['a bomb', http(401, bomb(1_000_000), 'content-encoding: GZIP'), 'too-large', 'BODY_TOO_LARGE', 401],
  ['a bomb without a header of it', http(200, bomb(1_000_000)), 'too-large', 'BODY_TOO_LARGE', 200],
  ['another protocol', '220 mail.example.com ESMTP\r\n', 'malformed', 'HPE_INVALID_CONSTANT'],
])('refuses %s', async (_what, bytes, kind, code, status) => {
  expect(await receive(bytes)).toEqual({ kind, code, status });
});

describe('the deadline', () => {
  it.each([
    ['says nothing', '', undefined],
    ['stops in the body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc', 200],
  ])('ends the wait for a server that %s, and the connection too', async (_what, bytes, status) => {
    const closed = Promise.withResolvers<void>();
    const time = stopTime();
    const server = await startRawServer({
      onRequest: (socket) => {
        socket.on('close', () => closed.resolve()).write(bytes);
        time.pass(1_000);
      },
    });

    const outcome = await post(createHttpsSender(), server, { timeoutMs: 1_000 });

    expect(outcome).toEqual({ kind: 'timeout', code: 'ETIMEDOUT', status });
    await closed.promise;
  });

  it('can be brought forward by a signal, before and after the request is sent', async () => {
    const abort = new AbortController();
    const server = await startRawServer({ onRequest: () => abort.abort() });
    const ask = () => post(createHttpsSender(), server, { timeoutMs: 1_000_000, signal: abort.signal });

    expect(await ask()).toMatchObject({ kind: 'timeout', code: 'ETIMEDOUT' });
    expect(await ask()).toMatchObject({ kind: 'connect', code: 'ETIMEDOUT' });
    expect(server.connections()).toBe(1);
  });

  it('leaves no timer and no listener behind', async () => {
    stopTime();
    const { signal } = new AbortController();
    const [added, removed] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')];

    await receive(http(200, 'abc'), { signal });
    await receive('', { end: true, signal });

    expect(vi.getTimerCount()).toBe(0);
    expect(added).toHaveBeenCalledTimes(2);
    expect(removed.mock.calls).toEqual(expect.arrayContaining(added.mock.calls));
  });
});

it.each(['http://auth.example.com/', 'http://127.0.0.1.example.com/', 'http://10.0.0.1/', 'ftp://127.0.0.1/'])(
  'sends nothing to %s',
  async (url) => {
    await expect(outcomeOf(createHttpsSender(), exampleRequest(url))).rejects.toThrow('over https');
  },
);

it.each([
  ['ENOTFOUND', 'connect'],
  ['EAI_AGAIN', 'connect'],
  ['ECONNREFUSED', 'connect'],
  ['ERR_SOCKET_CONNECTION_TIMEOUT', 'connect'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
  ['ERROR_IN_CERT_NOT_AFTER_FIELD', 'tls'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
  ['EPROTO', 'tls'],
])('calls %s before a connection is ready "%s", and keeps nothing of the error but its code', async (code, kind) => {
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation((...given: unknown[]) => {
    const answer = given.at(-1) as (error: Error) => void;
    process.nextTick(answer, Object.assign(new Error('hunter2'), { code, input: 'hunter2' }));
  });
  onTestFinished(() => lookup.mockRestore());

  const request = exampleRequest('https://auth.example.com/');
  const failure = await createHttpsSender()(request, LIMITS).catch((error) => error);

  expect(failure).toMatchObject({ kind, code });
  expect(failure.cause).toBeUndefined();
  expect(`${failure.stack}${JSON.stringify(failure)}`).not.toContain('hunter2');
});
