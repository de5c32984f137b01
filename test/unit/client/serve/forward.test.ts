import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type RequestToSend, send } from '../../../support/requests.ts';
import { PAIR, stopTimers, turns } from '../client-world.ts';
import { beginningOf, KEY, PREFIX, startForwarding } from './forward-world.ts';

const BEARER = { authorization: `Bearer ${KEY}` };

type World = Awaited<ReturnType<typeof startForwarding>>;
type Asked = Partial<RequestToSend> & { readonly path?: string };

/** Calls the API through the server, with the key as a bearer token. */
function call({ url }: World, { path = '/reports', method = 'GET', headers = BEARER, body = '' }: Asked = {}) {
  return send({ method, url: url + PREFIX + path, headers, body });
}

describe('a call', () => {
  it('reaches the API with its method, path, query, headers and body, and the token in place of the key', async () => {
    const world = await startForwarding({ base: '/v1' });
    const headers = { ...BEARER, 'X-One': '1', 'Content-Type': 'text/plain', 'x-many': ['a', 'b'], cookie: 'c=1' };
    const answer = await call(world, { method: 'PATCH', path: '/a%2Fb?q=%C3%A9', headers, body: 'hello' });
    expect(answer).toMatchObject({ status: 200, body: 'hello' });
    const { host } = new URL(world.apiUrl);
    expect(world.received).toMatchObject([{ method: 'PATCH', url: '/v1/a%2Fb?q=%C3%A9' }]);
    expect(world.received[0]?.headers).toEqual({
      ...{ host, 'x-one': '1', 'content-type': 'text/plain', 'x-many': 'a, b', cookie: 'c=1', 'content-length': '5' },
      ...{ 'accept-encoding': 'identity', authorization: 'Bearer fake-token-1', connection: 'keep-alive' },
    });
    // The log has neither the path nor a header or the body.
    expect(world.calls).toEqual([{ ...PAIR, method: 'PATCH', status: 200, ms: expect.any(Number) }]);
    // A hand-made server may know the names in their usual capitals alone.
    expect(world.received[0]?.rawHeaders).toEqual(expect.arrayContaining(['Host', 'X-One', 'Authorization']));
  });

  it.each([
    ['the path', `/${KEY}/x`, ''],
    ['the query', `/x?key=${KEY}`, ''],
    ['an escaped query', `/x?key=%61${KEY.slice(1)}`, ''],
    ['a body', '/x', `grant_type=client_credentials&client_secret=${KEY}`],
  ])('with the key in %s is refused, because it would leave this machine', async (_, path, body) => {
    const world = await startForwarding();
    expect(await call(world, { method: 'POST', path, body })).toMatchObject({ status: 400 });
    expect(world.received).toEqual([]);
  });

  it.each([
    // @see golang/go#46313
    ['a second Connection', ['Connection', '', 'Connection', 'X-Secret, authorization', 'X-Secret', '1']],
    ['Connection names the length', ['Connection', 'content-length, X-Secret', 'X-Secret', '1']],
    ['TE, Trailer and Keep-Alive', ['TE', 'trailers', 'Trailer', 'X-Secret', 'Keep-Alive', 'timeout=5']],
    ['for a proxy', ['Proxy-Authorization', 'Basic YTpi', 'Proxy-Connection', 'keep-alive']],
    // @see dapr/dapr#9758, and the first request of Java's HttpClient
    ['the offer of h2c', ['Connection', 'Upgrade, HTTP2-Settings', 'Upgrade', 'h2c', 'HTTP2-Settings', 'AAEAAEAA']],
  ])('loses the headers of its connection: %s', async (_, headers) => {
    const world = await startForwarding();
    const answer = await sendHello(world.port, 'POST', headers);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n.*hello/s);
    expect(world.received[0]?.headers).toEqual({
      ...{ host: new URL(world.apiUrl).host, 'accept-encoding': 'identity', authorization: 'Bearer fake-token-1' },
      ...{ 'content-length': '5', connection: 'keep-alive' },
    });
  });

  it.each([
    ['TRACE', [], 501],
    ['GET', ['Connection', 'Upgrade', 'Upgrade', 'websocket'], 501],
    ['GET', ['Connection', 'Upgrade', 'Upgrade', 'h2c, WebSocket'], 501],
    ['POST', ['Transfer-Encoding', 'gzip, chunked'], 501],
    ['GET', ['Content-Length', '5'], 400],
    ['HEAD', ['Content-Length', '5'], 400],
    ['GET', ['Transfer-Encoding', 'chunked'], 400],
    // Two framings are how requests are smuggled (RFC 9112 §11.2).
    ['POST', ['Content-Length', '5', 'Transfer-Encoding', 'chunked'], 400],
    ['POST', ['Content-Length', '5', 'Content-Length', '6'], 400],
    ['POST', ['Content-Length', '+5'], 400],
    ['POST', ['Transfer-Encoding', ' xchunked'], 400],
    ['POST', ['Expect', 'the-unexpected', 'Content-Length', '5'], 417],
    ['CONNECT', [], undefined],
  ])('%s with %j is answered with %s, and nothing is sent', async (method, headers, status) => {
    const world = await startForwarding();
    expect(await beginningOf(world.port, headOf(method, headers))).toMatch(status ? `HTTP/1.1 ${status} ` : /^$/);
    expect([world.received, world.fake.requests]).toEqual([[], []]);
  });

  it('expects 100-continue, which this server answers', async () => {
    const world = await startForwarding();
    const answer = await sendHello(world.port, 'PUT', ['Expect', '100-continue']);
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    expect(world.received[0]?.headers).not.toHaveProperty('expect');
  });

  it.each([
    ['GET', ['Content-Length', '0'], undefined],
    ['DELETE', [], undefined],
    ['POST', [], '0'],
    ['QUERY', [], '0'],
  ])('%s without a body, with %j, has the length %s', async (method, headers, length) => {
    const world = await startForwarding();
    expect(await beginningOf(world.port, headOf(method, headers))).toMatch('HTTP/1.1 200 ');
    const { 'content-length': sent, 'transfer-encoding': coding } = world.received[0]?.headers ?? {};
    expect([sent, coding]).toEqual([length, undefined]);
  });
});

