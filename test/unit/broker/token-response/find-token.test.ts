import { describe, expect, it } from 'vitest';
import { findToken } from '../../../../functions/broker/token-response/find-token.ts';
import { listMembers, UnusableAnswer } from '../../../../functions/broker/token-response/members.ts';
import { plainName, TOKEN_NAMES } from '../../../../functions/broker/token-response/names.ts';
import { base64url, jwt } from './token-answers.ts';

const TOKEN = 'tok-4f9Kq2ZxV7mN1bR8';
const OTHER = 'tok-9aB3c5D7e1F2g4H6';

/** All of them, in the order of the search. */
const NAMES = [
  ...['accessToken', 'token', 'idToken', 'jwt', 'jwtToken', 'bearerToken', 'authToken', 'authenticationToken'],
  ...['authorizationToken', 'apiToken', 'oauthToken', 'securityToken', 'serviceToken', 'clientToken', 'userToken'],
  ...['loginToken', 'xAuthToken', 'tokenValue', 'tokenString', 'bearer', 'authorization', 'access'],
  ...['sessionToken', 'sessionId', 'sessionKey', 'session', 'sid', 'ticket'],
];

/** The token, or the explanation. */
function found(answer: unknown, tokenMember?: string): string {
  try {
    const content = { value: answer };
    const response = { status: 200, headers: {}, body: new Uint8Array() };
    const read = {
      response,
      content,
      members: listMembers(content),
      print: (path: readonly string[]) => path.join('.'),
    };
    return findToken(read, { tokenMember, lifetimeUnit: 'seconds', passThrough: [] }).text;
  } catch (error) {
    if (error instanceof UnusableAnswer) return error.message;
    throw error;
  }
}

const NO_NAME = 'no member has a name that the broker knows';
const NO_SUCH_MEMBER = 'response.tokenMember names a member that it does not have.';

describe('the name of a member', () => {
  it.each(NAMES)('may be that of a token: %s', (name) => {
    const spelled = name.replace(/[A-Z]/g, '_$&').toUpperCase();
    expect(found({ [name]: TOKEN })).toBe(TOKEN);
    expect(found({ data: { attributes: { [spelled]: TOKEN } } })).toBe(TOKEN);
    expect(found({ [name]: TOKEN, [`${name}_`]: OTHER })).toContain(`\`${name}\` and \`${name}_\` have different`);
    expect(TOKEN_NAMES.indexOf(plainName(spelled))).toBe(NAMES.indexOf(name));
  });

  it.each(['', 'refreshToken', 'tokenType', 'tokens', 'id', 'expiresIn', 'value', 'key', 'constructor'])(
    'may be another: %j',
    (name) => expect(found({ [name]: TOKEN })).toContain(NO_NAME),
  );
});

describe('a token', () => {
  it.each<[string, unknown]>([
    ['inside any object', { status: 'ok', acme: { token: TOKEN } }],
    ['inside an array of one', [{ data: [{ access_token: TOKEN }] }]],
    ['beside that of refreshing', { access: { token: TOKEN }, refresh: { token: OTHER }, refresh_token: OTHER }],
    ['beside an id token', { AuthenticationResult: { AccessToken: TOKEN, IdToken: OTHER } }],
    ['in an object that has the name of a token', { accessToken: { token: TOKEN }, id_token: OTHER }],
    ['beside a session', { session_id: OTHER, token: TOKEN }],
    ['in a session, beside a ticket', { ticket: OTHER, sessionId: TOKEN }],
    ['under two names, with and without Bearer', { authorization: `Bearer ${TOKEN}`, data: { token: TOKEN } }],
    ['beside a permission', { token: TOKEN, access: 'granted' }],
    ['beside an empty one', { access_token: '', token: TOKEN }],
    ['beside a count', { token: 3, access_token: TOKEN }],
    ['with 999 others before it', crowd(999)],
  ])('is found %s', (_, answer) => {
    expect(found(answer)).toBe(TOKEN);
  });

  it.each<[string, unknown, string]>([
    ['two names', [{ token: TOKEN, access_token: OTHER }], '`0.access_token` and `0.token` have different'],
    ['two levels', { token: TOKEN, data: { token: OTHER } }, '`token` and `data.token` have different'],
    ['two tokens, one of which is an id token', { id_token: TOKEN, jwt: OTHER }, '`id_token` and `jwt`'],
    ['two of which one is no token', { access_token: 'a b', token: TOKEN }, 'have different values'],
  ])('is not chosen between %s', (_, answer, explanation) => {
    expect(found(answer)).toContain(explanation);
  });

  it.each<[string, unknown]>([
    ['three levels down', { a: { b: { c: { token: TOKEN } } } }],
    ['behind 1 000 other members', crowd(1_000)],
    ['in an array of two', [{ token: TOKEN }, { token: TOKEN }]],
    ['in an object of a refresh token', { refreshToken: { token: TOKEN } }],
    ['in an object whose name is too long to be read', { [`refresh-${'x'.repeat(64)}`]: { token: TOKEN } }],
    ...[null, 1_234_567_890, {}, []].map((nothing): [string, unknown] => [`in ${JSON.stringify(nothing)}`, nothing]),
  ])('is not looked for %s', (_, answer) => {
    expect(found(answer)).toContain(NO_NAME);
  });
});

