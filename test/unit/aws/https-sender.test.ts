import { describe, expect, it } from 'vitest';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import type { SendLimits } from '../../../functions/broker/token-request/send.ts';
import { answer, exampleRequest, outcomeOf, serve } from './https-sending.ts';

/** What comes of one request to a server that writes these bytes, and then does nothing or ends the connection. */
async function receive(bytes: string, { end = false, ...limits }: Partial<SendLimits> & { end?: boolean } = {}) {
  const server = await serve({
    onRequest: (socket) => (end ? socket.end(bytes, 'latin1') : socket.write(bytes, 'latin1')),
  });
  return outcomeOf(createHttpsSender(), exampleRequest(`http://127.0.0.1:${server.port}/token`), limits);
}

it('sends the request as it was built', async () => {
  const server = await serve({ onRequest: (socket) => socket.write(answer(200, '')) });
  const url = `http://127.0.0.1:${server.port}/auth/v1/token?scope=a%20b`;
  const request = exampleRequest(url, { body: 'grant_type=x' });

  await outcomeOf(createHttpsSender(), { ...request, headers: { ...request.headers, 'content-length': '12' } });

  expect(server.requests).toEqual([
    'POST /auth/v1/token?scope=a%20b HTTP/1.1\r\nauthorization: Basic aHVudGVyMg==\r\ncontent-length: 12\r\n' +
      `Host: 127.0.0.1:${server.port}\r\nConnection: keep-alive\r\n\r\ngrant_type=x`,
  ]);
});

it('gives the answer unread: lower-case names, repeated headers joined, the bytes of the body', async () => {
  const head = 'HTTP/1.1 200 OK\r\nRetry-After: 1\r\nretry-after: 2\r\nX-Token: a\r\nContent-Length: 3\r\n\r\n';
  const server = await serve({ onRequest: (socket) => socket.write(`${head}\x00\xff\xfe`, 'latin1') });

  const response = await createHttpsSender()(exampleRequest(`http://127.0.0.1:${server.port}/`), {
    timeoutMs: 5_000,
    maxBodyBytes: 3,
  });

  expect(response.status).toBe(200);
  expect(response.headers).toEqual({ 'retry-after': '1, 2', 'x-token': 'a', 'content-length': '3' });
  expect([...response.body]).toEqual([0x00, 0xff, 0xfe]);
});

it('does not follow a redirect', async () => {
  const server = await serve({ onRequest: (socket) => socket.write(answer(302, '', 'location: /elsewhere\r\n')) });

  const outcome = await outcomeOf(createHttpsSender(), exampleRequest(`http://127.0.0.1:${server.port}/`));

  expect(outcome).toEqual({ status: 302, text: '' });
  expect(server.requests).toHaveLength(1);
});

