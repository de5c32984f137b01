import { describe, expect, it } from 'vitest';
import { type MemberPath, plainName, UnusableAnswer } from '../../../functions/broker/token-response/body.ts';
import { findToken, TOKEN_NAMES } from '../../../functions/broker/token-response/find-token.ts';
import { jwt } from './token-responses/answer.ts';

const TOKEN = 'tok-4f9Kq2ZxV7mN1bR8';
const OTHER = 'tok-9aB3c5D7e1F2g4H6';

/** All of them, in the order of the search. */
const NAMES = [
  'accessToken',
  'token',
  'idToken',
  ...['jwt', 'jwtToken', 'bearerToken', 'authToken', 'authenticationToken', 'authorizationToken', 'apiToken'],
  ...['oauthToken', 'securityToken', 'serviceToken', 'clientToken', 'userToken', 'loginToken', 'xAuthToken'],
  ...['tokenValue', 'tokenString'],
  ...['bearer', 'authorization', 'access'],
  ...['sessionToken', 'sessionId', 'sessionKey', 'session', 'sid', 'ticket'],
];

const OTHERS = ['', 'refreshToken', 'tokenType', 'tokens', 'id', 'expiresIn', 'value', 'key', 'constructor'];

describe('the name of a member', () => {
  it.each(NAMES)('may be that of a token: %s', (name) => {
    const spelled = name.replace(/[A-Z]/g, '_$&').toUpperCase();
    expect(found({ [name]: TOKEN })).toBe(TOKEN);
    expect(found({ data: { attributes: { [spelled]: TOKEN } } })).toBe(TOKEN);
    expect(TOKEN_NAMES).toContain(plainName(spelled));
  });

  it.each(OTHERS)('may be another: %j', (name) => {
    expect(found({ [name]: TOKEN })).toBe('none of its members');
    expect(TOKEN_NAMES).not.toContain(plainName(name));
  });

  it.each(NAMES)('contradicts itself in another spelling: %s', (name) => {
    expect(found({ [name]: TOKEN, [`${name}_`]: OTHER })).toBe(`its members \`${name}\``);
  });
});

describe('a member inside of one with the name of a token', () => {
  const inner = ['value', 'token', 'jwt', 'jwtToken', 'tokenValue', 'tokenString'];
  const outer = ['accessToken', 'token', 'idToken', 'jwt', 'bearerToken', 'authToken', 'apiToken', 'sessionToken'];

  it.each(outer)('is that token: %s', (around) => {
    for (const name of inner) {
      expect(found({ [around]: { [name]: TOKEN } })).toBe(TOKEN);
      expect(found({ data: { [around]: { [name]: TOKEN } } })).toBe(TOKEN);
      expect(found({ [around]: [{ [name]: TOKEN }] })).toBe(TOKEN);
      // It has the place of the outer name.
      expect(found({ [around]: { [name]: TOKEN }, sid: OTHER })).toBe(TOKEN);
      expect(findToken({ [around]: TOKEN, data: { [around]: { [name]: TOKEN } } }, undefined, print).path).toEqual([
        around,
      ]);
    }
  });
});

describe('a token', () => {
  it.each([
    ['Bearer tok-1', 'tok-1'],
    ['bearer   tok-1', 'tok-1'],
    ['BEARER tok-1', 'tok-1'],
    ['Bearertok-1', 'Bearertok-1'],
  ])('of %j is %j', (text, token) => {
    expect(found({ token: text })).toBe(token);
  });

  it.each(['t', '!~', 't'.repeat(65_536)])('has 1 to 65 536 visible characters of ASCII (%#)', (token) => {
    expect(found({ token })).toBe(token);
  });

  it.each([
    ['', 'is empty'],
    ['t'.repeat(65_537), 'is longer than 64 KiB'],
    ...['a b', ' a', 'a ', 'a\n', '\u007f', 'ä', '\0', 'tok-1 Bearer x', 'Basic tok-1'].map(
      (text): [string, string] => [text, 'holds a space, a control character or one beyond ASCII'],
    ),
  ])('has no other ones (%#)', (token, flaw) => {
    expect(tokenOrExplanation({ token })).toContain(`\`token\` should be the token but ${flaw}.`);
  });
});

describe('a text that nothing calls a token', () => {
  it.each([
    ['of eight characters with a digit', 'abcdefg1'],
    ['of sixteen letters', 'abcdefghijklmnop'],
    ['of base64', 'QWxhZGRpbjpvcGVuIHNlc2FtZQ=='],
    ['of 40 characters that hold a word of failures by chance', `error${'x'.repeat(34)}1`],
    ['of a short JWT that holds such a word by chance', jwt({}).replace(/[^.]*$/, 'error')],
    ['of other characters that tokens have', 'v1.a~b+c/d=e:f|g!h*i$j@k-l_m'],
  ])('is one if it is a word %s', (_what, text) => {
    expect(found(text)).toBe(text);
    expect(found({ access: text })).toBe(text);
  });

  it.each([
    ['of seven characters', 'abcdef1'],
    ['of fifteen letters', 'abcdefghijklmno'],
    ['of digits', '1234567890123456'],
    ['with a space', 'abcdefgh 12345678'],
    ['with a space before it', ' abcdefgh12345678'],
    ['with a line break after it', 'abcdefgh12345678\n'],
    ['of other characters', 'abcdefgh{12345678}'],
    ['of 39 characters that tells of a failure', `error${'x'.repeat(33)}1`],
    ...['error', 'failed', 'failure', 'invalid', 'denied', 'unauthori', 'forbidden', 'exception'].map(telling),
    ...['unavailable', 'expired', 'notfound', 'not_found', 'Not.Found', 'UNAUTHORIZED'].map(telling),
  ])('is none if it is a word %s', (_what, text) => {
    expect(found(text)).toBe('its body');
    expect(found({ access: text })).toBe('none of its members');
  });
});

function telling(word: string): [string, string] {
  return [`that tells "${word}"`, `request_1_${word}_abcdef`];
}

function print(path: MemberPath): string {
  return path.join('.');
}

/** The token, or how the explanation begins. */
function found(answer: unknown): string {
  const told = tokenOrExplanation(answer);
  return /^(?:none of its members|its members? `[^`]*`|its body)/.exec(told)?.[0] ?? told;
}

function tokenOrExplanation(answer: unknown): string {
  try {
    return findToken(answer, undefined, print).value;
  } catch (error) {
    if (error instanceof UnusableAnswer) return error.message;
    throw error;
  }
}
