import { describe, expect, it } from 'vitest';
import { parseCredential } from '../../../functions/broker/credential/credential.ts';
import type { ShapeReport } from '../../../functions/broker/problem.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { readTokenResponse } from '../../../functions/broker/token-response/read.ts';
import { responseOf, serviceOf } from './token-responses/answer.ts';

describe('the shape report', () => {
  it('tells names, types and lengths, in the order of the answer', () => {
    const shape = shapeOf({
      ok: true,
      acmeResult: { ticketText: 'secret words', days: 3, none: null, tags: ['a', 'b'] },
    });

    expect(shape).toEqual({
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

  it.each([
    ['a long name', 'n'.repeat(33)],
    ['a name with more digits than a word has', 'a1b2c3'],
    ['a name that is no word', 'no word'],
    ['a name that holds a value', 'my-acme-name'],
    ['a name that ends with a value', 'theacme'],
    ['a name that is a value', 'acme'],
    ['an empty name', ''],
  ])('masks %s', (_, name) => {
    const { members } = shapeOf({ [name]: 1, client: 'acme' });

    expect(members.map(({ path }) => path)).toEqual(['$', '*', 'client']);
  });

  it('masks a name of the greatest length that is shown, when it is a value', () => {
    const name = 'n'.repeat(32);

    expect(shapeOf({ [name]: 1, client: 'acme' }).members[1]?.path).toBe(name);
    expect(shapeOf({ [name]: 1, client: name }).members[1]?.path).toBe('*');
  });

  it.each(['expires_in', 'data'])('shows the name %s, which the broker knows, even when it is a value too', (name) => {
    const { members } = shapeOf({ [name]: 1, other: name });

    expect(members.map(({ path }) => path)).toEqual(['$', name, 'other']);
  });

  it.each([
    ['the client id', 'acme-live', { clientId: 'acme-live' }],
    ['the client id within another word', 'error_acme-live', { clientId: 'acme-live' }],
    ['the client id in base64', 'bm9w', { clientId: 'nop' }],
    ['a short client id that is all of it', 'ab', { clientId: 'ab' }],
    ['a passphrase', 'correcthorse', { secret: 'correcthorse' }],
    ['a passphrase within another word', 'the_correcthorse', { secret: 'correcthorse' }],
    ['a part of a passphrase', 'correct', { secret: 'correct-horse' }],
    ['a short secret that is all of it', 'staple', { secret: 'staple' }],
  ])('masks a name that shows %s', (_, name, credential) => {
    expect(shapeOf({ results: { [name]: 1 } }, undefined, credential).members.at(-1)?.path).toBe('results.*');
    expect(shapeOf({ results: { [name]: 1 } }).members.at(-1)?.path).toBe(`results.${name}`);
  });

  it.each(['access_token', 'expires_in', 'tokenType', 'error_description', 'token', 'id_token', 'sessionId'])(
    'shows the name %s, which is documented, although it repeats the credential: a mask would tell what that is',
    (name) => {
      const credential = { clientId: name, secret: name };
      expect(shapeOf({ [name]: [] }, undefined, credential).members[1]?.path).toBe(name);
    },
  );

  it('shows a word in which a short client id stands by chance', () => {
    expect(shapeOf({ words: 1 }, undefined, { clientId: 'or' }).members[1]?.path).toBe('words');
  });

  it('ends after 32 members', () => {
    const { members } = shapeOf(
      Object.fromEntries('abcdefghijklmnopqrstuvwxyzABCDEFGHIJ'.split('').map((name) => [name, 1])),
    );

    expect(members).toHaveLength(32);
  });

  it('ends four levels down', () => {
    const { members } = shapeOf({ a: { b: { c: { d: { e: {} } } } } });

    expect(members.at(-1)).toEqual({ path: 'a.b.c.d', type: 'object', length: 1 });
  });

  it('tells only the first entry of an array, because the others are alike', () => {
    const { members } = shapeOf([{ a: 1 }, { a: 2 }]);

    expect(members.map(({ path }) => path)).toEqual(['$', '0', '0.a']);
  });

  it('tells no member of a body that cannot be read', () => {
    expect(shapeOf({ access_token: 'tok-1' }, 'text/html').members).toEqual([]);
  });

  it.each([
    ...[
      'application/json',
      'text/json',
      'application/problem+json',
      'application/hal+json',
      'application/vnd.api+json',
    ],
    ...['text/plain', 'application/xhtml+xml', 'text/xml', 'application/xml', 'application/soap+xml'],
    ...['application/x-www-form-urlencoded', 'multipart/form-data', 'application/jwt', 'application/octet-stream'],
    ...['text/javascript', 'application/javascript', 'image/png', 'image/gif', 'image/jpeg'],
  ])('tells the content type %s, which is no secret', (type) => {
    expect(shapeOf({}, type).contentType).toBe(type);
  });

  it.each([
    ['text/html; charset=utf-8', 'text/html'],
    ['Text/HTML;charset=utf-8', 'text/html'],
    [' text/html ;charset=utf-8', 'text/html'],
    ['', 'none'],
    [' ; charset=utf-8', 'none'],
    ['secret/secret', 'other'],
    [null, 'none'],
  ])('tells the content type %s as %s', (type, shown) => {
    expect(shapeOf({}, type).contentType).toBe(shown);
  });
});

function shapeOf(
  body: unknown,
  type: string | null = 'application/json',
  { clientId = 'example-client', secret = 'example-passphrase' } = {},
): ShapeReport {
  const answer = { name: 'without a token', type, body: JSON.stringify(body) };
  const text = new Redacted(JSON.stringify({ client_id: clientId, secret }));
  const credential = parseCredential(text, 'customer-insights', 'raw');
  const times = { requestStartedAt: 0, receivedAt: 0 };
  const reading = readTokenResponse(responseOf(answer), times, serviceOf(answer), credential);
  const shape = 'problem' in reading ? reading.problem.shape : undefined;
  return shape ?? expect.fail('There is no shape report');
}
