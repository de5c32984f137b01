import { describe, expect, it } from 'vitest';
import { parseCredential } from '../../../functions/broker/credential/credential.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { BasicEncoding } from '../../../functions/broker/service.ts';
import { stripCredential } from '../../../functions/broker/token-request/renew-token.ts';
import type { ServiceToken } from '../../../functions/broker/token-response/read.ts';
import { createBrokerWorld, exchange, found } from '../../support/broker-world.ts';
import { exampleService } from '../../support/example.ts';

const SECRET = new Redacted('{"client_id":"marked-id","secret":"marked secret"}');
const RAW = btoa('marked-id:marked secret');
const FORM = btoa('marked-id:marked+secret');

function told(changes: Partial<ServiceToken>, encoding: BasicEncoding = 'raw') {
  const token: ServiceToken = {
    accessToken: new Redacted('a-token'),
    tokenType: 'DPoP',
    expiresAt: 1,
    expirySource: 'response',
    scope: 'read',
    passThrough: { instance: 7 },
    ...changes,
  };
  return stripCredential(token, parseCredential(SECRET, 'customer-insights', encoding));
}

describe('of a token that a service gave', () => {
  it('all is told when nothing of it repeats the credential', () => {
    expect(told({})).toMatchObject({ tokenType: 'DPoP', scope: 'read', passThrough: { instance: 7 }, expiresAt: 1 });
  });

  it.each(['marked secret', `x ${RAW}`, 'marked-id'])('a scope "%s" is left out', (scope) => {
    expect(told({ scope })).toMatchObject({ scope: undefined, tokenType: 'DPoP' });
  });

  it.each(['marked-id', RAW])('a type "%s" is not told', (tokenType) => {
    expect(told({ tokenType })?.tokenType).toBe('Bearer');
  });

  it.each([
    ['the secret', 'marked secret'],
    ['the secret within a text', 'a marked secret!'],
    ['the secret further down', { a: [{ b: 'marked secret' }] }],
    ['the secret as a name', { 'marked secret': 1 }],
    ['the Basic value', RAW],
    ['the client id', 'marked-id'],
  ])('a member with %s is left out, and the others are not', (_, value) => {
    expect(told({ passThrough: { value, instance: 7 } })?.passThrough).toEqual({ instance: 7 });
  });

  it('the client id is told where it is a part of something else', () => {
    const passThrough = { url: 'https://marked-id.example.com' };
    expect(told({ scope: 'tenant:marked-id', passThrough })).toMatchObject({ scope: 'tenant:marked-id', passThrough });
  });

  it('the Basic value is looked for as it was sent', () => {
    expect(told({ scope: FORM }, 'form')?.scope).toBeUndefined();
    expect(told({ scope: FORM }, 'raw')?.scope).toBe(FORM);
  });

  it.each(['marked secret', 'x-marked secret', RAW])('nothing is told when the token itself is "%s"', (token) => {
    expect(told({ accessToken: new Redacted(token) })).toBeUndefined();
  });
});

it('a caller who asks for a token never receives the credential in its place', async () => {
  const { post, audited } = createBrokerWorld({
    services: { 'customer-insights': exampleService() },
    secret: () => found('v1', { client_id: 'marked-id', secret: 'marked-secret' }),
    answer: () => exchange(200, { access_token: 'marked-secret', expires_in: 3_600 }),
  });
  const { status, json, body } = await post({ client: 'acme', service: 'customer-insights' });
  expect({ status, type: json.type }).toEqual({ status: 424, type: 'token-response-unusable' });
  expect(json.response_shape).toMatchObject({ status: 200, members: [{ path: '$' }, { path: 'access_token' }, {}] });
  expect(body + JSON.stringify(audited)).not.toContain('marked');
});
