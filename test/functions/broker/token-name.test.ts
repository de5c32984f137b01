import { describe, expect, it } from 'vitest';
import {
  isCompanion,
  isTokenName,
  isVague,
  rankOf,
  tokenNameOf,
} from '../../../functions/broker/token-response/token-name.ts';

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
    const plain = name.toLowerCase();
    expect(tokenNameOf([name])).toBe(plain);
    expect(tokenNameOf(['data', 'attributes', name.replace(/[A-Z]/g, '_$&').toUpperCase()])).toBe(plain);
    expect(isTokenName(name)).toBe(true);
  });

  it.each(OTHERS)('may be another: %j', (name) => {
    expect(tokenNameOf([name])).toBeUndefined();
    expect(isTokenName(name)).toBe(false);
  });

  it('is none of a token where there is no member', () => {
    expect(tokenNameOf([])).toBeUndefined();
  });

  it('has its place in the search, and what is no such name comes last', () => {
    const names = [...NAMES, 'other'].map((name) => name.toLowerCase());
    expect(names.toSorted((one, other) => rankOf(one) - rankOf(other))).toEqual(names);
    expect(names.toReversed().toSorted((one, other) => rankOf(one) - rankOf(other))).toEqual(names);
  });

  it('may be that of what comes along with a token', () => {
    const companions = ['idToken', 'authorization', 'access', ...NAMES.slice(-6)];
    for (const name of NAMES)
      expect([name, isCompanion(name.toLowerCase())]).toEqual([name, companions.includes(name)]);
  });

  it('may also be that of something else', () => {
    const vague = ['access', 'authorization', 'bearer', 'session', 'ticket'];
    for (const name of NAMES) expect([name, isVague(name.toLowerCase())]).toEqual([name, vague.includes(name)]);
  });
});

describe('a member inside of one with the name of a token', () => {
  const inner = ['value', 'token', 'jwt', 'jwtToken', 'tokenValue', 'tokenString'];
  const outer = ['accessToken', 'token', 'idToken', 'jwt', 'bearerToken', 'authToken', 'apiToken', 'sessionToken'];

  it.each(outer)('is that token: %s', (around) => {
    for (const name of inner) {
      expect(tokenNameOf([around, name])).toBe(around.toLowerCase());
      expect(tokenNameOf(['data', around, name])).toBe(around.toLowerCase());
      // The only entry of an array.
      expect(tokenNameOf([around, '0', name])).toBe(around.toLowerCase());
    }
  });

  it('is the access token inside of "access"', () => {
    expect(tokenNameOf(['access', 'value'])).toBe('accesstoken');
  });

  it('keeps its own name inside of others', () => {
    expect(tokenNameOf(['session', 'token'])).toBe('token');
    expect(tokenNameOf(['token', 'sessionId'])).toBe('sessionid');
    expect(tokenNameOf(['token', 'data', 'jwt'])).toBe('jwt');
    expect(tokenNameOf(['token', 'data', 'value'])).toBeUndefined();
    expect(tokenNameOf(['0', 'value'])).toBeUndefined();
    expect(tokenNameOf(['value'])).toBeUndefined();
  });
});
