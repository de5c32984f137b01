import { describe, expect, it } from 'vitest';
import { parseEnvironment } from '../../../lib/settings/environment.ts';
import { changed, exampleForm, faultsIn } from './example-form.ts';

const MEMBER = 'must be the name of a member, or names joined by dots such as data.token';
const PATH_CHARACTERS = "must hold only letters, digits and / . _ ~ : @ ! $ & ' ( ) * + , ; = -";
const PATH_QUERY = 'must not hold a query or a fragment: put a query into parameters';

describe('a wrong service', () => {
  it.each<[member: string, value: unknown, fault: string]>([
    ['authUrl', undefined, 'authUrl: is missing'],
    ['authUrl', 'http://auth.example.com', 'authUrl: must be an https URL (got http:)'],
    [
      'authUrl',
      'https://auth.example.com/auth/v1/token',
      'authUrl: must not end in the tokenPath: the broker appends it',
    ],
    ['tokenPath', 'oauth/token', 'tokenPath: must start with a slash'],
    ['tokenPath', '//evil.example.com/token', 'tokenPath: must not hold two slashes in a row'],
    ['tokenPath', '/oauth/../token', 'tokenPath: must not hold . or .. as a step'],
    ['tokenPath', '/oauth/./token', 'tokenPath: must not hold . or .. as a step'],
    ['tokenPath', '/token?a=b', `tokenPath: ${PATH_QUERY}`],
    ['tokenPath', '/token#a', `tokenPath: ${PATH_QUERY}`],
    ['tokenPath', '/oauth\\token', `tokenPath: ${PATH_CHARACTERS}`],
    ['tokenPath', '/token\n', `tokenPath: ${PATH_CHARACTERS}`],
    ['tokenPath', '/%2e%2e/token', `tokenPath: ${PATH_CHARACTERS}`],
    ['basicEncoding', 'rfc', "basicEncoding: must be 'raw' or 'form'"],
    ['parameters', { scope: 1 }, 'parameters.scope: must be a string'],
    ['parameters', { '': 'x' }, 'parameters[""]: must have a name'],
    [
      'parameters',
      { client_secret: 'x' },
      "parameters.client_secret: belongs to a credential: it goes into the client's secret",
    ],
    ['parametersIn', 'header', "parametersIn: must be 'query' or 'body'"],
    ['headers', { Authorization: 'x' }, 'headers.Authorization: is set by the broker or by HTTP itself'],
    ['headers', { host: 'x' }, 'headers.host: is set by the broker or by HTTP itself'],
    ['headers', { 'x y': 'x' }, 'headers["x y"]: is not a valid header name'],
    [
      'headers',
      { 'x-y': 'a\r\nb: c' },
      'headers.x-y: must be visible ASCII characters, with white space only between them',
    ],
    ['headers', { 'x-y': '1', 'X-Y': '2' }, 'headers.X-Y: is there twice, in different case'],
    [
      'response/tokenMembr',
      'x',
      'response.tokenMembr: is not a known member (known: tokenMember, lifetimeMember, lifetimeUnit, passThrough)',
    ],
    ['response/tokenMember', '', `response.tokenMember: ${MEMBER}`],
    ['response/lifetimeMember', 'data..ttl', `response.lifetimeMember: ${MEMBER}`],
    ['response/lifetimeUnit', 'hours', `response.lifetimeUnit: must be 'seconds' or 'milliseconds'`],
    [
      'response/passThrough',
      ['expires_in'],
      'response.passThrough[0]: is a member that the broker itself answers with',
    ],
    [
      'response/passThrough',
      ['data.refresh_token'],
      'response.passThrough[0]: may hold a token or a secret, which must not pass',
    ],
    ['response/passThrough', ['$'], 'response.passThrough[0]: may hold a token or a secret, which must not pass'],
    ['response/passThrough', ['tier', 'tier'], 'response.passThrough[1]: is there twice'],
    [
      'response',
      { tokenMember: 'data.key', passThrough: ['data'] },
      'response.passThrough[0]: holds the token (see tokenMember)',
    ],
    ['tokenLifetimeSeconds', 1.5, 'tokenLifetimeSeconds: must be a whole number'],
    ['tokenLifetimeSeconds', 9, 'tokenLifetimeSeconds: must be at least 10'],
    ['tokenLifetimeSeconds', 100_000, 'tokenLifetimeSeconds: must not be more than maxLifetimeSeconds'],
    ['maxLifetimeSeconds', 299, 'assumedLifetimeSeconds: must not be more than maxLifetimeSeconds'],
    ['maxLifetimeSeconds', 1e9, 'maxLifetimeSeconds: must be at most 2592000'],
    ['rejectedOn403', 'yes', 'rejectedOn403: must be true or false'],
    ['attemptTimeoutMs', 5_000, 'attemptTimeoutMs: must not be more than requestTimeoutMs'],
    ['attemptTimeoutMs', 10, 'attemptTimeoutMs: must be at least 100'],
    ['requestTimeoutMs', 6_001, 'requestTimeoutMs: must be at most 6000'],
    ['requestTimeoutMs', '4000', 'requestTimeoutMs: must be a number'],
  ])('with %s = %j is refused with its path and the reason', (member, value, fault) => {
    const form = changed(exampleForm(), `services/customer-insights/${member}`, value);
    expect(faultsIn(() => parseEnvironment('test', form))).toEqual([
      `environments.test.services.customer-insights.${fault}`,
    ]);
  });
});