it.each([
  ['chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n', false],
  ['an answer that the end of the connection ends', 'HTTP/1.1 200 OK\r\n\r\nabc', true],
  ['an answer of HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nabc', true],
  ['an answer before the connection is half-closed', answer(200, 'abc'), true],
  ['an answer after interim ones', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\n\r\n${answer(200, 'abc')}`, false],
  ['an identity encoding', answer(200, 'abc', 'content-encoding: Identity\r\n'), false],
])('reads %s', async (_what, bytes, end) => {
  expect(await receive(bytes, { end })).toEqual({ status: 200, text: 'abc' });
});

it('reads an answer that came before the request was sent', async () => {
  const server = await serve({ onConnection: (socket) => socket.end(answer(401, 'no')) });

  const outcome = await outcomeOf(createHttpsSender(), exampleRequest(`http://127.0.0.1:${server.port}/`));

  expect(outcome).toEqual({ status: 401, text: 'no' });
});

describe('size', () => {
  it.each([
    ['a length', answer(200, 'abcd')],
    ['chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n'],
  ])('takes a body of the limit and refuses one byte more, told by %s', async (_what, bytes) => {
    expect(await receive(bytes, { maxBodyBytes: 4 })).toEqual({ status: 200, text: 'abcd' });
    expect(await receive(bytes, { maxBodyBytes: 3 })).toEqual({
      kind: 'too-large',
      code: 'BODY_TOO_LARGE',
      status: 200,
    });
  });

  it('refuses headers beyond 16 KiB', async () => {
    const bytes = answer(200, 'abc', `x: ${'y'.repeat(17_000)}\r\n`);

    expect(await receive(bytes)).toMatchObject({ kind: 'too-large', code: 'HPE_HEADER_OVERFLOW' });
  });
});

it.each(['gzip', 'br', 'GZIP', 'identity, gzip', 'nonsense'])('refuses the content encoding "%s"', async (encoding) => {
  const bytes = answer(401, 'abc', `content-encoding: ${encoding}\r\n`);

  expect(await receive(bytes)).toEqual({ kind: 'encoded', code: 'CONTENT_ENCODING', status: 401 });
});

describe('an answer that breaks off', () => {
  it.each([
    ['before it begins', '', undefined],
    ['in the headers', 'HTTP/1.1 200 OK\r\nx: y', undefined],
    ['after the headers', 'HTTP/1.1 401 X\r\ncontent-length: 9\r\n\r\n', 401],
    ['in a body with a length', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc', 200],
    ['in a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nabc', 200],
    ['before the last chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n', 200],
  ])('%s is broken', async (_what, bytes, status) => {
    expect(await receive(bytes, { end: true })).toEqual({ kind: 'broken', code: 'ECONNRESET', status });
  });

  it('is broken too when the connection is reset', async () => {
    const server = await serve({ onRequest: (socket) => socket.resetAndDestroy() });

    const outcome = await outcomeOf(createHttpsSender(), exampleRequest(`http://127.0.0.1:${server.port}/`));

    expect(outcome).toEqual({ kind: 'broken', code: 'ECONNRESET', status: undefined });
    expect(server.requests).toHaveLength(1);
  });

  it('is broken when the server wants another protocol', async () => {
    const bytes = 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n';

    expect(await receive(bytes)).toMatchObject({ kind: 'broken' });
  });
});

it.each([
  ['another protocol', '220 mail.example.com ESMTP\r\n'],
  ['garbage in the headers', 'HTTP/1.1 200 OK\r\n\x00: y\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd'],
  ['a length and chunks', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
])('calls %s malformed', async (_what, bytes) => {
  expect(await receive(bytes)).toMatchObject({ kind: 'malformed', code: expect.stringMatching(/^HPE_/) });
});

describe('the deadline', () => {
  /** Enough for a busy machine to bring what is sent at once. */
  const TIMEOUT_MS = 1_000;

  it.each([
    ['says nothing', '', undefined],
    ['stops in the headers', 'HTTP/1.1 200 OK\r\nx: y', undefined],
    ['stops after the headers', 'HTTP/1.1 401 X\r\ncontent-length: 9\r\n\r\n', 401],
    ['stops in the body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc', 200],
  ])('ends the wait for a server that %s', async (_what, bytes, status) => {
    expect(await receive(bytes, { timeoutMs: TIMEOUT_MS })).toEqual({ kind: 'timeout', code: 'ETIMEDOUT', status });
  });

  it('is not extended by an answer that drips in', async () => {
    const server = await serve({
      onRequest(socket) {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n');
        const drip = setInterval(() => socket.write('x'), 5);
        socket.on('close', () => clearInterval(drip));
      },
    });

    const outcome = await outcomeOf(createHttpsSender(), exampleRequest(`http://127.0.0.1:${server.port}/`), {
      timeoutMs: TIMEOUT_MS,
    });

    expect(outcome).toEqual({ kind: 'timeout', code: 'ETIMEDOUT', status: 200 });
  });

  it('ends the connection too', async () => {
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const server = await serve({ onConnection: (socket) => socket.on('close', () => close()) });

    await outcomeOf(createHttpsSender(), exampleRequest(`http://127.0.0.1:${server.port}/`), {
      timeoutMs: TIMEOUT_MS,
    });

    await closed;
  });

  it('can be brought forward by a signal, before and after the request is sent', async () => {
    const abort = new AbortController();
    const server = await serve({ onRequest: () => abort.abort() });
    const ask = () => {
      const limits = { timeoutMs: 1_000_000, maxBodyBytes: 1, signal: abort.signal };
      return createHttpsSender()(exampleRequest(`http://127.0.0.1:${server.port}/`), limits);
    };

    await expect(ask()).rejects.toMatchObject({ kind: 'timeout', code: 'ETIMEDOUT' });
    await expect(ask()).rejects.toMatchObject({ kind: 'connect', code: 'ETIMEDOUT' });
    expect(server.connections()).toBe(1);
  });

  it('leaves no timer behind', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();

    await receive(answer(200, 'abc'), { timeoutMs: 1_000_000 });
    await receive('', { end: true, timeoutMs: 1_000_000 });

    expect(timers()).toBeLessThanOrEqual(before);
  });
});

describe('what never leaves', () => {
  it('refuses a header that could end early, without showing it', async () => {
    const server = await serve({});
    const request = exampleRequest(`http://127.0.0.1:${server.port}/`, { headers: { 'x-key': 'hunter2\r\nx: y' } });

    const error = await outcomeOf(createHttpsSender(), request).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'ERR_INVALID_CHAR' });
    expect(JSON.stringify([String(error), error])).not.toContain('hunter2');
    expect(server.connections()).toBe(0);
  });

  it.each(['http://auth.example.com/', 'http://127.0.0.1.example.com/', 'http://10.0.0.1/', 'ftp://127.0.0.1/'])(
    'sends nothing to %s',
    async (url) => {
      await expect(outcomeOf(createHttpsSender(), exampleRequest(url))).rejects.toThrow('over https');
    },
  );
});

it('calls a refused connection "connect"', async () => {
  const server = await serve({});
  await server.close();

  const outcome = await outcomeOf(createHttpsSender(), exampleRequest(`http://127.0.0.1:${server.port}/`));

  expect(outcome).toEqual({ kind: 'connect', code: 'ECONNREFUSED', status: undefined });
});
