import { describe, expect, it } from 'vitest';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { Service } from '../../../functions/broker/service.ts';
import { buildTokenRequest } from '../../../functions/broker/token-request/build.ts';
import { exampleService } from '../../support/example.ts';

const CREDENTIAL = { clientId: new Redacted('acme'), secret: new Redacted('s:1') };

function build(changes: Partial<Service> = {}) {
  const { url, ...request } = buildTokenRequest(exampleService(changes), CREDENTIAL);
  return { ...request, url: url.href };
}

it('posts nothing but the authorization', () => {
  const { method, url, headers, body } = build();

  expect({ method, url, body }).toEqual({ method: 'POST', url: 'https://auth.example.com/auth/v1/token', body: '' });
  expect(headers).toEqual({
    accept: 'application/json',
    'accept-encoding': 'identity',
    'content-length': '0',
    'user-agent': 'token-broker',
    authorization: new Redacted('Basic YWNtZTpzOjE='),
  });
});

it('speaks the dialect of the service', () => {
  expect(build({ basicEncoding: 'form' }).headers.authorization).toEqual(new Redacted('Basic YWNtZTpzJTNBMQ=='));
});

it('keeps the authorization out of whatever prints the request', () => {
  expect(JSON.stringify(build())).toContain('"authorization":"[redacted]"');
});

describe('parameters', () => {
  const parameters = { grant_type: 'client_credentials', scope: 'a b', note: 'ü+&=' };

  it('go into the query, with spaces that everybody reads', () => {
    const { url, headers, body } = build({ parameters, parametersIn: 'query' });

    expect(url).toBe(
      'https://auth.example.com/auth/v1/token?grant_type=client_credentials&scope=a%20b&note=%C3%BC%2B%26%3D',
    );
    expect(body).toBe('');
    expect(headers).not.toHaveProperty('content-type');
  });

  it('go into a form body with its length in bytes', () => {
    const { url, headers, body } = build({ parameters, parametersIn: 'body' });

    expect(url).toBe('https://auth.example.com/auth/v1/token');
    expect(body).toBe('grant_type=client_credentials&scope=a+b&note=%C3%BC%2B%26%3D');
    expect(headers).toMatchObject({
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(new TextEncoder().encode(body).length),
    });
  });
});

describe('headers of the settings', () => {
  it('are added, and replace those that only say a preference', () => {
    const { headers } = build({ headers: { 'X-Api-Version': '2', Accept: '*/*', 'User-Agent': 'example' } });

    expect(headers).toMatchObject({ 'x-api-version': '2', accept: '*/*', 'user-agent': 'example' });
  });

  it('replace none that the broker relies on', () => {
    const headers = { Authorization: 'Basic eDp5', 'Accept-Encoding': 'gzip', 'Content-Length': '7' };

    expect(build({ headers }).headers).toEqual(build().headers);
  });
});

it.each([
  ['https://auth.example.com/', '/auth/v1/token', 'https://auth.example.com/auth/v1/token'],
  ['https://auth.example.com/base', '/oauth/token', 'https://auth.example.com/base/oauth/token'],
  ['https://auth.example.com/base/', '/oauth/token', 'https://auth.example.com/base/oauth/token'],
  ['https://auth.example.com:8443', '/token', 'https://auth.example.com:8443/token'],
])('appends the path to %s', (authUrl, tokenPath, expected) => {
  expect(build({ authUrl, tokenPath }).url).toBe(expected);
});

it.each(['.evil.example/', '@evil.example/', '//evil.example/token', 'https://evil.example/'])(
  'stays on the host of authUrl when the path is "%s"',
  (tokenPath) => {
    expect(new URL(build({ tokenPath }).url).host).toBe('auth.example.com');
  },
);
