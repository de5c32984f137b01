import { describe, expect, it } from 'vitest';
import { send } from '../../support/requests.ts';
import { CALL, startPageWorld } from './page-world.ts';

const FILES = ['/', '/page.css', '/page.js', '/icon.svg'];

describe('the page', () => {
  it('has its files, and nothing else', async () => {
    const { get } = await startPageWorld();
    const types = await Promise.all(FILES.map(async (path) => (await get(path)).headers['content-type']));
    const texts = ['html', 'css', 'javascript'].map((type) => `text/${type}; charset=utf-8`);
    expect(types).toEqual([...texts, 'image/svg+xml']);
    const others = ['/page', '/messages.ts', '/../local.ts', '/%2e%2e/local.ts', '//', '/?', '/events/', '/__proto__'];
    const absent = { status: 404, body: '{"message":"There is nothing here."}' };
    for (const path of others) expect(await get(path), path).toMatchObject(absent);
  });

  it('lets only its own files run, and is neither kept, nor framed, nor read by others', async () => {
    const { get, post } = await startPageWorld();
    const answers = [
      ...(await Promise.all([...FILES, '/nothing'].map((path) => get(path)))),
      await post('/call', CALL),
      await post('/call', 'no call'),
      await get('/', { host: 'example.com' }),
    ];

    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'content-security-policy': expect.stringMatching(
          /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'/,
        ),
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
      expect(headers['content-security-policy']).not.toContain('unsafe');
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  it.each(['PUT', 'DELETE', 'OPTIONS', 'HEAD'])('answers no %s', async (method) => {
    const { url, own } = await startPageWorld();
    expect(await send({ method, url, headers: own, body: '' })).toMatchObject({ status: 405 });
  });

  it.skipIf(process.platform !== 'linux')('listens on 127.0.0.1 alone (skipped elsewhere than on Linux)', async () => {
    const { url } = await startPageWorld();
    const elsewhere = url.replace('127.0.0.1', '127.0.0.2');
    await expect(send({ method: 'GET', url: elsewhere, headers: {}, body: '' })).rejects.toThrow('ECONNREFUSED');
  });
});

describe('a name that leads to this machine', () => {
  it.each(['127.0.0.1', 'localhost', '[::1]', 'LOCALHOST'])('is fine when it is %s with the port', async (name) => {
    const { url, get } = await startPageWorld();
    expect(await get('/', { host: `${name}:${new URL(url).port}` })).toMatchObject({ status: 200 });
  });

  it.each([
    'example.com:PORT',
    'localhost.example.com:PORT',
    '127.0.0.1.example.com:PORT',
    '127.0.0.2:PORT',
    '127.0.0.1',
    'localhost:1',
    'user@localhost:PORT',
    'localhost:PORT.',
  ])('is turned away when it is %s, for every path and method', async (name) => {
    const { url, get, post, own, asked } = await startPageWorld();
    const host = name.replace('PORT', new URL(url).port);
    const answers = [
      ...(await Promise.all([...FILES, '/events'].map((path) => get(path, { host })))),
      await post('/call', CALL, { ...own, host }),
      await post('/call', CALL, { ...own, host, origin: `http://${host}` }),
    ];

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 421));
    expect(asked).toEqual([]);
  });
});

describe('the page of another site', () => {
  it.each([
    ['no origin', undefined],
    ['an origin that is kept secret', 'null'],
    ['another site', 'https://example.com'],
    ['another port', 'http://127.0.0.1:1'],
    ['another name of this machine', 'http://localhost:PORT'],
    ['https', 'https://127.0.0.1:PORT'],
  ])('cannot make a call from %s', async (_, from) => {
    const { url, post, own, asked } = await startPageWorld();
    const { origin: _own, ...headers } = own;
    const origin = from?.replace('PORT', new URL(url).port);

    expect(await post('/call', CALL, { ...headers, ...(origin && { origin }) })).toMatchObject({ status: 403 });
    expect(asked).toEqual([]);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'text/plain; application/json'])(
    'cannot make a call as %s, for which no browser asks first',
    async (type) => {
      const { post, own, asked } = await startPageWorld();
      expect(await post('/call', CALL, { ...own, 'content-type': type })).toMatchObject({ status: 415 });
      expect(asked).toEqual([]);
    },
  );

  it.each(['cross-site', 'same-site'])('reads and embeds nothing (%s)', async (site) => {
    const { get, post, own } = await startPageWorld();
    const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' };
    const answers = [
      ...(await Promise.all([...FILES, '/events'].map((path) => get(path, headers)))),
      await get('/', { ...headers, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }),
      await post('/call', CALL, { ...own, ...headers }),
    ];

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 403));
  });

  it('may link to it', async () => {
    const { get } = await startPageWorld();
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    expect(await get('/', headers)).toMatchObject({ status: 200 });
  });
});
