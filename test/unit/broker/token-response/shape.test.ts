import { describe, expect, it } from 'vitest';
import { problemOf } from './token-answers.ts';

const paths = (...args: Parameters<typeof shapeOf>) => shapeOf(...args).members.map(({ path }) => path);

describe('the shape report', () => {
  it('contains names, types and lengths, in the order of the answer', () => {
    const acmeResult = { ticketText: 'secret words', days: 3, none: null, tags: ['a', 'b'] };
    expect(shapeOf({ ok: true, acmeResult })).toEqual({
      status: 200,
      contentType: 'application/json',
      bytes: 92,
      members: [
        { path: '$', type: 'object', length: 2 },
        { path: 'ok', type: 'boolean' },
        { path: 'acmeResult', type: 'object', length: 4 },
        { path: 'acmeResult.ticketText', type: 'string', length: 12 },
        { path: 'acmeResult.days', type: 'number' },
        { path: 'acmeResult.none', type: 'null' },
        { path: 'acmeResult.tags', type: 'array', length: 2 },
        { path: 'acmeResult.tags.0', type: 'string', length: 1 },
      ],
    });
  });

  it.each(['n'.repeat(33), 'a1b2c3', 'no word', 'my-acme-name', 'theacme', 'acme', ''])(
    'masks a name that is no word, or that holds a value: "%s"',
    (name) => expect(paths({ [name]: 1, client: 'acme' })).toEqual(['$', '*', 'client']),
  );

  it('masks a name of the greatest length that is shown, when it is a value', () => {
    const name = 'n'.repeat(32);
    expect(paths({ [name]: 1, client: 'acme' })[1]).toBe(name);
    expect(paths({ [name]: 1, client: name })[1]).toBe('*');
  });

  it.each([
    ['the client id', 'acme-live', { clientId: 'acme-live' }],
    ['the client id within another word', 'error_acme-live', { clientId: 'acme-live' }],
    ['the client id in base64', 'bm9w', { clientId: 'nop' }],
    ['a short client id that is all of it', 'ab', { clientId: 'ab' }],
    ['a passphrase within another word', 'the_correcthorse', { secret: 'correcthorse' }],
    ['a part of a passphrase', 'correct', { secret: 'correct-horse' }],
    ['a short secret that is all of it', 'staple', { secret: 'staple' }],
    ['a passphrase with _ for -', 'correct_horse', { secret: 'correct-horse' }],
    ['a part of a passphrase in another case', 'Horse', { secret: 'correct-horse' }],
    ['the client id with _ for -, within another word', 'error_acme_live', { clientId: 'acme-live' }],
  ])('masks a name that shows %s', (_, name, credential) => {
    expect(paths({ results: { [name]: 1 } }, undefined, credential).at(-1)).toBe('results.*');
    expect(paths({ results: { [name]: 1 } }).at(-1)).toBe(`results.${name}`);
  });

  it.each(['access_token', 'expires_in', 'data', 'error_description', 'id_token', 'sessionId'])(
    'shows the name %s, which is documented, although it repeats the credential: a mask would tell what that is',
    (name) => {
      const credential = { clientId: name, secret: name };
      expect(paths({ [name]: [], other: name }, undefined, credential)).toEqual(['$', name, 'other']);
    },
  );

  it('shows a word in which a short client id stands by chance', () => {
    expect(paths({ words: 1 }, undefined, { clientId: 'or' })[1]).toBe('words');
  });

  it('ends after 32 members, four levels down, and shows only the first entry of an array', () => {
    expect(paths(Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`m${n}`, 1])))).toHaveLength(32);
    expect(shapeOf({ a: { b: { c: { d: { e: {} } } } } }).members.at(-1)).toMatchObject({ path: 'a.b.c.d', length: 1 });
    expect(paths([{ a: 1 }, { a: 2 }])).toEqual(['$', '0', '0.a']);
  });

  it('shows no member of a body that cannot be read', () => {
    expect(shapeOf('<html>tok-1</html>', 'text/html').members).toEqual([]);
    expect(shapeOf('tok-1', 'text/html').members).toEqual([]);
  });

  it.each<[string | null, string]>([
    ...['application/json', 'text/json', 'application/problem+json', 'application/x-www-form-urlencoded', 'text/plain']
      .concat('application/xhtml+xml', 'text/xml', 'application/xml', 'application/soap+xml', 'multipart/form-data')
      .concat('application/jwt', 'application/octet-stream')
      .map((type): [string, string] => [type, type]),
    [' Text/HTML ;charset=utf-8', 'text/html'],
    ['', 'none'],
    [' ; charset=utf-8', 'none'],
    ['secret/secret', 'other'],
    [null, 'none'],
  ])('shows the content type %s as %s', (type, shown) => {
    expect(shapeOf({}, type).contentType).toBe(shown);
  });
});

function shapeOf(body: unknown, type: string | null = 'application/json', credential = {}) {
  return problemOf({ type, body }, credential).shape ?? expect.fail('There is no shape report');
}
