import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createRequestFeed, FEED_LENGTH } from '../../../bin/local/page/feed.ts';
import { type PageWorld, startPageWorld } from './page-world.ts';

/** An audit line as the broker writes it. */
function line(changes: object = {}): string {
  return JSON.stringify({
    _aws: { Timestamp: 1_000 },
    outcome: 'issued',
    Requests: 1,
    Duration: 12.4,
    requestId: 'request-1',
    operation: 'token',
    caller: 'aws:111111111111:billing/local-session',
    pair: 'acme/customer-insights',
    cache: 'none',
    fingerprint: 'marked-fingerprint',
    cause: 'marked-cause',
    ...changes,
  });
}

const SEEN = {
  at: 1_000,
  outcome: { word: 'issued', kind: 'good' },
  caller: 'billing',
  subject: 'acme/customer-insights',
  origin: 'token request',
  milliseconds: 12,
};

describe('the feed of requests', () => {
  it('tells of a decision outcome, caller, pair, origin and time, and nothing else', () => {
    const feed = createRequestFeed();
    feed.audit(line());
    expect(feed.recent()).toEqual([SEEN]);
  });

  it.each([
    ['a token from memory', { cache: 'memory' }, { origin: 'from memory' }],
    ['a token of the shared cache', { cache: 'shared' }, { origin: 'from shared' }],
    ['a check', { operation: 'check', outcome: 'accepted', cache: undefined }, { origin: 'check' }],
    [
      'a denial',
      { outcome: 'access-denied', cache: undefined },
      { outcome: { word: 'access-denied', kind: 'refused' }, origin: undefined },
    ],
    ['a rejection', { outcome: 'credential-rejected' }, { outcome: { word: 'credential-rejected', kind: 'bad' } }],
    ['a request for no pair', { pair: undefined, operation: undefined, caller: undefined }, { subject: '' }],
  ])('tells of %s', (_, changes, expected) => {
    const feed = createRequestFeed();
    feed.audit(line(changes));
    expect(feed.recent()).toMatchObject([expected]);
  });

  it('passes over lines that are about no request to the broker', () => {
    const feed = createRequestFeed();
    feed.audit(line({ Requests: undefined, operation: 'health' }));
    expect(feed.recent()).toEqual([]);
  });

  it('tells of what AWS answered by itself, and of each request once', () => {
    const feed = createRequestFeed(() => 2_000);
    const answered = { method: 'POST', path: '/token', status: 200 };
    feed.audit(line());
    feed.answered({ ...answered, requestId: 'request-1' });
    feed.answered({ ...answered, requestId: 'request-2', status: 403 });
    feed.answered({ ...answered, requestId: 'request-3', status: 502, failure: new Error('marked-failure') });

    expect(feed.recent()).toEqual([
      SEEN,
      { at: 2_000, outcome: { word: 'AWS answered 403', kind: 'bad' }, subject: 'POST /token' },
      { at: 2_000, outcome: { word: 'function failed', kind: 'bad' }, subject: 'POST /token' },
    ]);
  });

  it('remembers the last requests only', () => {
    const feed = createRequestFeed();
    for (let count = 0; count < FEED_LENGTH + 5; count++)
      feed.audit(line({ requestId: `request-${count}`, Duration: count }));

    expect(feed.recent()).toHaveLength(FEED_LENGTH);
    expect(feed.recent().at(0)).toMatchObject({ milliseconds: 5 });
    expect(feed.recent().at(-1)).toMatchObject({ milliseconds: FEED_LENGTH + 4 });
  });
});

describe('the stream of requests', () => {
  it('begins with the last ones and goes on with each that comes', async () => {
    const world = await startPageWorld();
    world.feed.audit(line());
    const { next } = await listenTo(world);
    expect(await next()).toMatchObject({ running: [{ name: 'Broker' }], clients: [{ name: 'acme' }] });
    expect(await next()).toEqual([SEEN]);

    world.feed.audit(line({ requestId: 'request-2', cache: 'memory' }));
    expect(await next()).toEqual([{ ...SEEN, origin: 'from memory' }]);
  });

  it('tells of a call of the page itself', async () => {
    const world = await startPageWorld();
    const { next } = await listenTo(world);
    await next();
    expect(await next()).toEqual([]);
    await world.call();

    // The broker of this test writes no audit lines.
    expect(await next()).toMatchObject([{ outcome: { word: 'AWS answered 200' }, subject: 'POST /token' }]);
  });

  it('ends at once when the page is closed', async () => {
    const world = await startPageWorld();
    const { next } = await listenTo(world);
    await next();
    await next();
    const ended = expect(next()).rejects.toThrow('aborted');
    await world.close();
    await ended;
  });

  it('is cut off for a reader that stops reading', async () => {
    const world = await startPageWorld();
    const { hostname, port, host } = new URL(world.url);
    const socket = connect(Number(port), hostname);
    socket.write(`GET /events HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    await once(socket, 'readable');
    const closed = once(socket, 'close');

    const long = 'x'.repeat(10_000);
    // More than the buffers of the machine hold for a socket that no process reads.
    for (let count = 0; count < 5_000; count++) world.feed.audit(line({ requestId: `${count}`, pair: long }));
    socket.resume();
    await closed;
    expect(socket.bytesRead).toBeLessThan(5_000 * long.length);
  });
});

/** Reads the stream event by event. */
async function listenTo({ url }: PageWorld): Promise<{ readonly next: () => Promise<unknown> }> {
  const response = await new Promise<IncomingMessage>((resolve) => httpGet(`${url}/events`, resolve));
  expect(response.headers['content-type']).toBe('text/event-stream');
  const chunks = response.setEncoding('utf8')[Symbol.asyncIterator]();
  let text = '';
  return {
    async next() {
      for (;;) {
        const [event, found] = /^(?:retry: \d+\n)?(?:event: overview\n)?data: (.*)\n\n/.exec(text) ?? [];
        if (event !== undefined && found !== undefined) {
          text = text.slice(event.length);
          return JSON.parse(found);
        }
        text += (await chunks.next()).value;
      }
    },
  };
}
