import { expect, it } from 'vitest';
import { send } from '../../support/requests.ts';
import { CALL, startPageWorld } from './page-world.ts';

const FILES = ['/', '/page.css', '/page.js', '/icon.svg'];

it('the page has its files and its state, and nothing else', async () => {
  const { url, own, get } = await startPageWorld();
  const types = await Promise.all(FILES.map(async (path) => (await get(path)).headers['content-type']));
  const texts = ['html', 'css', 'javascript'].map((type) => `text/${type}; charset=utf-8`);
  expect(types).toEqual([...texts, 'image/svg+xml']);
  expect(await get('/state')).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  const absent = { status: 404, body: '{"message":"There is nothing here."}' };
  for (const path of ['/page', '/messages.ts', '/../local.ts', '/%2e%2e/local.ts', '//', '/__proto__', '/call']) {
    expect(await get(path), path).toMatchObject(absent);
  }
  for (const method of ['PUT', 'DELETE', 'OPTIONS']) {
    expect(await send({ method, url, headers: own, body: '' }), method).toMatchObject(absent);
  }
});

it('the page lets only its own files run, and is neither kept, nor framed, nor read by others', async () => {
  const { get, post } = await startPageWorld();
  const answers = await Promise.all([...FILES, '/state', '/nothing'].map((path) => get(path)));
  for (const { headers } of [...answers, await post(CALL), await post('no call')]) {
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

/** What any server of `npm start` refuses, control.test.ts shows. */
it.each<readonly [string, number, Readonly<Record<string, string | undefined>>]>([
  ['with no origin', 403, { origin: undefined }],
  ['from another site', 403, { origin: 'https://example.com' }],
  ['as a text, for which no browser asks first', 415, { 'content-type': 'text/plain' }],
  ['as a form, for which no browser asks first', 415, { 'content-type': 'application/x-www-form-urlencoded' }],
  ['as a text that speaks of JSON', 415, { 'content-type': 'text/plain; application/json' }],
])('no page of another site can make a call %s', async (_, status, changes) => {
  const { post, own, asked } = await startPageWorld();
  const headers = Object.entries({ ...own, ...changes }).flatMap(([name, value]) => (value ? [[name, value]] : []));
  expect(await post(CALL, Object.fromEntries(headers))).toMatchObject({ status });
  expect(asked).toEqual([]);
});