describe('the setting tokenMember', () => {
  it.each<[string, unknown]>([
    ['data.bot.token', { access_token: OTHER, data: { bot: { token: TOKEN } } }],
    ['a.b.c', { a: [{ b: { c: TOKEN } }] }],
    ['tokens.1.is', { tokens: [{ is: OTHER }, { is: TOKEN }] }],
    ['tokens.11', { tokens: [...Array(11).fill(OTHER), TOKEN] }],
    ['tokens.v1.is', { tokens: [{ v1: { is: TOKEN } }] }],
    ['$', TOKEN],
  ])('names the token: %s', (tokenMember, answer) => {
    expect(found(answer, tokenMember)).toBe(TOKEN);
  });

  it.each(['data.key', 'Access_Token', '__proto__.toString', 'access_token.length', 'tokens.2', 'tokens.x'])(
    'names none: %s',
    (member) => expect(found({ access_token: TOKEN, data: {}, tokens: [{}, {}] }, member)).toBe(NO_SUCH_MEMBER),
  );
});

describe('the text of a token', () => {
  it.each([
    ['Bearer tok-1', 'tok-1'],
    ['BEARER   tok-1', 'tok-1'],
    ['Bearertok-1', 'Bearertok-1'],
    // @see bytedance/deer-flow#5066, requests/requests-oauthlib#255
    ...['tok-1\n', ' tok-1', 'Bearer\ttok-1\r\n', '"tok-1"', 'Bearer bearer "tok-1"'].map((text): [string, string] => [
      text,
      'tok-1',
    ]),
    ...['t', '!~', 't'.repeat(65_536)].map((text): [string, string] => [text, text]),
  ])('may be this (%#)', (text, token) => {
    expect(found({ token: text })).toBe(token);
  });

  it.each<[unknown, string]>([
    [null, 'is null'],
    ...[12_345_678, true, { secret: TOKEN }, [TOKEN]].map((value): [unknown, string] => [value, 'is not a string']),
    ['', 'is empty'],
    ['Bearer ', 'is empty'],
    // @see omnibear/omnibear#8, jhipster/generator-jhipster#383
    ...['null', 'Undefined', 'NONE', 'false', 'Bearer null', '404', '-1', '********', '{}', 'OK'].map(
      (word): [unknown, string] => [word, 'is a word for nothing'],
    ),
    // @see wso2/product-is#18780
    ...['<html>', '<error/>', 'a"b'].map((text): [unknown, string] => [
      text,
      'contains an angle bracket or a quotation mark',
    ]),
    // @see free5gc/nrf#18
    [base64url('{"access_token":"tok-1"}'), 'is a whole answer in base64'],
    ...['request_error', 'AUTH_FAILED', 'rate_limit_exceeded', 'UnderMaintenance'].map((word): [unknown, string] => [
      word,
      'reads like an error',
    ]),
    ['t'.repeat(65_537), 'is longer than 64 KiB'],
    ...['a b', 'a\r\nb: c', '\u007f', 'ä', '\0', 'tok-1Bearer x', 'Basic tok-1'].map((text): [unknown, string] => [
      text,
      'contains a space, a control character or a character beyond ASCII',
    ]),
  ])('is not this (%#)', (token, flaw) => {
    const advice = 'If another member is the token, name it in response.tokenMember.';
    expect(found({ token })).toBe(`its member \`token\` should be the token but ${flaw}. ${advice}`);
  });
});

describe('a text that nothing calls a token', () => {
  it.each([
    ['of eight characters with a digit', 'abcdefg1'],
    ['of sixteen letters', 'abcdefghijklmnop'],
    ['of 40 characters that hold a word of failures by chance', `error${'x'.repeat(34)}1`],
    ['of a short JWT that holds such a word by chance', jwt({}).replace(/[^.]*$/, 'error')],
    ['of other characters that tokens have', 'v1.a~b+c/d=e:f|g!h*i$j@k-l_m'],
  ])('is one if it is a word %s', (_what, text) => {
    expect([found(text), found({ access: text })]).toEqual([text, text]);
  });

  it.each([
    ...['abcdef1', 'abcdefghijklmno', '1234567890123456', 'abcdefgh 12345678'],
    ...['abcdefgh{12345678}', `error${'x'.repeat(33)}1`],
    ...['error', 'failed', 'failure', 'invalid', 'denied', 'unauthori', 'forbidden', 'exception'].map(telling),
    ...['exceeded', 'required', 'missing', 'suspended', 'maintenance'].map(telling),
    ...['unavailable', 'expired', 'notfound', 'not_found', 'Not.Found', 'UNAUTHORIZED'].map(telling),
  ])('is none if it is too short, no word or the word of a failure: %j', (text) => {
    expect(found(text)).toMatch(/^its body is a text that does not look like a token.*tokenMember to `\$`\.$/);
    expect(found({ access: text })).toContain(NO_NAME);
  });
});

function telling(word: string): string {
  return `request_1_${word}_abcdef`;
}

function crowd(members: number) {
  return { ...Object.fromEntries(Array.from({ length: members }, (_, n) => [`member${n}`, n])), token: TOKEN };
}
