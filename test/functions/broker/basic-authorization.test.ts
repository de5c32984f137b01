import { describe, expect, it } from 'vitest';
import { basicAuthorization } from '../../../functions/broker/credential/basic-authorization.ts';
import { parseCredential } from '../../../functions/broker/credential/credential.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { BasicEncoding } from '../../../functions/broker/service.ts';

/** From the stored secret to the header, as in production: parsing decides what a credential may hold. */
function header(clientId: string, secret: string, encoding: BasicEncoding): string {
  const stored = new Redacted(JSON.stringify({ client_id: clientId, secret }));
  return basicAuthorization(parseCredential(stored, 'customer-insights'), encoding).reveal();
}

// The expected values were made with `printf '%s' … | base64` and, for the form, Python's `quote_plus`.
describe('raw', () => {
  it.each([
    ['the example of RFC 7617', 'Aladdin', 'open sesame', 'QWxhZGRpbjpvcGVuIHNlc2FtZQ=='],
    ['the UTF-8 example of RFC 7617', 'test', '123£', 'dGVzdDoxMjPCow=='],
    ['a colon in the secret', 'acme', 'a:b', 'YWNtZTphOmI='],
    ['a percent sign', 'acme', '50%', 'YWNtZTo1MCU='],
    ['what looks percent-encoded', 'acme', 'pass%20word', 'YWNtZTpwYXNzJTIwd29yZA=='],
    ['a plus', 'acme', 'a+b', 'YWNtZTphK2I='],
    ['a space', 'acme', 'a b', 'YWNtZTphIGI='],
    ['spaces at the ends', ' acme ', ' s ', 'IGFjbWUgOiBzIA=='],
    ['é in the client id', 'café', 's', 'Y2Fmw6k6cw=='],
    ['€', 'acme', '€5', 'YWNtZTrigqw1'],
    ['an emoji', 'acme', '🔑', 'YWNtZTrwn5SR'],
    ['signs that a form encodes differently', 'ac+me', '*-._~', 'YWMrbWU6Ki0uX34='],
  ])('carries %s', (_what, clientId, secret, expected) => {
    expect(header(clientId, secret, 'raw')).toBe(`Basic ${expected}`);
  });

  it('refuses a colon in the client id without quoting it', () => {
    const build = () => header('ac:me', 's', 'raw');

    expect(build).toThrow(expect.objectContaining({ type: 'credential-malformed' }));
    expect(build).not.toThrow('ac:me');
  });
});

describe('form', () => {
  it.each([
    ['a colon in the secret', 'acme', 'a:b', 'YWNtZTphJTNBYg=='],
    ['a colon in the client id', 'ac:me', 's', 'YWMlM0FtZTpz'],
    ['a percent sign', 'acme', '50%', 'YWNtZTo1MCUyNQ=='],
    ['a plus', 'acme', 'a+b', 'YWNtZTphJTJCYg=='],
    ['a space', 'acme', 'a b', 'YWNtZTphK2I='],
    ['é in the client id', 'café', 's', 'Y2FmJUMzJUE5OnM='],
    ['€', 'acme', '€5', 'YWNtZTolRTIlODIlQUM1'],
    ['an emoji', 'acme', '🔑', 'YWNtZTolRjAlOUYlOTQlOTE='],
    ['the signs that stay', 'ac+me', '*-._~', 'YWMlMkJtZToqLS5fJTdF'],
    ['other signs', 'acme', "!'()/=&", 'YWNtZTolMjElMjclMjglMjklMkYlM0QlMjY='],
  ])('carries %s', (_what, clientId, secret, expected) => {
    expect(header(clientId, secret, 'form')).toBe(`Basic ${expected}`);
  });
});

it.each(['raw', 'form'] as const)('refuses a line break in the %s dialect', (encoding) => {
  expect(() => header('acme', 's\n', encoding)).toThrow(expect.objectContaining({ type: 'credential-malformed' }));
});

it('carries the longest secret that may be stored', () => {
  const secret = 's'.repeat(4_096);

  expect(atob(header('acme', secret, 'raw').slice('Basic '.length))).toBe(`acme:${secret}`);
});

it('shows nothing when it is printed', () => {
  const credential = { clientId: new Redacted('acme'), secret: new Redacted('hunter2') };

  expect(`${basicAuthorization(credential, 'raw')}`).toBe('[redacted]');
});
