import { describe, expect, it } from 'vitest';
import { jwt, problemOf, tokenOf } from './token-answers.ts';

const ODD = { id: 'marked-id', secret: 'mä"rk\\ed/se+cret' };
const SPACED = { id: 'marked-id', secret: 'marked secret' };
const SHORT = { id: 'marked-id', secret: 'pw1234' };
const base64 = (text: string) => Buffer.from(text).toString('base64');
const escaped = (text: string) => JSON.stringify(text).slice(1, -1);
const hex = (text: string) => Buffer.from(text).toString('hex');

/** How a service can write a credential so that a search for the secret as it is does not find it. */
const FORMS: readonly (readonly [string, typeof ODD, (credential: typeof ODD) => string])[] = [
  ['JSON-escaped', ODD, ({ secret }) => escaped(secret)],
  ['escaped with \\u', ODD, ({ secret }) => escaped(secret).replace('ä', '\\u00e4')],
  ['JSON-escaped twice', ODD, ({ secret }) => escaped(escaped(secret))],
  ['URL-encoded', ODD, ({ secret }) => encodeURIComponent(secret)],
  ['form-encoded', SPACED, ({ secret }) => `${new URLSearchParams({ s: secret })}`],
  ['base64', ODD, ({ secret }) => base64(secret)],
  ['base64 behind three letters', ODD, ({ secret }) => `xyz${base64(secret)}`],
  ['base64 in lines', ODD, ({ secret }) => base64(secret).replace(/.{8}/g, '$&\n')],
  ['base64url', ODD, ({ secret }) => Buffer.from(`??${secret}`).toString('base64url')],
  ['hexadecimal', ODD, ({ secret }) => `a${hex(secret).toUpperCase()}`],
  ['the unpadded Basic value', ODD, ({ id, secret }) => base64(`${id}:${secret}`).replaceAll('=', '')],
  ['the Basic value of a short secret', SHORT, ({ id, secret }) => `Basic ${base64(`${id}:${secret}`)}`],
  ['id:secret with a short secret', SHORT, ({ id, secret }) => `x${id}:${secret}`],
  ['secret:id with a short secret', SHORT, ({ id, secret }) => `${secret}:${id}x`],
  ['a short secret in base64', SHORT, ({ secret }) => base64(secret)],
  ['a claim of a JWT', ODD, ({ secret }) => jwt({ note: `x ${secret}` })],
  ['a name in a claim of a JWT', ODD, ({ secret }) => jwt({ deep: [{ [secret]: 1 }] })],
  ['a short secret as a claim of a JWT', SHORT, ({ secret }) => jwt({ note: secret })],
  ['base64 twice in a claim of a JWT', ODD, ({ secret }) => jwt({ note: base64(base64(secret)) })],
];

type Members = Readonly<Record<string, unknown>>;

const answerWith = (members: Members) => ({
  body: { access_token: 'a-token', ...members },
  settings: { response: { passThrough: ['value', 'instance'] } },
});

function told(members: Members, { id, secret } = ODD) {
  const { tokenType, scope, passThrough, hasEcho } = tokenOf(answerWith(members), { clientId: id, secret });
  return { tokenType, scope, passThrough, hasEcho };
}

describe.each(FORMS)('an answer that repeats the credential as %s', (_, credential, write) => {
  const echo = write(credential);

  it('is unusable when that is its token', () => {
    const { id: clientId, secret } = credential;
    const { type } = problemOf(answerWith({ access_token: echo.replace(/\s/g, '') }), { clientId, secret });
    expect(type).toBe('token-response-unusable');
  });

  it('is issued without the scope or the member that does', () => {
    const rest = { token_type: 'DPoP', instance: 7 };
    const without = { tokenType: 'DPoP', passThrough: { instance: 7 }, hasEcho: true };
    expect(told({ ...rest, scope: echo }, credential).scope).toBeUndefined();
    expect(told({ ...rest, scope: 'read', value: [echo] }, credential)).toEqual({ ...without, scope: 'read' });
  });
});

describe('of an answer', () => {
  it('is complete when nothing of it repeats the credential', () => {
    const rest = { tokenType: 'DPoP', scope: 'read', passThrough: { instance: 7 } };
    expect(told({ token_type: 'DPoP', scope: 'read', instance: 7 })).toEqual({ ...rest, hasEcho: false });
  });

  it.each(['marked-id', 'Marked-secret'])('a type "%s" is left out', (tokenType) => {
    const marked = { id: 'marked-id', secret: 'Marked-secret' };
    expect(told({ token_type: tokenType }, marked)).toMatchObject({ tokenType: 'Bearer', hasEcho: true });
  });

  it('a value that is nothing but the client id is left out, and a longer value that contains it stays', () => {
    const passThrough = { value: 'https://marked-id.example.com' };
    expect(told({ scope: 'marked-id', value: 'marked-id' })).toMatchObject({ scope: undefined, passThrough: {} });
    const scope = 'tenant:marked-id';
    expect(told({ scope, ...passThrough })).toMatchObject({ scope, passThrough, hasEcho: false });
  });

  it('a token that holds the client id, or a word with a short secret in it, is a token', () => {
    const accessToken = jwt({ client_id: SHORT.id, note: `x${SHORT.secret}x` });
    const scope = `x${SHORT.secret}`;
    expect(told({ access_token: accessToken, scope }, SHORT)).toMatchObject({ scope, hasEcho: false });
  });
});
