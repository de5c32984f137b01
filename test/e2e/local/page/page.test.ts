import { expect, it } from 'vitest';
import { send } from '../../../support/requests.ts';
import { CALL, INCIDENT, startPageWorld } from './page-world.ts';

const FILES = ['/', '/page.css', '/page.js', '/icon.svg', '/architecture.svg'];
/** What the page may be ordered to do, each with a form for it. */
const ORDERS = [
  ['/call', CALL],
  ['/incident', INCIDENT],
  ['/schedule', {}],
] as const;

it('the page has its files and its state, and nothing else', async () => {
  const { url, own, get } = await startPageWorld();
  const types = await Promise.all(FILES.map(async (path) => (await get(path)).headers['content-type']));
  const texts = ['html', 'css', 'javascript'].map((type) => `text/${type}; charset=utf-8`);
  expect(types).toEqual([...texts, 'image/svg+xml', 'image/svg+xml']);
  expect(await get('/state')).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  expect(await get('/audit/request-1')).toMatchObject({ status: 200, body: '{"outcome":"issued"}' });
  const absent = { status: 404, body: '{"message":"There is nothing here."}' };
  for (const path of ['/page', '/../local.ts', '/call', '/audit/request-2']) {
    expect(await get(path), path).toMatchObject(absent);
  }
  for (const method of ['PUT', 'DELETE', 'OPTIONS']) {
    expect(await send({ method, url, headers: own, body: '' }), method).toMatchObject(absent);
  }
});

it('the page lets only its own files run, and is neither kept, nor framed, nor read by others', async () => {
  const { get, post } = await startPageWorld();
  const answers = await Promise.all([...FILES, '/state', '/audit/request-1', '/nothing'].map((path) => get(path)));
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

/** What any server of `npm start` refuses, local.test.ts shows. */
it.each<readonly [string, number, Readonly<Record<string, string | undefined>>]>([
  ['with no origin', 403, { origin: undefined }],
  ['from another site', 403, { origin: 'https://example.com' }],
  ['as a text, for which no browser asks first', 415, { 'content-type': 'text/plain' }],
  ['as a form, for which no browser asks first', 415, { 'content-type': 'application/x-www-form-urlencoded' }],
  ['as a text that speaks of JSON', 415, { 'content-type': 'text/plain; application/json' }],
])('no page of another site can order anything %s', async (_, status, changes) => {
  const { post, own, asked, ordered } = await startPageWorld();
  const entries = Object.entries({ ...own, ...changes }).flatMap(([name, value]) => (value ? [[name, value]] : []));
  const headers = Object.fromEntries(entries);
  for (const [path, form] of ORDERS) expect(await post(form, { path, headers }), path).toMatchObject({ status });
  expect([...asked, ...ordered]).toEqual([]);
});

it('the page orders what it is for, in forms that have what they need and nothing more', async () => {
  const { post, asked, ordered } = await startPageWorld();
  for (const [path, form] of ORDERS) {
    const whole = { ...form, more: '' };
    for (const other of [whole, '{', [], 'x'.repeat(20_000)]) {
      expect(await post(other, { path }), path).toMatchObject({ status: 400 });
    }
  }
  expect(await post({ service: 'customer-insights' }, { path: '/incident' })).toMatchObject({ status: 400 });
  for (const other of [{ caller: 'AKIDOTHER' }, { operation: 'health-run' }]) {
    expect(await post({ ...CALL, ...other })).toMatchObject({ status: 400 });
  }
  expect([...asked, ...ordered]).toEqual([]);
  for (const [path, form] of ORDERS) expect(await post(form, { path }), path).toMatchObject({ status: 200 });
  expect(ordered).toEqual([INCIDENT, 'schedule']);
  expect(await post({ ...INCIDENT, name: 'flood' }, { path: '/incident' })).toMatchObject({ status: 400 });
});

it('the page and all that it is made of are smaller than 60 kB', async () => {
  const { get } = await startPageWorld();
  const bodies = await Promise.all(FILES.map(async (path) => (await get(path)).body.length));
  expect(bodies.reduce((sum, bytes) => sum + bytes)).toBeLessThan(60_000);
});