describe('an answer', () => {
  it('comes back with its status, its headers and each cookie, without those of the connection: a redirect, too', async () => {
    const headers = ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Connection', 'X-Hop', 'X-Hop', '1', 'ETag', '"x"'];
    const more = ['Proxy-Authenticate', 'Basic', 'Content-Encoding', 'gzip', 'Location', 'https://example.org/'];
    const world = await startForwarding({
      api: (_, response) => void response.writeHead(302, [...headers, ...more]).end('not gzip'),
    });
    const answer = await call(world);
    expect(answer).toMatchObject({ status: 302, body: 'not gzip', headers: { location: 'https://example.org/' } });
    expect(answer.headers).toMatchObject({ 'set-cookie': ['a=1', 'b=2'], etag: '"x"', 'content-encoding': 'gzip' });
    for (const name of ['x-hop', 'proxy-authenticate']) expect(answer.headers).not.toHaveProperty(name);
    expect(world.received).toHaveLength(1);
  });

  it.each([
    ['HEAD', 200, { 'content-length': '1000' }],
    ['GET', 304, { etag: '"x"' }],
    ['GET', 204, {}],
  ])('to %s of %i has no body, and the connection goes on', async (method, status, headers) => {
    const sent = { 'content-length': '5', ...headers };
    const world = await startForwarding({ api: (_, response) => void response.writeHead(status, sent).end() });
    const socket = connect(world.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    for (let n = 0; n < 2; n += 1) {
      socket.write(`${method} ${PREFIX}/x HTTP/1.1\r\nHost: localhost\r\nX-Token-Broker-Key: ${KEY}\r\n\r\n`);
      const [answer] = await once(socket, 'data');
      expect(`${answer}`).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\r\n\r\n$`, 's'));
      for (const [name, value] of Object.entries(headers)) expect(`${answer}`).toContain(`${name}: ${value}`);
      // @see RFC 9110 §8.6
      expect(/content-length/i.test(`${answer}`)).toBe(status !== 204);
    }
  });

  // @see nodejs/undici#447, envoyproxy/envoy#8662
  it('of 20 MB streams through as fast as the caller reads, and no faster, also after a pause of minutes', async () => {
    stopTimers();
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let sent = 0;
    const world = await startForwarding({
      api: async (_, response) => {
        for (; sent < 320; sent += 1) if (!response.write(chunk)) await once(response, 'drain');
        response.end();
      },
    });
    const answer = await open(world);
    // The kernel keeps some megabytes between the three.
    await settled(() => sent);
    expect(sent).toBeLessThan(250);
    vi.advanceTimersByTime(300_000);
    let bytes = 0;
    for await (const part of answer) bytes += part.length;
    expect(bytes).toBe(320 * chunk.byteLength);
  });

  // @see dapr/dapr#9626, awslabs/aws-sigv4-proxy#250
  it('that is an event stream arrives event by event, for hours, after head without an event', async () => {
    stopTimers();
    let write: (text: string) => void = () => undefined;
    const world = await startForwarding({
      api: (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        write = (text) => void response.write(text);
      },
    });
    const answer = await open(world);
    expect(answer.headers['content-type']).toBe('text/event-stream');
    for (let minute = 0; minute < 120; minute += 1) {
      vi.advanceTimersByTime(59_000);
      write(`data: ${minute}\n\n`);
      expect(`${(await once(answer, 'data'))[0]}`).toBe(`data: ${minute}\n\n`);
    }
    answer.destroy();
  });

  it('that breaks off at the API breaks off for the caller, and is not taken for a whole one', async () => {
    const world = await startForwarding({
      api: (_, response) => void response.write('half', () => response.destroy()),
    });
    await expect(call(world)).rejects.toThrow(/aborted/);
    while (world.calls.length === 0) await turn();
    expect(world.calls).toMatchObject([{ status: 200 }]);
    expect(await (await fetch(`${world.url}/ping`)).json()).toEqual({ ok: true });
  });

  it('of an early refusal reaches a caller that still sends its body', async () => {
    const world = await startForwarding({
      api: (_, response) => void response.writeHead(413).end('too large'),
    });
    const body = Buffer.alloc(1_000_000);
    expect(await call(world, { method: 'POST', body })).toMatchObject({ status: 413, body: 'too large' });
  });
});

describe('a token that the API refuses', () => {
  it('is replaced once for 300 callers at once, each of which gets its answer', async () => {
    const world: World = await startForwarding({ api: accepting(() => world.fake) });
    await call(world);
    world.fake.revoke();
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, n) => call(world, { method: 'POST', body: `call ${n}` })),
    );
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map((_, n) => [200, `call ${n}`]));
    expect(world.fake.requests.map(({ members }) => 'refused' in members)).toEqual([false, true]);
  });

  it.each([
    ['the API when the successor is refused, too', undefined, 401, /^no$/, 2],
    ['the API when there is no successor', 'refused-again', 401, /^no$/, 1],
    ['the broker when that has another reason', 'credential-rejected', 424, /"type":"credential-rejected"/, 1],
  ] as const)('has the answer of %s', async (_, failure, status, body, sent) => {
    const world = await startForwarding({ api: (_, response) => void response.writeHead(401).end('no') });
    await world.fake.broker.token(PAIR);
    if (failure) world.fake.fail(failure);
    expect(await call(world)).toMatchObject({ status, body: expect.stringMatching(body) });
    expect([world.received.length, world.calls]).toMatchObject([sent, [{ status }]]);
  });

  it.each([
    [64 * 1024, 200],
    [64 * 1024 + 1, 401],
  ])('and a body of %i bytes: the answer is %i, and the next call has the successor', async (size, status) => {
    const world: World = await startForwarding({ api: accepting(() => world.fake) });
    await call(world);
    world.fake.revoke();
    const body = Buffer.alloc(size, 'x');
    expect(await call(world, { method: 'PUT', body })).toMatchObject({ status });
    expect(await call(world, { method: 'PUT', body })).toMatchObject({ status: 200, body: `${body}` });
    expect(world.fake.requests).toHaveLength(2);
  });
});

describe('a body', () => {
  // @see dapr/dapr#9627
  it('of megabytes streams through: 200 uploads at once need little memory', async () => {
    const size = 1_000_000;
    const allHere = Promise.withResolvers<void>();
    const world: World = await startForwarding({
      api: async (request, response) => {
        if (world.received.length === 200) allHere.resolve();
        await allHere.promise;
        let bytes = 0;
        for await (const part of request) bytes += part.length;
        response.end(`${bytes}`);
      },
    });
    const body = Buffer.alloc(size);
    const peak = peakMemory();
    const answers = await Promise.all(Array.from({ length: 200 }, () => call(world, { method: 'POST', body })));
    expect(new Set(answers.map((answer) => answer.body))).toEqual(new Set([`${size}`]));
    // Together the bodies have 200 MB.
    expect(peak()).toBeLessThan(250_000_000);
  });

  it('without a length is sent without one', async () => {
    const world = await startForwarding();
    const headers = { ...BEARER, 'transfer-encoding': 'chunked' };
    const answer = await open(world, { method: 'POST', headers }, (request) => {
      request.write(Buffer.alloc(100_000, 'x'));
      setImmediate(() => request.end('end'));
    });
    let text = '';
    for await (const part of answer) text += part;
    expect([text.length, text.slice(-3)]).toEqual([100_003, 'end']);
    expect(world.received[0]?.headers).toMatchObject({ 'transfer-encoding': 'chunked' });
  });
});

describe('the end of a call', () => {
  it('comes when its caller leaves: before the token, before the answer, and in its midst', async () => {
    for (const phase of ['token', 'upload', 'head', 'stream']) {
      const reached = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      const world: World = await startForwarding({
        api: (request, response) => {
          request.on('error', () => undefined).resume();
          response.once('close', () => ended.resolve());
          if (phase === 'stream') response.write('first');
          if (phase !== 'token') reached.resolve();
        },
        ...(phase === 'token' && {
          broker: {
            withToken: ({ signal }) => {
              signal?.addEventListener('abort', () => ended.resolve());
              reached.resolve();
              return new Promise(() => undefined);
            },
          },
        }),
      });
      const headers = { 'X-Token-Broker-Key': KEY, ...(phase === 'upload' && { 'content-length': 1_000_000 }) };
      const request = httpRequest(world.url + PREFIX, { method: 'POST', headers, agent: false });
      request.on('error', () => undefined).on('response', (answer) => answer.on('error', () => undefined).resume());
      if (phase === 'upload') request.write(Buffer.alloc(200_000));
      else request.end();
      await reached.promise;
      request.destroy();
      await ended.promise;
      while (world.calls.length === 0) await turn();
      expect([phase, world.calls[0]?.status, world.notes]).toEqual([phase, phase === 'stream' ? 200 : 499, []]);
    }
  });

  it('closes its connection when the server has begun to end, which then waits no longer', async () => {
    const gate = Promise.withResolvers<void>();
    const world = await startForwarding({
      api(_, response) {
        response.write('first ');
        gate.promise.then(() => response.end('last'));
      },
    });
    const answer = await fetch(world.url + PREFIX, { headers: BEARER });
    stopTimers();
    const closed = world.close(60_000);
    gate.resolve();
    expect(await answer.text()).toBe('first last');
    await closed;
  }, 20_000);

  it('is 502 when nothing listens, with the name of the host and no more', async () => {
    const world = await startForwarding();
    world.service.close();
    const { status, headers, body } = await call(world, { method: 'POST', path: '/private?name=1' });
    const detail = `No answer from ${new URL(world.apiUrl).host} (ECONNREFUSED)`;
    expect([status, headers['content-type']]).toEqual([502, 'application/problem+json']);
    expect(JSON.parse(body)).toMatchObject({ type: 'api-unreachable', status: 502, detail, retryable: true });
    expect(world.notes).toEqual([`api-unreachable: ${detail}`]);
  });

  it.each([
    ['what is not HTTP', 'SSH-2.0-OpenSSH\r\n'],
    ['nothing', ''],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ])('is 502 when the API answers with %s', async (_, answer) => {
    const world = await startForwarding({ api: ({ socket }) => void socket.end(answer) });
    expect(await call(world)).toMatchObject({ status: 502, body: expect.stringContaining('api-unreachable') });
  });

  it('is 502 when the API stays silent for too long, and a cut when it falls silent later, and is sent once', async () => {
    for (const isLater of [false, true]) {
      const reached = Promise.withResolvers<void>();
      stopTimers();
      const world = await startForwarding({
        api: ({ method }, response) => {
          if (method === 'GET') return void response.end();
          if (isLater) response.write('first');
          reached.resolve();
        },
      });
      // The next call has the connection of this call.
      await call(world);
      const answer = open(world, { method: 'PUT' });
      await reached.promise;
      const begun = isLater ? await answer : undefined;
      if (begun) await once(begun, 'data');
      await turns();
      vi.advanceTimersByTime(60_000);
      if (begun) await expect(once(begun, 'end')).rejects.toThrow('aborted');
      else expect((await answer).statusCode).toBe(502);
      vi.useRealTimers();
      await call(world);
      expect(world.received.map(({ method }) => method)).toEqual(['GET', 'PUT', 'GET']);
    }
  });

  it('is 400 when the caller pauses in its body for too long, because the API waits for it', async () => {
    stopTimers();
    const world = await startForwarding({ api: (request) => void request.resume() });
    const answer = open(world, { method: 'PUT', headers: { ...BEARER, 'content-length': 200_000 } }, (request) =>
      request.write(Buffer.alloc(100_000)),
    );
    while (world.received.length === 0) await turn();
    await turns();
    vi.advanceTimersByTime(60_000);
    expect((await answer).statusCode).toBe(400);
  });

  it.each([
    ['GET', 200, 2, /^ok$/],
    ['POST', 502, 1, /"retryable":false/],
  ])('%s on a connection that the API had just closed is answered with %i', async (method, status, sent, body) => {
    // @see caddyserver/caddy#6452
    let calls = 0;
    const world = await startForwarding({
      api: (request, response) => {
        calls += 1;
        // The second request arrives on the connection of the first.
        if (calls === 2) request.socket.resetAndDestroy();
        else request.resume().once('end', () => response.end('ok'));
      },
    });
    await call(world, { method });
    await turns();
    expect(await call(world, { method })).toMatchObject({ status, body: expect.stringMatching(body) });
    expect(calls - 1).toBe(sent);
  });
});

/** An API that reads the body and answers with it, or with 401 to a token that is no longer good. */
function accepting(fakeOf: () => World['fake']) {
  return async (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    response.writeHead(fakeOf().accepts(token) ? 200 : 401).end(Buffer.concat(parts));
  };
}

/** Begins a call, and returns its answer when the head has come. */
function open({ url }: World, options = {}, sendBody = (request: ClientRequest): unknown => request.end()) {
  const request = httpRequest(url + PREFIX, { headers: BEARER, agent: false, ...options });
  onTestFinished(() => void request.destroy());
  sendBody(request);
  const answer = new Promise<IncomingMessage>((resolve, reject) => request.on('response', resolve).on('error', reject));
  // A test may wait for something else first, and must fail by its own assertion.
  answer.catch(() => undefined);
  return answer;
}

/** The head of a call with exactly these headers and the key. */
function headOf(method: string, headers: readonly string[]): string {
  const lines = headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
  const head = [`${method} ${PREFIX}/x HTTP/1.1`, 'Host: localhost', `X-Token-Broker-Key: ${KEY}`, ...lines];
  return `${head.join('\r\n')}\r\n\r\n`;
}

/** Sends exactly these headers with the body `hello`, and returns the answer until it repeats the body. */
function sendHello(port: number, method: string, headers: readonly string[]): Promise<string> {
  return beginningOf(port, `${headOf(method, [...headers, 'Content-Length', '5'])}hello`, 'hello');
}

/** Waits until a number no longer grows. */
async function settled(read: () => number): Promise<void> {
  for (let still = 0, last = -1; still < 200; still = read() === last ? still + 1 : 0) {
    last = read();
    await turn();
  }
}

/** Watches the memory of this process, and returns by how much it grew at most. */
function peakMemory() {
  global.gc?.();
  const seen = [process.memoryUsage().rss];
  const watching = setInterval(() => seen.push(process.memoryUsage().rss), 5);
  return () => {
    clearInterval(watching);
    return Math.max(...seen) - (seen[0] ?? 0);
  };
}
